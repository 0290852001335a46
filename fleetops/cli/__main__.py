"""`python -m fleetops.cli`."""

from fleetops.cli.main import entry

entry()
