"""A rank that ignores SIGTERM: only SIGKILL ends it."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, ranks_of, zombies

NAME = "stubborn"
SUMMARY = "one rank is dead, the others sit in a collective with it and ignore SIGTERM"
EXPLANATION = (
    "The last rank was killed while a request was under way. Its peers wait for it inside a collective and never come back"
    " to where Python would run a handler, so SIGTERM does nothing to them; the launcher waits for the request. One sees a"
    " zombie, a port that answers nothing, and ranks that outlive every polite request: only SIGKILL ends them."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Kill one rank of a service whose ranks heed no SIGTERM, and ask it for something."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve(fault="stubborn")
    broken.kill(ranks_of(broken.look())[-1:])
    broken.await_that(lambda: len(zombies(broken.look())) == 1, "the rank did not die")
    broken.ask()
