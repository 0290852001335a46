"""Host-memory budgets and KV-cache arithmetic. Pure."""
