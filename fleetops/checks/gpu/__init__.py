"""Of a node's GPUs and their driver."""
