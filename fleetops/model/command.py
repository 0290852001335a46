"""What runs on a host, and what came back of it."""

from dataclasses import dataclass

DEFAULT_DEADLINE_S = 10.0
DEFAULT_LIMIT_BYTES = 8 * 2**20


@dataclass(frozen=True, kw_only=True)
class Command:
    """One program call on a host. An argv, never a shell string: quoting happens in `ssh/quote.py` alone.

    Attributes:
        argv: program and arguments, passed through unchanged whatever they contain (NUL excepted).
        deadline_s: seconds until the call and its process group are ended on the host.
        changes: whether it changes anything there; such a call is journaled and never repeated blindly.
        root: whether it needs root (`sudo` where the login is another user).
        stdin: what is sent on standard input; values that may be secret travel here, not in the argv.
        limit_bytes: how much of each of stdout and stderr is kept; the rest is read and dropped.
    """

    argv: tuple[str, ...]
    deadline_s: float = DEFAULT_DEADLINE_S
    changes: bool = False
    root: bool = False
    stdin: str = ""
    limit_bytes: int = DEFAULT_LIMIT_BYTES


def shell(script: str, *args: str, name: str = "fleetops", **options: object) -> Command:
    """A Command that runs a constant POSIX script with `args` as `$1`, `$2`, ...; data never joins the script."""
    return Command(argv=("sh", "-c", script, name, *args), **options)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came back of a Command that ran, or ran out of time.

    Attributes:
        status: the exit status; 128+N after signal N; None when the deadline passed without one.
        stdout, stderr: what it printed, decoded as UTF-8 with `surrogateescape`, cut at the command's limit.
        timed_out: the deadline passed; the process group was ended, or could not be.
        truncated: more came than was kept.
        duration_s: seconds as seen from here.
    """

    status: int | None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    truncated: bool = False
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """It ended by itself with status 0."""
        return self.status == 0 and not self.timed_out

    @property
    def said(self) -> str:
        """The most telling line of what it printed, for an error message."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        if self.timed_out:
            return "no answer within its deadline"
        return lines[-1] if lines else f"exit status {self.status}, no output"
