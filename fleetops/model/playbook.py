"""Playbooks as they are listed."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PlaybookEntry:
    """A playbook that there is.

    Attributes:
        own: it lies beside the inventory; else it is a shipped one.
        shadows: it is run in place of the shipped one of its name.
        summary, steps: empty where the file has problems.
        problems: each with its place.
    """

    name: str
    file: str
    own: bool
    shadows: bool
    summary: str = ""
    steps: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PackageStep:
    """A step that an installed package brings; `refused`: why it is not taken, "" where it is."""

    step: str
    package: str
    refused: str
