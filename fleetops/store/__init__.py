"""What is remembered between runs: launches, baselines, host identities."""
