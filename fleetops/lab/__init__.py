"""The embedded lab: a small simulated fleet of real processes on loopback."""
