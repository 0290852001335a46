"""qm: Proxmox's VM tool. The lab's VMs are looked at through it; their power is not switched yet."""

from functools import partial

from fleetops.lab.tools.proxmox import Command, guests, named_guest, run_tool, show_status


def main() -> int:
    """Run with the command line's arguments."""
    return run_tool("qm", COMMANDS)


def show_list(_: list[str]) -> int:
    """`qm list`: nothing at all where there is no VM."""
    found = guests("qemu")
    if found:
        print(f"{'VMID':>10} {'NAME':<20} {'STATUS':<10} {'MEM(MB)':<10} {'BOOTDISK(GB)':>12} {'PID':<10}")
    for each in found:
        memory = each.config().get("memory", "0")
        print(
            f"{each.id:>10} {each.name():<20} {each.status():<10} {memory:<10} {'512.00':>12} {each.pid():<10}"
        )
    return 0


def show_config(words: list[str]) -> int:
    """`qm config ID [--current 1]`: sorted keys."""
    print("\n".join(f"{key}: {value}" for key, value in sorted(named_guest("qemu", words).config().items())))
    return 0


COMMANDS: dict[str, Command] = {
    "list": show_list,
    "status": partial(show_status, "qemu"),
    "config": show_config,
}
