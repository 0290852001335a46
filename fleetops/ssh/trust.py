"""Putting a host's key on record: it is fetched without a login, shown, and written down when the operator says so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fleetops.model.errors import FleetopsError, HostKeyRefused
from fleetops.model.exit import Exit
from fleetops.ssh.config import SYSTEM_KNOWN_HOSTS
from fleetops.ssh.known_hosts import HostKey, Verdict
from fleetops.ssh.link import Link


class KeyContradicts(HostKeyRefused):
    """The key that is to be recorded contradicts the record: `trust` never settles that."""

    exit_code = Exit.REFUSED


@dataclass(frozen=True)
class Presented:
    """The key that a server on the way to a host presents.

    Attributes:
        server: what the operator calls it.
        record_name: the name under which it is (or will be) recorded.
        place: `FILE:LINE` where it stands already, "" where it does not.
        file: where it will be recorded.
    """

    server: str
    record_name: str
    key: HostKey
    place: str
    file: Path

    @property
    def is_known(self) -> bool:
        """Whether it is on record already."""
        return bool(self.place)


def trust(link: Link, accept: Callable[[Presented], bool]) -> Iterator[tuple[Presented, bool]]:
    """Meet every server on the way to a host, the first jump host first, and record what `accept` takes.

    Yields each with whether it is on record now, and goes no further than the first that is not.

    Raises:
        KeyContradicts: another key is on record for this server, or this one is revoked; nothing is changed.
        Unreachable: it could not be met.
        FleetopsError: its key cannot be recorded.
    """
    for step in _way(link):
        presented = _meet(step)
        if not presented.is_known:
            if not accept(presented):
                yield presented, False
                return
            step.known_hosts.record(presented.file, presented.record_name, presented.key)
        yield presented, True


def _way(link: Link | None) -> list[Link]:
    return [] if link is None else [*_way(link.via), link]


def _meet(link: Link) -> Presented:
    key = link.greet()
    verdict, place = link.verdict(key)
    if verdict in {Verdict.CHANGED, Verdict.REVOKED}:
        error = link.refusal(key, verdict, place)
        raise KeyContradicts(error.message, hint=error.hint, host=error.host)
    file = link.files[0]
    if verdict is Verdict.UNKNOWN and file == SYSTEM_KNOWN_HOSTS:
        raise FleetopsError(
            f"{link.label}: there is no file of your own to record its key in",
            hint="UserKnownHostsFile is `none` in ssh_config: name one there, or `settings: {known-hosts: PATH}`",
            host=link.label,
        )
    return Presented(link.label, link.key_name, key, place if verdict is Verdict.KNOWN else "", file)
