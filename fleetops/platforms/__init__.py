"""How a node is reset, one file per kind of platform. Pure."""
