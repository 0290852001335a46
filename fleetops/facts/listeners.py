"""Listening TCP ports of the host's network namespace, with the processes that hold them.

A port without a visible owner is held by a process of another pid namespace, or by the kernel. Owners that are
zombie leaders are found through their threads.
"""

import ipaddress
import re
import struct

from fleetops.facts.output import finished_lines, proc_links, require_not_denied
from fleetops.facts.scripts import LINKS, PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import LISTENERS, Listener

LISTEN = "0A"
"""TCP_LISTEN in the `st` column of /proc/net/tcp (Linux include/net/tcp_states.h)."""

SCRIPT = (
    PLAIN_TEXT
    + LINKS
    + """\
for table in /proc/net/tcp /proc/net/tcp6; do
  if [ -r "$table" ]; then cat "$table"; fi
done
links 'socket:*'
echo end
"""
)

_ROW = re.compile(r"\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) (.*)")
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def parse(outcome: Outcome) -> tuple[Listener, ...]:
    """By port and address. Raises Unparsable without a socket table, or where owners could not be looked into."""
    require_not_denied(outcome)
    found = finished_lines(outcome)
    if not any(line.lstrip().startswith("sl ") for line in found):
        raise Unparsable(f"no table of TCP sockets: {outcome.said}")
    owners = _owners(found)
    listeners = []
    for row in filter(None, map(_ROW.fullmatch, found)):
        address, port, state, rest = row.groups()
        if state == LISTEN:
            inode = int(rest.split()[5])
            listeners.append(
                Listener(
                    port=int(port, 16), address=_address(address), inode=inode, owners=owners.get(inode, ())
                )
            )
    return tuple(sorted(listeners, key=lambda one: (one.port, one.address, one.inode)))


_ADDRESS = re.compile(r"[0-9A-Fa-f]{8}|[0-9A-Fa-f]{32}")


def _owners(found: list[str]) -> dict[int, tuple[int, ...]]:
    owners: dict[int, set[int]] = {}
    for pid, _, target in proc_links(found):
        socket = _SOCKET.fullmatch(target)
        if socket:
            owners.setdefault(int(socket[1]), set()).add(pid)
    return {inode: tuple(sorted(pids)) for inode, pids in owners.items()}


def _address(text: str) -> str:
    """32-bit words in the byte order of the machine, little-endian on all that have these GPUs."""
    if not _ADDRESS.fullmatch(text):
        raise Unparsable(f"no address of a socket: {text}")
    words = struct.pack(f"<{len(text) // 8}I", *(int(text[at : at + 8], 16) for at in range(0, len(text), 8)))
    address = ipaddress.ip_address(words)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return f"::ffff:{mapped}" if mapped else str(address)


FACT: Fact[tuple[Listener, ...]] = Fact(LISTENERS, shell(SCRIPT, root=True), parse)
