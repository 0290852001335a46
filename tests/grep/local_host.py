"""A small source tree of the engine's shape, and a session that runs commands on this machine by a real `sh`."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from fleetops.model.command import Command, Outcome
from fleetops.model.session import Answer

SERVER_ARGS = """\
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    enable_hierarchical_cache: bool = False
    hicache_ratio: float = 2.0
    hicache_size: int = 0
    hicache_write_policy: str = "write_through"

    def add_cli_args(parser):
        parser.add_argument(
            "--hicache-size",
            type=int,
            default=ServerArgs.hicache_size,
            help="The size of the hicache host memory pool in gigabytes",
        )
"""
MEMORY_POOL_HOST = """\
class HostKVCache:
    def __init__(self, device_pool, host_to_device_ratio, host_size, page_size):
        if host_size > 0:
            self.size = int(host_size * 1e9 // self.size_per_token)
        requested_bytes = self.size * self.size_per_token
        logger.info(
            f"Allocating {requested_bytes / 1e9:.2f} GB host memory for hierarchical KV cache."
        )
"""
HIRADIX = """\
class HiRadixCache(RadixCache):
    def __init__(self, params, server_args):
        self.host = MHATokenToKVPoolHost(
            self.kv_cache,
            server_args.hicache_ratio,
            server_args.hicache_size,
            server_args.page_size,
        )
"""


class LocalSession:
    """This machine as a host: what `ssh/` would send to one is run here, and the calls are kept."""

    def __init__(self, host: str = "node-174", home: Path = Path("/")) -> None:
        self.host = host
        self.home = home
        self.trips: list[tuple[Command, ...]] = []

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        return self.batch([command])[0]

    def batch(self, commands: Sequence[Command]) -> list[Outcome]:
        self.trips.append(tuple(commands))
        return [self._run(command) for command in commands]

    def request(
        self, port: int, method: str, path: str, body: bytes | None = None, *, deadline_s: float = 10.0
    ) -> Answer:
        raise AssertionError("grep asks no port")

    def _run(self, command: Command) -> Outcome:
        ran = subprocess.run(
            [word.encode("utf-8", "surrogateescape") for word in command.argv],
            input=command.stdin.encode(),
            capture_output=True,
            timeout=command.deadline_s,
            cwd=self.home,
            check=False,
        )
        out, err = (data.decode("utf-8", "surrogateescape") for data in (ran.stdout, ran.stderr))
        return Outcome(status=ran.returncode, stdout=out, stderr=err)


def make_tree(package: Path, *, version: str = "0.5.9") -> Path:
    """An SGLang package in small, with what a search must leave out."""
    cache = package / "srt" / "mem_cache"
    cache.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text(f'__version__ = "{version}"\n')
    (package / "srt" / "server_args.py").write_text(SERVER_ARGS)
    (cache / "memory_pool_host.py").write_text(MEMORY_POOL_HOST)
    (cache / "hiradix_cache.py").write_text(HIRADIX)
    (package / "README.md").write_text("`hicache_size` is in gigabytes.\n")
    for litter in ("srt/__pycache__/server_args.cpython-311.py", ".git/packed", "srt/old.pyc"):
        path = package / litter
        path.parent.mkdir(exist_ok=True)
        path.write_text("hicache_size\n")
    (package / "srt" / "kernel.so").write_bytes(b"\x7fELF\0\0hicache_size\n")
    return package
