"""Becoming root where the login is another user: the password is asked once per run and travels on stdin only."""

import threading
from collections.abc import Callable

from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.ssh.quote import ask_marker, encode


class NoRoot(Unreachable):
    """The host answers, but what was asked of it needs root and the login cannot become root there."""

    kind = "no-root"


class SudoPassword:
    """One run's sudo password, asked for when a host first wants it.

    Args:
        ask: prompts the operator; None where there is nobody to ask.
    """

    def __init__(self, ask: Callable[[str], str] | None) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._password: str | None = None

    def get(self, host: str, user: str) -> str:
        """The password. Raises NoRoot where nobody can be asked."""
        with self._lock:
            if self._password is None:
                self._password = self._obtain(host, user)
            return self._password

    def _obtain(self, host: str, user: str) -> str:
        hint = "allow it without a password (NOPASSWD), log in as root, or run fleetops on a terminal"
        if self._ask is None:
            raise NoRoot(f"{host}: sudo wants a password for {user}", hint=hint, host=host)
        try:
            return self._ask("sudo password: ")
        except FleetopsError as error:
            raise NoRoot(
                f"{host}: sudo wants a password for {user}: {error.message}", hint=hint, host=host
            ) from error


class SudoDialogue:
    """What sudo and fleetops say to each other before one call starts."""

    def __init__(self, password: SudoPassword, *, nonce: str, host: str, user: str) -> None:
        self._password = password
        self._marker = encode(ask_marker(nonce))
        self._host = host
        self._user = user
        self._answered = 0

    def answer(self, said: bytes) -> bytes:
        """What to send now that sudo has said this much on stderr. Raises NoRoot when it asks a second time."""
        if said.count(self._marker) <= self._answered:
            return b""
        if self._answered:
            raise NoRoot(
                f"{self._host}: sudo did not accept the password for {self._user}",
                hint=f"try it there: ssh {self._host} sudo true",
                host=self._host,
            )
        self._answered += 1
        return encode(self._password.get(self._host, self._user)) + b"\n"

    def refusal(self, said: str) -> NoRoot:
        """The error for a sudo that ended without starting the call."""
        words = said.replace(self._marker.decode(), "").strip().splitlines()
        last = words[-1] if words else "it said nothing"
        if "sudo" in last and "not found" in last:
            last = "sudo is not installed there"
        return NoRoot(
            f"{self._host}: {self._user} cannot become root: {last}",
            hint="log in as root (`user: root` in the inventory), or let this user use sudo there",
            host=self._host,
        )
