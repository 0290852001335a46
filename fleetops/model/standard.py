"""The numbers of the standard load, apart from everything else: the command line needs them at every start."""

CONCURRENCY = 8
PROMPT_TOKENS = 512
OUTPUT_TOKENS = 256
WAVES = 6
"""Requests for each stream."""
