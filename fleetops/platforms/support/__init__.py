"""What the platforms share."""
