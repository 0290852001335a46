"""Playbooks: load, plan, run, journal."""
