"""Of a node beside the others: what only shows when several are seen."""
