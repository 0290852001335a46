"""`python -m fleetops`."""

from fleetops.cli.main import entry

entry()
