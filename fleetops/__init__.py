"""fleetops: remote operations over SSH for fleets of GPU inference nodes."""

__version__ = "0.1.0"
