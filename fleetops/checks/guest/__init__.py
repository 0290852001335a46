"""Of a node as its hypervisor knows it."""
