"""A fleet as its clients know it: the hosts, and every file that a client may be given about them."""

import itertools
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import texts

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Hosts by address, in the order of the inventory, and how to log in."""

    folder: Path
    addresses: tuple[str, ...]
    login: texts.Login

    @property
    def names(self) -> tuple[str, ...]:
        """What fleetops' inventory calls them."""
        return tuple(texts.node_name(place) for place in range(len(self.addresses)))

    @property
    def ssh_config(self) -> Path:
        """OpenSSH's defaults, as a tool is shipped."""
        return self.folder / "ssh_config"

    @property
    def ssh_config_curve25519(self) -> Path:
        """The same with the key exchange that costs least."""
        return self.folder / "ssh_config_curve25519"

    @property
    def inventory(self) -> Path:
        """The folder of fleetops' inventory."""
        return self.folder / "inventory"

    @property
    def pyinfra_inventory(self) -> Path:
        """Pyinfra's inventory."""
        return self.folder / "pyinfra_hosts.py"

    @property
    def ansible_config(self) -> Path:
        """An empty one, so that no other is looked for."""
        return self.folder / "ansible.cfg"

    @property
    def host_list(self) -> Path:
        """One address on each line."""
        return self.folder / "hosts"

    def environ(self, **more: str) -> dict[str, str]:
        """What a client's environment holds: a home of its own, and neither agent nor settings of the caller."""
        home = str(self.folder / "home")
        kept = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        return {**kept, "HOME": home, "TMPDIR": str(self.folder / "tmp"), "USER": self.login.user, **more}


def write_fleet(folder: Path, public_keys: Mapping[str, str], *, user: str, port: int, key: Path) -> Fleet:
    """A fleet of these addresses, each with its host's public key, and all its files below `folder`."""
    for name in ("home", "tmp", "state", "inventory"):
        (folder / name).mkdir(parents=True)
    login = texts.Login(user=user, port=port, key=key, known_hosts=folder / "known_hosts")
    made = Fleet(folder=folder, addresses=tuple(public_keys), login=login)
    yaml = texts.fleet_yaml(
        made.addresses, login, ssh_config=made.ssh_config_curve25519, state=folder / "state"
    )
    written = {
        login.known_hosts: texts.known_hosts(public_keys, port),
        made.ssh_config: texts.ssh_config(login),
        made.ssh_config_curve25519: texts.ssh_config(login, key_exchange=texts.CURVE25519),
        made.host_list: "".join(f"{address}\n" for address in made.addresses),
        made.pyinfra_inventory: texts.pyinfra_inventory(made.addresses, login, made.ssh_config),
        made.ansible_config: "[defaults]\n",
        made.inventory / "fleet.yaml": yaml,
    }
    for file, text in written.items():
        file.write_text(text)
    return made


def loopback_addresses(count: int, block: int) -> Sequence[str]:
    """So many addresses of 127.BLOCK.0.0/16; on Linux all of 127.0.0.0/8 is this machine."""
    return [f"127.{block}.{number // 250}.{number % 250 + 1}" for number in range(count)]


def make_key(path: Path) -> str:
    """A new ed25519 key pair; its public half as `TYPE BASE64`. Raises CalledProcessError."""
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path.with_suffix(".pub").read_text().strip()


def batched(items: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """Groups of at most `size`, in order."""
    left = iter(items)
    while group := tuple(itertools.islice(left, size)):
        yield group
