"""Recoveries whose SSH connection is cut around every command that changes something."""
