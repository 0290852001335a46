"""A run that ended before its end: what is known of it, for the one that goes on."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Interrupted:
    """One such run.

    Attributes:
        run_id: its id; `chain` begins with it and goes on with those that it had gone on from itself, the first attempt last.
        playbook: "" where only a host tells of it.
        at: when it was last heard of, seconds since the epoch.
        how: how it ended, in words.
        unknown: its change of which no outcome is written down; "" where there is none.
        launched_at: when it began to start the service, seconds since the epoch; None where it is not known to have.
        left: what hosts tell of its changes, one a line.
        if_down: it is one to go on from only while the guest that it has stopped is down.
    """

    run_id: str
    playbook: str = ""
    at: float
    how: str
    chain: tuple[str, ...]
    unknown: str = ""
    launched_at: float | None = None
    left: tuple[str, ...] = ()
    if_down: bool = False
