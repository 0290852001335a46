"""Searching the engine's own source on many nodes at once, one round trip each where the inventory names the folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from fleetops.engines import engine
from fleetops.facts import engine_source
from fleetops.fleet.read import Sessions
from fleetops.model.command import Outcome
from fleetops.model.engine import EngineSource
from fleetops.model.errors import FleetopsError, Unreachable, UsageError
from fleetops.model.exit import Exit
from fleetops.model.fact import Fact, Missing
from fleetops.model.fleet import Host, Node
from fleetops.model.grep import GrepReport, NotAsked
from fleetops.model.session import Session
from fleetops.source.search import Found, PatternRefused, Search, check_pattern, parse_search, search_command
from fleetops.ssh.fanout import Result, fan_out


def grep_hosts(
    sessions: Sessions,
    hosts: Sequence[Host],
    search: Search,
    *,
    path: str | None = None,
    on_answer: Callable[[set[str]], None] = lambda _: None,
) -> GrepReport:
    """What every host answers, in the order of `hosts`.

    `path` is the folder or file to search; without it, it is each node's engine source. `on_answer` hears, after
    each answer, which hosts have still to give theirs.
    Raises UsageError where grep refuses the pattern (on any of them).
    """
    results: dict[str, Result[Host, Found]] = {}
    for result in fan_out(hosts, lambda host: _ask(sessions, host, search, path)):
        results[result.item.name] = result
        on_answer({host.name for host in hosts} - set(results))
    in_order = [results[host.name] for host in hosts]
    for result in in_order:
        if isinstance(result.error, PatternRefused):
            name = result.item.name
            raise UsageError(f"{name}: {result.error.message}", hint=result.error.hint, host=name)
        if isinstance(result.error, UsageError):
            raise result.error
    found = [(result.item.name, result.value) for result in in_order if result.value is not None]
    return GrepReport(
        answers=tuple((host, value.answer) for host, value in found),
        unreachable=tuple(_not_asked(result) for result in in_order if result.value is None),
        warnings=tuple(dict.fromkeys(words for _, value in found for words in value.warnings)),
    )


def exit_code(report: GrepReport) -> Exit:
    """3 where a host could not be asked or a file not read, 1 where nothing matched anywhere, else 0."""
    if report.unreachable or any(answer.unread for _, answer in report.answers):
        return Exit.UNKNOWN
    return Exit.FINE if any(answer.total for _, answer in report.answers) else Exit.FINDINGS


def _not_asked(result: Result[Host, Found]) -> NotAsked:
    error = result.error or FleetopsError(f"{result.item.name} gave no answer")
    reached = not isinstance(error, Unreachable)
    return NotAsked(host=result.item.name, error=error.message, hint=error.hint, reached=reached)


def _ask(sessions: Sessions, host: Host, search: Search, path: str | None) -> Found:
    session = sessions.session(host)
    if path is not None:
        return parse_search(session.run(search_command(search, path)), path)
    if not isinstance(host, Node):
        raise UsageError(f"{host.name} runs no engine", hint="say with --path what to search there")
    source, outcome = _locate(session, host, search)
    outcome = outcome or session.run(search_command(search, source.folder))
    found = parse_search(outcome, source.folder)
    answer = replace(
        found.answer,
        engine=source.engine,
        version=source.version,
        engine_title=engine(source.engine).title,
    )
    return replace(found, answer=answer)


def _locate(session: Session, node: Node, search: Search) -> tuple[EngineSource, Outcome | None]:
    """Where the source is and, where the inventory's folder leads straight there, what the search gave.

    What the inventory names is the package or its parent. A guess that proves wrong, or no folder to guess from,
    costs a second trip, never a wrong answer.
    """
    fact = engine_source.fact(node.engine, node.source)
    if not node.source:
        return _source(fact, session.run(fact.command), node), None
    named = PurePosixPath(node.source)
    guess = named if named.name == node.engine else named / node.engine
    located, searched = session.batch([fact.command, search_command(search, str(guess))])
    check_pattern(searched)  # wrong everywhere, whatever else is wrong here
    source = _source(fact, located, node)
    return source, searched if PurePosixPath(source.folder) == guess else None


def _source(fact: Fact[EngineSource], outcome: Outcome, node: Node) -> EngineSource:
    reading = fact.read(outcome)
    if isinstance(reading, Missing):
        raise FleetopsError(
            f"no {engine(node.engine).title} source found: {reading.why or reading.gap.value}",
            hint="say where it is: `source:` in the inventory, or --path",
            host=node.name,
        )
    return reading
