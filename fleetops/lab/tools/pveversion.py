"""pveversion: which Proxmox VE the lab's hypervisors say they are."""

VERSION = "8.4.1"


def main(_: list[str]) -> int:
    """Print the release line."""
    print(f"pve-manager/{VERSION}/2a5fa54a8503f96d (running kernel: 6.8.12-10-pve)")
    return 0
