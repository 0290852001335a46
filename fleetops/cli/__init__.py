"""The command line: one file per subcommand, found by this folder."""
