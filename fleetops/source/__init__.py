"""Reading an engine's source. Pure over text."""
