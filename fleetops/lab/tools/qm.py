"""qm: Proxmox's VM tool. The lab's VMs are looked at through it; their power is not switched yet."""

import sys
from collections.abc import Callable

from fleetops.lab.tools.proxmox import Guest, ToolError, guest, guests


def main() -> int:
    """Run with the command line's arguments."""
    command, *rest = sys.argv[1:] or ["help"]
    try:
        return COMMANDS.get(command, unknown)(rest)
    except ToolError as error:
        print(error, file=sys.stderr)
        return error.status


def unknown(_: list[str]) -> int:
    """A subcommand that is not there."""
    raise ToolError(f"ERROR: unknown command 'qm {' '.join(sys.argv[1:])}'")


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


def show_status(words: list[str]) -> int:
    """`qm status ID`."""
    print(f"status: {_guest(words).status()}")
    return 0


def show_config(words: list[str]) -> int:
    """`qm config ID [--current 1]`: sorted keys."""
    print("\n".join(f"{key}: {value}" for key, value in sorted(_guest(words).config().items())))
    return 0


def _guest(words: list[str]) -> Guest:
    if not words:
        raise ToolError("400 not enough arguments")
    return guest("qemu", words[0])


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": show_list,
    "status": show_status,
    "config": show_config,
}
