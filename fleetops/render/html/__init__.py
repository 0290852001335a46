"""The fleet as one page for a browser: one file, nothing fetched, readable without its script."""
