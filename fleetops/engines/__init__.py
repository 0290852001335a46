"""The inference engines, one file each, found by this folder. Pure."""
