"""Fabric tasks: the same operations for people who drive their fleet with fab."""
