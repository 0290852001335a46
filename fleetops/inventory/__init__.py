"""The inventory: YAML files read into frozen objects, every problem with file:line:column."""
