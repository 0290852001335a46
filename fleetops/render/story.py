"""A run as a story: one screen, in order: seen, planned, done, verified, how it ended, and what to type next."""

import io
import shlex
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from rich.cells import cell_len
from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.record import ReclaimRow
from fleetops.model.story import Bundle, Story, ToldChange, ToldPlan, ToldStep
from fleetops.model.units import KB, MB
from fleetops.render.commands import spoken_argv
from fleetops.render.launched import launched
from fleetops.render.operate import findings_table, show_reclaimed
from fleetops.render.output import Output
from fleetops.render.plain import safe
from fleetops.render.rows import opposite
from fleetops.render.runs import RUN_STYLES
from fleetops.render.typed import typed

_NOT_RECORDED = "  not recorded: the journal is of an older release"
_STEP_STYLES = {**RUN_STYLES, "skipped": "dim", "under way": "bold", "cut off": "bold red"}
_CHANGE_STYLES = {
    "done": "green",
    "failed": "bold red",
    "no answer": "bold red",
    "lost": "bold yellow",
    "unknown": "bold red",
    "under way": "bold",
}
_LEAST_DETAIL = 24
_LEAST_WHY = 12
_CUT = "…"


def show_story(output: Output, story: Story) -> None:
    """The whole screen."""
    _show_head(output, story)
    _show_seen(output, story)
    _show_planned(output, story)
    _show_done(output, story)
    if story.reclaimed:
        _heading(output, "verified")
        show_reclaimed(output, story.reclaimed)
    if story.launched:
        _heading(output, "launched")
        output.show(launched(story.launched, story.previous))
    _show_end(output, story)


def _heading(output: Output, word: str, beside: str = "") -> None:
    output.show("")
    output.show(Text.assemble((word, "bold"), (f"   {safe(beside)}" if beside else "", "dim")))


def _paragraph(output: Output, text: str, style: str = "", indent: int = 2) -> None:
    """One line where it is piped; wrapped on a terminal."""
    told = safe(text)
    if output.is_terminal:
        told = "\n".join(_wrapped(told, output.width - indent))
    output.lines(Text(textwrap.indent(told, " " * indent), style=style))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, _LEAST_DETAIL), break_long_words=False, break_on_hyphens=False)


def _show_head(output: Output, story: Story) -> None:
    run = story.run
    what = f"{run.playbook} {run.node}" + (f", profile {story.profile}" if story.profile else "")
    output.show(opposite(Text.assemble(("run ", ""), (run.run_id, "bold")), what, output.width))
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started_at))
    status = Text.assemble("  ", (run.status, RUN_STYLES.get(run.status, "")), f" {_lasted(story)}")
    output.show(opposite(status, f"{when}{f', by {story.by}' if story.by else ''}", output.width))
    for name, reason in story.waived.items():
        _paragraph(output, f"waived: {name}, because {reason}", "yellow")
    if run.continues:
        _paragraph(output, f"it went on from run {run.continues}")


def _lasted(story: Story) -> str:
    took = show_duration(story.seconds)
    if story.run.status == "running":
        return f"({story.run.why}), last heard of {took} after its start"
    return f"after {took}"


def _show_seen(output: Output, story: Story) -> None:
    _heading(output, "seen", ", ".join(f"{name} {version}" for name, version in story.versions.items()))
    if story.findings is None:
        output.show(_NOT_RECORDED)
    elif story.findings:
        output.show(findings_table(story.findings))
    else:
        output.show("  nothing wrong")
    if story.facts:
        _paragraph(output, ", ".join(_fact(row) for row in story.facts))


def _fact(row: ReclaimRow) -> str:
    beside = f" (idle {row.idle})" if row.before != row.idle and row.ok is not True else ""
    return f"{row.name} {row.before}{beside}"


def _show_planned(output: Output, story: Story) -> None:
    _heading(output, "planned")
    if story.planned is None:
        output.show(_NOT_RECORDED)
        return
    _paragraph(output, ", ".join(_plan(one) for one in story.planned if not one.skip))
    if left_out := [one.title for one in story.planned if one.skip]:
        _paragraph(output, f"not: {', '.join(left_out)}", "dim")


def _plan(one: ToldPlan) -> str:
    return f"{one.title} ({one.condition})" if one.condition else one.title


@dataclass(frozen=True)
class _Columns:
    """How wide each column is over the whole run, so that all its lines stand under each other."""

    at: int
    title: int
    status: int
    took: int
    host: int
    why: int
    outcome: int

    @classmethod
    def of(cls, story: Story, width: int) -> Self:
        """As wide as the widest of each; reasons wrap where the width does not allow that."""
        changes = [change for step in story.steps for change in step.changes]
        lines: list[ToldStep | ToldChange] = [*story.steps, *changes]
        at = _widest(_at(one.at_s) for one in lines)
        took = _widest(_took(one.seconds) for one in lines)
        host = _widest(safe(one.host) for one in changes)
        outcome = _widest(one.outcome for one in changes)
        room = width - at - took - host - outcome - 14
        return cls(
            at=at,
            title=_widest(safe(one.title) for one in story.steps),
            status=_widest(_status(one, story) for one in story.steps),
            took=took,
            host=host,
            why=max(min(_widest(safe(one.why) for one in changes), room), _LEAST_WHY),
            outcome=outcome,
        )


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _show_done(output: Output, story: Story) -> None:
    _heading(output, "done")
    if not story.steps:
        output.show("  no step was begun")
    columns = _Columns.of(story, output.width)
    width = output.width if output.is_terminal else None
    for step in story.steps:
        output.lines(_step(step, story, columns, width))
        for change in step.changes:
            output.lines(_change(change, columns, output.width))


def _status(step: ToldStep, story: Story) -> str:
    return step.status or ("under way" if story.run.status == "running" else "cut off")


def _step(step: ToldStep, story: Story, columns: _Columns, width: int | None) -> Text:
    """When, what, how it ended, how long it took, and what it came to, wrapped in its own column on a terminal."""
    status = _status(step, story)
    line = Text(f"  {_at(step.at_s):>{columns.at}}  {safe(step.title):<{columns.title}}   ")
    line.append(f"{status:<{columns.status}}", style=_STEP_STYLES.get(status, ""))
    line.append(f"  {_took(step.seconds):>{columns.took}}   ")
    detail = safe(step.detail).split("\n")[0].rstrip(":")
    if width is None:
        return line.append(detail)
    at = line.cell_len
    if width - at >= _LEAST_DETAIL:
        return line.append(("\n" + " " * at).join(_wrapped(detail, width - at)))
    at = columns.at + 4
    return line.append("".join(f"\n{' ' * at}{row}" for row in _wrapped(detail, width - at)))


def _change(one: ToldChange, columns: _Columns, width: int) -> Text:
    """Below its step: where and why, how it ended, how long it took, and the command as far as there is room."""
    at = f"  {_at(one.at_s):>{columns.at}}    "
    why, *more = _wrapped(safe(one.why), columns.why) or [""]
    line = Text(f"{at}{safe(one.host):<{columns.host}}  {why:<{columns.why}}  ")
    line.append(f"{one.outcome:<{columns.outcome}}", style=_CHANGE_STYLES[one.outcome])
    line.append(f"  {_took(one.seconds):>{columns.took}}")
    command, room = spoken_argv(one.argv), width - line.cell_len - 3
    if room >= _LEAST_DETAIL:
        line.append(f"   {command if cell_len(command) <= room else command[: room - 1] + _CUT}", style="dim")
    line.append("".join(f"\n{' ' * (len(at) + columns.host + 2)}{row}" for row in more))
    said = _wrapped(safe(one.said), width - len(at))
    return line.append("".join(f"\n{' ' * len(at)}{row}" for row in said))


def _at(seconds: float) -> str:
    """`+0:04`, `+12:30`, `+1:02:03`: minutes and seconds from the run's start."""
    minutes, left = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02}:{left:02}" if hours else f"+{minutes}:{left:02}"


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 60 else show_duration(seconds)


def _show_end(output: Output, story: Story) -> None:
    run = story.run
    _heading(output, "stands" if run.status in {"running", "unfinished", "taken-over"} else "ended")
    _paragraph(output, _conclusion(story), "" if run.status == "done" else RUN_STYLES.get(run.status, ""))
    for change in story.open_changes:
        _paragraph(output, _open(change, story), "bold red" if change.outcome == "unknown" else "")
    files = f"{len(story.kept)} file{'s' if len(story.kept) != 1 else ''}"
    output.lines(Text(f"  evidence and journal: {files} in {safe(story.folder)}"))
    output.show("")
    output.lines(Text(f"  {safe(typed(story.next))}", style="bold"))
    output.lines(
        Text(
            f"  {typed(shlex.join(['fleetops', 'runs', 'show', run.run_id, '--bundle']))} packs the evidence"
        )
    )


def _conclusion(story: Story) -> str:
    """How it ended; of one that has no end, what was written down last."""
    run = story.run
    last = f"the last thing written down, {show_duration(story.last_at_s)} after its start: {story.last}"
    if run.status == "running":
        return f"it is running ({run.why}); {last}"
    if run.status == "unfinished":
        return f"it was cut off; {last}; the next recover reads the facts anew and goes on from there"
    if run.status == "taken-over":
        return f"{run.why}; {last}"
    guard = f" (guard {story.guard})" if story.guard else ""
    return f"{run.status}{guard}: {run.why}" if run.why else run.status


def _open(change: ToldChange, story: Story) -> str:
    what = f"{change.why} on {change.host}"
    if change.outcome == "under way":
        return f"under way since {show_duration(story.last_at_s - change.at_s)}: {what}"
    return f"it is not known whether this was done: {what}"


def show_bundle(output: Output, bundle: Bundle) -> None:
    """What was packed, what not, and where it lies."""
    rows = [member for member in bundle.members if not member.note.startswith("left out")]
    output.show(f"{bundle.path}   {_size(bundle.size_bytes)}, {len(rows)} files, secrets masked")
    output.show("")
    name = max(len(safe(member.name)) for member in bundle.members)
    for member in bundle.members:
        size = "" if member.note.startswith("left out") else _size(member.size_bytes)
        output.show(f"  {safe(member.name):<{name}}   {size:>9}   {safe(member.note)}".rstrip())
    if bundle.missing:
        _heading(output, "missing")
        what = max(map(len, bundle.missing))
        for each, why in bundle.missing.items():
            output.lines(Text(f"  {each:<{what}}   {safe(why)}"))


def told_as_text(story: Story) -> str:
    """The screen as it looks piped."""
    written = io.StringIO()
    show_story(Output(written, io.StringIO()), story)
    return written.getvalue()


def _size(size_bytes: int) -> str:
    if size_bytes >= MB:
        return f"{size_bytes / MB:.1f} MB"
    return f"{size_bytes / KB:.1f} KB" if size_bytes >= KB else f"{size_bytes} B"
