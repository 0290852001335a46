"""What the engines' logs have in common: lines of torch, uvicorn and tqdm, and how a line's meaning is written down."""

import re
from collections.abc import Callable
from dataclasses import replace

from fleetops.engines.support.log_fold import Milestone
from fleetops.model.engine import LogReport

Change = Callable[[LogReport, re.Match[str]], LogReport]

OOM_KILLER = "SIGKILL: most often the kernel's OOM killer"


def milestones(rows: tuple[tuple[str, Change], ...]) -> tuple[Milestone, ...]:
    """Each pattern with what it changes."""
    return tuple(Milestone(re.compile(pattern), change) for pattern, change in rows)


def stage(name: str, progress: str) -> Change:
    """A line that says no more than that a stage is reached."""
    return lambda report, _: replace(report, stage=name, progress=progress)


def shards(report: LogReport, found: re.Match[str]) -> LogReport:
    """A progress bar over the checkpoint's shards: which, of how many."""
    return replace(report, stage="weights", progress=f"loading weights, {found[1]} of {found[2]} shards")


def graph_batches(report: LogReport, found: re.Match[str]) -> LogReport:
    """A progress bar over the batch sizes that graphs are captured for."""
    return replace(report, stage="graphs", progress=f"capturing CUDA graphs, {found[1]} of {found[2]}")


def ready(report: LogReport, _: re.Match[str]) -> LogReport:
    """What went wrong before and did not keep the server from coming up is no cause of death."""
    return replace(report, stage="ready", progress="ready", ready=True, failure="", telling=0)


def with_advice(advice: str) -> Callable[[re.Match[str]], str]:
    """The matched line, and what it most often means."""
    return lambda found: f"{found[0].strip().rstrip('.')} ({advice})"
