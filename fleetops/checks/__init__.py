"""Checks: facts in, findings out, one file each, found by this folder. Pure."""
