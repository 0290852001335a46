"""Every platform against every breakage: break a node, probe it, recover it, and hold what happened against what should."""
