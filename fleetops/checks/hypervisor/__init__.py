"""Of a Proxmox host."""
