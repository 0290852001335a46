"""Real OpenSSH servers on loopback addresses, started and stopped here: own configuration, own keys, one folder."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench import texts
from bench.errors import DidNotStart, NotHere
from bench.fleet import Fleet, batched, loopback_addresses, make_key, write_fleet
from bench.processes import children, kill, tree, waited_cpu_s

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
_START_S, _SETTLE_S, _LOOK_S = 30.0, 30.0, 0.01
_BLOCK = 80  # 127.80.0.0/16 and those after it; what they hold besides is told apart by the port


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Running servers: which address has which public key, and the processes that listen."""

    folder: Path
    port: int
    key: Path
    public_keys: dict[str, str] = field(default_factory=dict)
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def addresses(self) -> tuple[str, ...]:
        """All that listen, in order."""
        return tuple(self.public_keys)

    def fleet(self, public_keys: Mapping[str, str] | None = None, *, name: str = "fleet") -> Fleet:
        """What clients need for these addresses (all when left out), by the public key that each shows."""
        keys = self.public_keys if public_keys is None else public_keys
        return write_fleet(self.folder / name, keys, user=getpass.getuser(), port=self.port, key=self.key)

    def cpu_s(self) -> float:
        """CPU of every session that has ended, with all that it ran.

        Each connection is a child of the server that listens, and what it runs is a child's child: once waited for,
        their time is in the listener's own `cutime` and `cstime`, summed to the nanosecond and shown in ticks of 10 ms
        for each server. It needs neither root nor cgroups; what a command leaves running behind it is not in it.
        """
        return sum(waited_cpu_s(process.pid) for process in self.processes)

    def settle(self) -> bool:
        """Wait until every session has ended, so that none costs the next run anything; False where some do not."""
        until = time.monotonic() + _SETTLE_S
        while any(children(process.pid) for process in self.processes):
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_S)
        return True


@contextmanager
def serve(folder: Path, count: int) -> Iterator[Servers]:
    """So many addresses, 16 to each server. All of it ends with the block, sessions included.

    Raises NotHere where there is no sshd, DidNotStart where one does not come up.
    """
    if SSHD is None:
        raise NotHere("there is no sshd: apt-get install openssh-server")
    folder.mkdir(exist_ok=True)
    (folder / "home").mkdir()
    make_key(folder / "key")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it; Debian makes it in its unit
    made = Servers(folder=folder, port=free_port(), key=folder / "key")
    try:
        for number, group in enumerate(batched(loopback_addresses(count, _BLOCK), texts.SOCKETS_PER_SSHD)):
            _start(made, number, group)
        for place, process in enumerate(made.processes):
            _await_listening(made, process, made.addresses[place * texts.SOCKETS_PER_SSHD])
        yield made
    finally:
        _stop(made.processes)


def _start(servers: Servers, number: int, addresses: Sequence[str]) -> None:
    host_key = servers.folder / f"host_key_{number}"
    servers.public_keys.update(dict.fromkeys(addresses, make_key(host_key)))
    config = servers.folder / f"sshd_config_{number}"
    text = texts.sshd_config(
        addresses,
        servers.port,
        host_key=host_key,
        authorized_keys=servers.key.with_suffix(".pub"),
        home=servers.folder / "home",
        user=getpass.getuser(),
    )
    config.write_text(text)
    log = servers.folder / "sshd.log"
    # Its absolute path: sshd starts itself anew for every connection.
    argv = [str(SSHD), "-D", "-f", str(config), "-E", str(log)]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    servers.processes.append(process)


def _await_listening(servers: Servers, process: "subprocess.Popen[bytes]", address: str) -> None:
    until = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((address, servers.port), timeout=1).close()
        except OSError:
            time.sleep(_LOOK_S)  # sshd has no way to say that it listens
        else:
            return
    said = (servers.folder / "sshd.log").read_text() if (servers.folder / "sshd.log").exists() else ""
    raise DidNotStart(
        f"sshd on {address} port {servers.port} did not start: {said.strip() or 'it said nothing'}"
    )


def _stop(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    """The listeners first, so that nobody comes in any more, then what is left below them."""
    below = [pid for process in processes for pid in tree(process.pid) if pid != process.pid]
    for process in processes:
        process.kill()
    kill(below)
    for process in processes:
        with suppress(ChildProcessError):
            process.wait()


def free_port() -> int:
    """A port that nobody has on any address."""
    with socket.socket() as tried:
        tried.bind(("", 0))
        port: int = tried.getsockname()[1]
        return port
