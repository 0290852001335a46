"""The outside world as the command line sees it, handed in as one object: tests replace it without patching."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from fleetops.model.errors import FleetopsError, Refused, UsageError

if TYPE_CHECKING:
    from fleetops.fleet.scheduling.machine import Machine
    from fleetops.model.fleet import Inventory
    from fleetops.render.output import Output
    from fleetops.ssh.connections import Connections


def _nowhere(mode: Literal["r", "w"]) -> TextIO:
    """In place of a standard stream that is closed: Python has None there."""
    return Path(os.devnull).open(mode, encoding="utf-8")


class World:
    """Streams, environment, clock and the factories that reach outside.

    A plain class: `dataclasses` would cost every start a fifth of what it may take.
    """

    def __init__(
        self,
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        clock: Callable[[], float] = time.time,
        root: Path = Path("/"),
    ) -> None:
        self.stdin = stdin or sys.stdin or _nowhere("r")
        self.stdout = stdout or sys.stdout or _nowhere("w")
        self.stderr = stderr or sys.stderr or _nowhere("w")
        self.environ = dict(os.environ) if environ is None else environ
        self.cwd = cwd or Path.cwd()
        self.clock = clock
        self.root = root

    def inventory(self, args: argparse.Namespace) -> "Inventory":
        """The inventory that the options, the environment or the folder point at, loaded and checked."""
        from fleetops.inventory.load import load_inventory

        return load_inventory(self.inventory_path(args))

    def inventory_path(self, args: argparse.Namespace) -> Path:
        """Where that inventory lies: its folder or its file. Raises UsageError where there is none."""
        from fleetops.inventory.find import find_inventory

        return find_inventory(self._inventory_option(args), environ=self.environ, cwd=self.cwd)

    def _inventory_option(self, args: argparse.Namespace) -> str | None:
        if not args.lab:
            option: str | None = args.inventory
            return option
        from fleetops.inventory.find import told_as_usage
        from fleetops.lab.paths import lab_inventory

        inventory = lab_inventory(self.environ)
        with told_as_usage(inventory):
            if not inventory.exists():
                raise UsageError(
                    f"the embedded lab is not up: there is no {inventory}", hint="fleetops lab up"
                )
        return str(inventory)

    def connections(self, inventory: "Inventory") -> "Connections":
        """Connections to this inventory's hosts; a context manager."""
        from fleetops.ssh.connections import Connections

        return Connections(inventory.settings, environ=self.environ, ask_secret=self._ask_secret)

    def _ask_secret(self, prompt: str) -> str:
        import getpass

        if not self.stdin.isatty():
            raise FleetopsError(f"{prompt.rstrip(': ')} is needed, and there is no terminal to ask on")
        return getpass.getpass(prompt, stream=self.stderr)

    def machine(self) -> "Machine":
        """This machine itself, which starts sweeps by a schedule; its own files lie below `root`."""
        from fleetops.fleet.scheduling.machine import Machine

        return Machine(environ=self.environ, root=self.root)

    def state(self, inventory: "Inventory", *, reads: bool = False) -> Path:
        """The folder for journals and records, made private (0700); who only `reads` goes on where it cannot be made."""
        folder = inventory.settings.state or self._own_state()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if reads:
                return folder
            raise FleetopsError(
                f"cannot make the state folder {folder}: {error.strerror}",
                hint="set FLEETOPS_STATE, or `settings: {state: PATH}` in the inventory, to a writable folder",
            ) from error
        return folder

    def _own_state(self) -> Path:
        if named := self.environ.get("FLEETOPS_STATE"):
            return Path(named)
        if named := self.environ.get("XDG_STATE_HOME"):
            return Path(named) / "fleetops"
        try:
            return Path(self.environ.get("HOME") or "~").expanduser() / ".local/state/fleetops"
        except RuntimeError as error:
            raise FleetopsError(
                f"there is no place for journals and records: HOME is not set, and uid {os.getuid()} has no home",
                hint="set FLEETOPS_STATE, or `settings: {state: PATH}` in the inventory, to a writable folder",
            ) from error

    def output(self, args: argparse.Namespace) -> "Output":
        """Where a command shows its results."""
        from fleetops.render.output import Output

        return Output(self.stdout, self.stderr, environ=self.environ, wants_json=args.json)

    def confirm(self, question: str, *, hint: str = "look at it with --dry-run, then add --yes") -> bool:
        """Ask on the terminal; `y` or `yes` proceeds. Raises Refused, with `hint`, where there is nobody to ask."""
        if not self.stdin.isatty():
            raise Refused(
                "this changes something, and there is no terminal to ask on",
                guard="confirmation",
                hint=hint,
            )
        self.stderr.write(f"{question} [y/N] ")
        self.stderr.flush()
        return self.stdin.readline().strip().lower() in {"y", "yes"}
