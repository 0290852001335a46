"""What a contestant is, and how one run of it is judged."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.fleet import Fleet
from bench.measure import Finished, Invocation
from bench.tools import Tools

WIDTH = 32
"""How many hosts at a time, for everyone who can be told."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A command for every host, and the one line that each has to print."""

    words: Sequence[str]
    expected: str

    @property
    def line(self) -> str:
        """For those who take a line for the remote shell."""
        return shlex.join(self.words)


def lines_ending(finished: Finished, expected: str) -> int:
    """How many lines of the output are the right answer, whatever the tool writes before it (the host's name)."""
    return sum(line.rstrip().endswith(expected) for line in finished.stdout.splitlines())


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A way to run one command on many hosts, each connected to anew.

    Attributes:
        install: what to type to get it.
        version: its release; "" where it is not installed.
        invocation: the program call for these hosts and this task.
        answered: how many hosts gave the right answer, by its output.
        note: what a reader has to know to compare it fairly.
    """

    name: str
    install: str
    version: Callable[[Tools], str]
    invocation: Callable[[Fleet, Tools, Task], Invocation]
    answered: Callable[[Finished, str], int] = lines_ending
    note: str = ""
