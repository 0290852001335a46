"""Two operators who act at the same moment."""
