"""Programs that contestants run, each in a process of its own."""
