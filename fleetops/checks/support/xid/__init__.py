"""Xids and SXids: the lines of the kernel log that tell of them, what they mean, and which of them still stand."""
