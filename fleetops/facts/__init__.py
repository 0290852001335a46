"""What can be read from a host: a command and the parser of its output, one file each. Pure."""
