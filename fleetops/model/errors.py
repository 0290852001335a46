"""Errors that a user may see. Each says what was done to which host, what came back, and what to do next."""

from enum import StrEnum

from fleetops.model.exit import Exit


class FleetopsError(Exception):
    """Base of every expected failure: its message reaches the user, a traceback never does.

    Args:
        message: what was being done, to which host, and what came back; one sentence or two.
        hint: what to do next, often a command to type.
        host: the host concerned, when there is one.
    """

    exit_code: Exit = Exit.FAILED
    kind: str = "failed"

    def __init__(self, message: str, *, hint: str = "", host: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.host = host


class UsageError(FleetopsError):
    """The command line asks for something that does not exist or does not make sense."""

    exit_code = Exit.USAGE
    kind = "usage"


class StepFailed(FleetopsError):  # noqa: N818 - named for what the user reads
    """A change was made, or tried, and the facts do not show that it worked."""

    exit_code = Exit.FAILED
    kind = "step-failed"


class Refused(FleetopsError):  # noqa: N818 - named for what the user reads
    """A guard, a lock or a missing proof stops the run before it changes anything (more).

    Args:
        guard: the guard's name, as `--waive` would spell it.
    """

    exit_code = Exit.REFUSED
    kind = "refused"

    def __init__(self, message: str, *, guard: str, hint: str = "", host: str = "") -> None:
        super().__init__(message, hint=hint, host=host)
        self.guard = guard


class Unknown(FleetopsError):  # noqa: N818 - named for what the user reads
    """Facts are missing, so nothing can be said, and nothing is done."""

    exit_code = Exit.UNKNOWN
    kind = "unknown"


class Silence(StrEnum):
    """How a host kept silent. What is none of these (a jump host's trouble, no root) has no word."""

    REFUSED = "refused"
    NO_ROUTE = "no-route"
    TIMEOUT = "timeout"
    NO_BANNER = "no-banner"
    CLOSED = "closed"
    NOT_SSH = "not-ssh"
    HOST_KEY = "host-key"
    AUTH = "auth"


class Unreachable(FleetopsError):  # noqa: N818 - named for what the user reads
    """A host could not be asked. It is unknown, not down.

    Args:
        reason: how it kept silent; None where that says nothing about the host itself.
    """

    exit_code = Exit.UNKNOWN
    kind = "unreachable"

    def __init__(
        self, message: str, *, hint: str = "", host: str = "", reason: Silence | None = None
    ) -> None:
        super().__init__(message, hint=hint, host=host)
        self.reason = reason


class ConnectionLost(Unreachable):
    """The connection broke after a command was sent: whether it ran is not known and must be looked up."""

    kind = "connection-lost"


class HostKeyRefused(Unreachable):
    """The host's key is unknown or differs from the recorded one; nothing was sent."""

    kind = "host-key"


class Interrupted(FleetopsError):  # noqa: N818 - named for what the user reads
    """The operator ended the run; the message says what may still be under way."""

    exit_code = Exit.INTERRUPTED
    kind = "interrupted"
