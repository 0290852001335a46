"""Of the inference service on a node."""
