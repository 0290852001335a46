"""How a change looks: its plan, its steps as they happen, and what it came to."""

import shlex
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Any, Self

from rich.status import Status
from rich.table import Table
from rich.text import Text

from fleetops.model.event import Event, Progress, StepEnded, StepStarted
from fleetops.model.finding import Finding, Severity
from fleetops.model.jsonable import jsonable
from fleetops.model.plan import Plan, PlannedStep
from fleetops.model.record import ReclaimRow, Result
from fleetops.model.secrets import mask_argv
from fleetops.render.arithmetic import budget_json
from fleetops.render.commands import show_commands
from fleetops.render.interrupted import show_interrupted
from fleetops.render.launched import launched
from fleetops.render.output import Output
from fleetops.render.plain import safe
from fleetops.render.proofs import proofs_json, show_proofs, show_waived
from fleetops.render.rows import opposite
from fleetops.render.table import columns
from fleetops.render.typed import typed

_STATUS_STYLE = {"done": "green", "skipped": "dim", "failed": "bold red", "refused": "bold yellow"}
_LEAST_DETAIL = 30
_SEVERITY_STYLE = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.UNKNOWN: "magenta"}


def show_plan(
    output: Output, plan: Plan, findings: Sequence[Finding], *, exact: bool, scripts: bool = False
) -> None:
    """The steps with what is known of each; with `exact` the commands per host, in order; `scripts`: what they run."""
    what = f"{plan.playbook} {plan.node}" + (f", profile {plan.profile}" if plan.profile else "")
    output.show(
        opposite(
            Text.assemble(("plan", "bold"), f"   {what}"),
            safe(plan.file or f"playbooks/{plan.playbook}.yaml"),
            output.width,
        )
    )
    output.show("")
    show_interrupted(output, plan.interrupted)
    show_findings(output, findings)
    output.show(_steps_table(plan.steps))
    output.show("")
    spared = f"  Not touched: {', '.join(plan.spares)}." if plan.spares else ""
    output.show(f"  touches {safe(plan.touches)}.{spared}")
    if plan.left_out:
        output.show(Text(f"  {safe(plan.left_out)}", style="yellow"))
    show_waived(output, plan.waived)
    if plan.launched_last:
        _show_launched_last(output, plan)
    if exact:
        show_proofs(output, plan)
        show_commands(output, plan, scripts=scripts)


def _show_launched_last(output: Output, plan: Plan) -> None:
    again = typed(shlex.join(["fleetops", "recover", "--profile", plan.launched_last, plan.node]))
    told = f"  {plan.launched_last} was launched here last; this plan launches {plan.profile}, as the inventory says"
    output.show(Text(safe(told), style="yellow"))
    output.show(Text(f"  that one instead: {safe(again)}", style="yellow"))


def show_next(output: Output, command: str) -> None:
    """The command to type, last."""
    output.show("")
    output.show(Text(f"  {safe(typed(command))}", style="bold"))


def show_findings(output: Output, findings: Sequence[Finding]) -> None:
    """What is wrong, where something is."""
    if findings:
        output.show(findings_table(findings))
        output.show("")


def findings_table(findings: Sequence[Finding]) -> Table:
    """What is wrong, the worst first; equal words of several checks once."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for severity, subject, evidence in dict.fromkeys(
        (one.severity, one.subject, one.evidence) for one in findings
    ):
        word = Text(f"  {severity.word}", style=_SEVERITY_STYLE.get(severity, ""))
        table.add_row(word, Text(safe(subject)), Text(safe(evidence)))
    return table


def _steps_table(steps: Sequence[PlannedStep]) -> Table:
    """Long details wrap in their own column."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(justify="right", width=4)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for number, step in enumerate(steps, 1):
        table.add_row(str(number), step.title, step.host, _told(step))
    return table


def _told(step: PlannedStep) -> Text:
    if step.blocked:
        return Text(safe(f"would be refused: {step.blocked.splitlines()[-1].strip()}"), style="yellow")
    if step.skip:
        return Text(safe(step.skip), style="dim")
    both = step.condition and step.detail
    return Text(safe(f"{step.condition}: {step.detail}" if both else step.condition or step.detail))


class RunScreen(AbstractContextManager["RunScreen"]):
    """A sink: one line a step as it ends; on a terminal what is going on stands below and moves."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._status: Status | None = None
        self._title = ""
        self._last_told = ""

    def __enter__(self) -> Self:
        if not self._output.wants_json:
            with suppress(OSError):
                self._output.show("")
        if self._output.live.is_terminal and not self._output.wants_json:
            self._status = self._output.live.status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def on(self, event: Event) -> None:
        """Show one event. A reader that goes away, or a full disk behind stdout, does not stop a recovery halfway."""
        with suppress(OSError):
            self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self._title = event.title
            if self._status:
                self._tell(f"{event.title}{f' on {event.host}' if event.host else ''}")
        elif self._output.wants_json:
            return
        elif isinstance(event, Progress):
            self._tell(f"{self._title}: {event.text}")
        else:
            self._output.lines(_ended(event, self._output.width if self._output.is_terminal else None))

    def _tell(self, text: str) -> None:
        if self._status:
            self._status.update(Text(safe(text)))
        elif text != self._last_told:
            self._output.note(f"      {text}")
        self._last_told = text


def _ended(event: StepEnded, width: int | None) -> Text:
    """One line where it is piped; on a terminal what it came to is wrapped in its own column."""
    line = Text(f"  {event.number:>2}  {event.title:<24.24}   ")
    line.append(f"{event.status:<8}", style=_STATUS_STYLE[event.status])
    line.append(f"{event.seconds:>6.1f} s   ")
    # Of an explanation only its first line: the whole stands at the end.
    detail = safe(event.detail).split("\n")[0].rstrip(":")
    if width is None:
        return line.append(detail)
    at = line.cell_len
    room = max(width - at, _LEAST_DETAIL)
    rows = textwrap.wrap(detail, room, break_long_words=False, break_on_hyphens=False)
    return line.append(("\n" + " " * at).join(rows))


def show_result(output: Output, result: Result) -> None:
    """The before/after table, the launch beside the last one, and what to do next where it did not work."""
    if result.reclaimed:
        output.show("")
        show_reclaimed(output, result.reclaimed)
    if result.launched:
        output.show("")
        output.show(launched(result.launched, result.previous))
    output.show("")
    show_waived(output, result.waived)
    if result.status != "done":
        style = _STATUS_STYLE.get(result.status, "bold red")
        output.lines(_conclusion(result, style, output.width if output.is_terminal else None))
        if result.hint:
            output.show(f"  {safe(typed(result.hint))}")
    output.show(f"  run {result.run_id}   evidence and journal in {result.evidence}")


def _conclusion(result: Result, style: str, width: int | None) -> Text:
    """How it ended and why; an arithmetic of several lines keeps them."""
    told = f"  {result.status}: {safe(result.why)}"
    if width is not None and "\n" not in told:
        rows = textwrap.wrap(
            told, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        told = "\n".join(rows)
    text = Text(told)
    text.stylize(style, 2, 2 + len(result.status))
    return text


def show_reclaimed(output: Output, rows: Sequence[ReclaimRow]) -> None:
    """What was there before and after, beside the idle node, and where the idle figures come from."""
    words = {True: "ok", False: "not back", None: "unknown"}
    styles = {"ok": "green", "not back": "bold red", "unknown": "bold magenta"}
    told = [("", "before", "after", "idle", "")]
    told += [(row.name, row.before, row.after, row.idle, words[row.ok]) for row in rows]
    output.show(columns(told, right=(1, 2, 3), styles=styles, indent=2))
    for row in rows:
        if row.note:
            output.show(f"  {row.name} when idle: {safe(row.note)}")


def plan_json(plan: Plan, status: str, following: str = "") -> dict[str, Any]:
    """`fleetops.COMMAND/1` for a plan that was not run: the exact commands per host, in order, and what refuses it.

    `following`: the command that runs it.
    """
    obstacle = plan.first_obstacle
    return {
        "schema": f"fleetops.{plan.playbook}/1",
        "status": status,
        "node": plan.node,
        "profile": plan.profile,
        "why": plan.healthy or (obstacle.blocked if obstacle else ""),
        "guard": obstacle.guard if obstacle else "",
        "hint": obstacle.mend if obstacle else "",
        "next": following,
        "touches": plan.touches,
        "not_touched": list(plan.spares),
        "launched_last": plan.launched_last,
        "left_out": plan.left_out,
        "waived": dict(plan.waived),
        "continues": jsonable(plan.interrupted),
        **_rests_on(plan),
        "steps": [_step_json(step) for step in plan.steps],
    }


def _rests_on(plan: Plan) -> dict[str, Any]:
    return {"proofs": proofs_json(plan.proofs), "size": budget_json(plan.budget) if plan.budget else None}


def _step_json(step: PlannedStep) -> dict[str, Any]:
    body = {
        name: getattr(step, name)
        for name in ("step", "title", "host", "detail", "condition", "skip", "blocked")
    }
    commands = [
        {"host": one.host, "argv": list(mask_argv(one.command.argv)), "why": one.why} for one in step.actions
    ]
    return body | {"commands": commands}


def result_json(plan: Plan, result: Result) -> dict[str, Any]:
    """`fleetops.COMMAND/1` for a run: how it ended, the before/after table, the launch."""
    return {
        "schema": f"fleetops.{plan.playbook}/1",
        "status": result.status,
        "node": result.node,
        "profile": plan.profile,
        "run": result.run_id,
        "why": result.why,
        "hint": result.hint,
        "guard": result.guard,
        "left_out": plan.left_out,
        "waived": result.waived,
        "continues": jsonable(plan.interrupted),
        **_rests_on(plan),
        "reclaimed": jsonable(result.reclaimed),
        "launched": jsonable(result.launched),
        "previous": jsonable(result.previous),
        "evidence": result.evidence,
    }
