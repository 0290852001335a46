"""The user's (or the inventory's) ssh_config, read once per run, and what it says of one server."""

import getpass
import glob
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fabric import Config, Connection
from paramiko import SSHConfig
from paramiko.ssh_exception import ConfigParseError

from fleetops.model.errors import UsageError
from fleetops.model.fleet import Settings

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
SYSTEM_KNOWN_HOSTS = Path("/etc/ssh/ssh_known_hosts")
_DEEPEST_INCLUDE = 16
_NO_HOME = Path("/nonexistent")  # what Debian gives a user without one


class SshConfig:
    """ssh_config as Fabric's connections take it, and the files it names.

    As with `ssh -F`, a file named in the inventory's settings replaces the user's and the system's.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._home = _home(environ)
        self._settings = settings
        self.has_agent = bool(environ.get("SSH_AUTH_SOCK"))
        self._parsed = self._load(settings.ssh_config)

    def _load(self, named: Path | None) -> SSHConfig:
        if named is not None and not named.is_file():
            raise UsageError(f"the inventory's ssh-config {named} does not exist")
        files = [named] if named is not None else [self._home / ".ssh/config", SYSTEM_CONFIG]
        parsed = SSHConfig()
        for file in files:
            try:
                parsed.parse(_lines(file, self._home))
            except (ConfigParseError, ValueError) as error:
                raise UsageError(f"{file}: {error}") from error
        return parsed

    def connection(
        self, address: str, *, user: str = "", port: int | None = None, host: str = ""
    ) -> Connection:
        """A Fabric connection, not opened, with what ssh_config says of `address`; what is given here wins.

        Messages name it by `host`, where that is not the address itself.

        Raises:
            UsageError: ssh_config (or the address) makes no sense for this server, or no user is known for it.
        """
        host = host or address
        config = Config(ssh_config=self._parsed, lazy=True)
        try:
            with _any_local_user():
                made = Connection(address, user=user or None, port=port, config=config, gateway=False)
        except (ValueError, KeyError) as error:
            why = f"{host}: ssh_config or the inventory makes no sense for {address}: {error}"
            raise UsageError(why, host=host) from error
        if made.user is None:
            raise UsageError(
                f"{host}: no user is known to log in as at {address}, and uid {os.getuid()} has no name here",
                hint="say `user:` in the inventory, or User in ssh_config",
                host=host,
            )
        return made

    @property
    def default_keys(self) -> tuple[Path, ...]:
        """The keys that Paramiko looks for where none is named, as far as they are there."""
        files = (self._home / ".ssh" / f"id_{kind}" for kind in ("rsa", "ecdsa", "ed25519"))
        return tuple(file for file in files if file.is_file())

    def known_hosts(self, connection: Connection) -> tuple[Path, ...]:
        """The known_hosts files that count for this server; the first one is where a new key is recorded."""
        named = connection.ssh_config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")
        own = [self._expand(word) for word in shlex.split(named) if word.lower() != "none"]
        first = [self._settings.known_hosts] if self._settings.known_hosts else []
        return (*first, *own, SYSTEM_KNOWN_HOSTS)

    def _expand(self, word: str) -> Path:
        if word.startswith("~/"):
            return self._home / word[2:]
        try:
            return Path(word.replace("%d", str(self._home))).expanduser()
        except RuntimeError as error:
            raise UsageError(f"UserKnownHostsFile {word}: there is no such user") from error


def _home(environ: Mapping[str, str]) -> Path:
    try:
        return Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:  # no HOME, and a uid without an entry in passwd
        return _NO_HOME


@contextmanager
def _any_local_user() -> Iterator[None]:
    """A uid without a name (a container's, say) goes by its number meanwhile, as `ls -l` has it.

    Paramiko asks who the local user is for every ssh_config, even where nothing in it depends on that.
    """
    try:
        getpass.getuser()
        named = True
    except (KeyError, OSError):
        named = False
        os.environ["LOGNAME"] = str(os.getuid())
    try:
        yield
    finally:
        if not named:
            del os.environ["LOGNAME"]


def jumps_of(connection: Connection) -> list[str]:
    """The servers of a ProxyJump, first hop first; empty for none, and for a server that would jump through itself."""
    named = (connection.ssh_config.get("proxyjump") or "none").strip()
    if named.lower() == "none":
        return []
    hops = [hop.strip().removeprefix("ssh://") for hop in named.split(",") if hop.strip()]
    if any(_server_of(hop) in {connection.original_host, connection.host} for hop in hops):
        return []
    return hops


def _server_of(hop: str) -> str:
    host = hop.rpartition("@")[2]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _lines(file: Path, home: Path, depth: int = 0) -> Iterator[str]:
    """The file's lines with `Include` followed, which Paramiko's parser does not do.

    After an include within a Host or Match block, that block's own line is said again.
    """
    if depth > _DEEPEST_INCLUDE:
        raise UsageError(f"{file}: ssh_config includes itself")
    block = "Host *\n"
    for line in _read(file):
        keyword, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        if keyword.lower() in {"host", "match"}:
            block = line
        if keyword.lower() != "include":
            yield line
            continue
        for included in _included(rest, file, home):
            yield from _lines(included, home, depth + 1)
        yield block


def _read(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error


def _included(patterns: str, file: Path, home: Path) -> Iterator[Path]:
    """Relative includes are relative to ~/.ssh, in the system's file to its folder (ssh_config(5))."""
    base = file.parent if file.is_relative_to(SYSTEM_CONFIG.parent) else home / ".ssh"
    for pattern in shlex.split(patterns):
        absolute = os.path.join(base, pattern.replace("~/", f"{home}/", 1))  # noqa: PTH118 - keeps an absolute pattern
        yield from (Path(found) for found in sorted(glob.glob(absolute)))  # noqa: PTH207 - absolute patterns
