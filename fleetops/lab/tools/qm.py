"""qm: Proxmox's VM tool, acting on the lab's own VMs."""

from functools import partial

from fleetops.lab.tools.proxmox import (
    Command,
    guests,
    named_guest,
    option,
    run_tool,
    show_pending,
    show_status,
)
from fleetops.lab.tools.qm_guest import agent, guest
from fleetops.lab.tools.qm_power import reboot, reset, shutdown, start, stop


def main(words: list[str]) -> int:
    """Run with the words after the command's name."""
    return run_tool("qm", COMMANDS, words)


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
    """`qm config ID [--current 1]`: sorted keys; pending values in the place of current ones unless told."""
    found = named_guest("qemu", words)
    shown, later = found.config(), found.pending()
    if option(words, "current") != "1":
        going = later.pop("delete", "").split(",")
        shown = {key: value for key, value in (shown | later).items() if key not in going}
    print("\n".join(f"{key}: {value}" for key, value in sorted(shown.items())))
    return 0


COMMANDS: dict[str, Command] = {
    "list": show_list,
    "status": partial(show_status, "qemu"),
    "config": show_config,
    "pending": partial(show_pending, "qemu"),
    "start": start,
    "stop": stop,
    "shutdown": shutdown,
    "reset": reset,
    "reboot": reboot,
    "agent": agent,
    "guest": guest,
}
