"""Sweeps that this machine starts by itself: unit and crontab texts, and what puts them in place. Nothing here reaches a host."""
