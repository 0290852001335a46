"""Stands where the package `sglang` would, for the engine's own command lines only."""
