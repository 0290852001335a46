"""Whom a fan-out still waits for, said on the terminal while it does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fleetops.model.nodeset import fold_names
from fleetops.render.output import Output


@contextmanager
def waiting(output: Output) -> Iterator[Callable[[set[str]], None]]:
    """A line on stderr that names the hosts still to answer; gone when the last one has, never there when piped."""
    with output.err.status("asking") as status:
        yield lambda left: status.update(f"waiting for {fold_names(left)}" if left else "done")
