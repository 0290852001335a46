"""Recoveries whose controller is killed at every point between two effects."""
