"""Stands where the package `vllm` would, for the engine's own command lines only."""
