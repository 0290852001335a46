"""The steps of playbooks, one file each, found by this folder."""
