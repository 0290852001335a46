"""The run that a plan goes on from, as it is told above the plan."""

import time

from rich.text import Text

from fleetops.model.interrupted import Interrupted
from fleetops.render.output import Output
from fleetops.render.plain import safe


def show_interrupted(output: Output, run: Interrupted | None) -> None:
    """The run that this one goes on from: which, when, how far it got, and what nobody knows."""
    if run is None:
        return
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.at))
    what = f" ({run.playbook})" if run.playbook else ""
    output.show(Text(f"  interrupted: run {safe(run.run_id)}{what}, last heard of {when}", style="yellow"))
    lines = [run.how]
    if run.unknown:
        lines.append(f"it is not known what became of its last change: {run.unknown}")
    lines += [*run.left, "this goes on from there: the facts were read anew, nothing is repeated unseen"]
    for line in lines:
        output.show(f"    {safe(line)}")
    output.show("")
