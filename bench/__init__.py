"""The benchmark: fleetops beside the tools that people use today, on real OpenSSH servers on loopback. `make bench`."""
