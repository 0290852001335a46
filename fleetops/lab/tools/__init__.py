"""The lab's stand-ins for the programs of a GPU node and of a Proxmox host. Standard library only."""
