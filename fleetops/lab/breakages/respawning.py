"""A shell loop that starts the service again whenever it ends, as people leave one in tmux or screen."""

import shlex
from pathlib import Path

from fleetops.lab.breakages.base import LOG, BrokenNode, launchers, ranks_of, zombies

NAME = "respawning"
SUMMARY = "a shell loop starts the service again whenever it ends; its ranks are dead and it hangs"
EXPLANATION = (
    "Somebody left `while true; do python3 -m sglang.launch_server ...; sleep 1; done` running. The ranks are dead and the"
    " launcher hangs, as in `zombies`; whoever only kills it finds a new one a second later, on GPUs that are not free"
    " yet. The loop has to be found first and stopped, then the service; the relaunch takes the loop's place."
)
PLATFORMS = ("lxc", "vm", "bare")
SCRIPT = "/root/serve.sh"


def apply(folder: Path, node: str) -> None:
    """Start the service from a loop, and kill its ranks under it."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.run("sh", "-c", f": > {LOG}; cat > {SCRIPT} <<'END'\n{_loop(broken)}END")
    broken.spawn("sh", SCRIPT)
    broken.await_ready()
    broken.kill(ranks_of(broken.look()))
    broken.await_that(lambda: len(zombies(broken.look())) == broken.ranks, "the ranks did not die")
    broken.ask()


def loops(broken: BrokenNode) -> list[int]:
    """Pids of what has started the service and would start it again."""
    return [each.ppid for each in launchers(broken.look()) if each.ppid != 1]


def _loop(broken: BrokenNode) -> str:
    command = shlex.join([*broken.pace(), *broken.command(), "--enable-metrics"])
    return f"cd /root\nwhile true; do\n    {command} >> {LOG} 2>&1\n    sleep 1\ndone\n"
