"""Of the node's machine: is it there, and has it memory, disk and time."""
