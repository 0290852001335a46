"""What a flag means on many nodes at once: nodes whose source is the same share one trace and one answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fleetops.facts import cgroup, engine_source, memory
from fleetops.fleet.explain import EXIT_CODES
from fleetops.fleet.explain_size import node_size
from fleetops.fleet.prove import Running, as_root, source_of_start
from fleetops.fleet.read import Sessions
from fleetops.model.command import Command, Outcome, shell
from fleetops.model.engine import EngineSource
from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.model.exit import Exit, worst
from fleetops.model.explained import ExplainReport, NodeAnswer, Unexplained
from fleetops.model.fact import Missing
from fleetops.model.fleet import Inventory, Node
from fleetops.model.proof import Explanation
from fleetops.sizing.budget import Room, Rooms
from fleetops.source.packages import package
from fleetops.source.transport import Files, ProofCache, explain_remotely, read_digest
from fleetops.source.transport_answers import (
    DIGEST_S,
    SourceDigest,
    digest_command,
    parse_digest,
)
from fleetops.ssh.fanout import fan_out
from fleetops.ssh.sudo import NoRoot

# $1: the script that finds the package; $2, $3: its arguments; $4: the script that hashes what was found.
_LOCATE_AND_HASH = """\
found=$(sh -c "$1" fleetops "$2" "$3")
printf '%s\\n' "$found"
folder=$(printf '%s\\n' "$found" | sed -n 's/^folder //p' | head -n 1)
if [ -n "$folder" ]; then exec sh -c "$4" fleetops "$folder"; fi
"""
_END = "\nend\n"

Answer = Explanation | FleetopsError


@dataclass(frozen=True, kw_only=True)
class _Located:
    """A node's source, and the memory it has for what the flag takes.

    Attributes:
        by_root: only a launch's interpreter has named the folder, so that it is read as root, as a launch does.
        note: how a launch of the node's profile comes by this source, or that it does not; "" where that goes without saying.
    """

    node: Node
    source: EngineSource
    digest: SourceDigest
    rooms: Rooms
    by_root: bool = False
    note: str = ""


@dataclass(kw_only=True)
class _Question:
    """What is asked of all nodes, and what they share while they are asked."""

    sessions: Sessions
    inventory: Inventory
    flag: str
    engine: str | None
    proofs: ProofCache
    files: Files = field(default_factory=dict)


def explain_nodes(
    sessions: Sessions,
    inventory: Inventory,
    nodes: Sequence[Node],
    flag: str,
    proofs: ProofCache,
    *,
    engine: str | None = None,
    on_answer: Callable[[set[str]], None] = lambda _: None,
) -> ExplainReport:
    """What `flag` (with underscores) means on each node, in the order of `nodes`.

    `engine` names the package to look at; without it, it is each node's own engine. `on_answer` hears, after each
    answer, which nodes have still to give theirs.
    """
    question = _Question(sessions=sessions, inventory=inventory, flag=flag, engine=engine, proofs=proofs)
    answers: dict[str, Answer] = {}
    located: dict[str, _Located] = {}
    for found in fan_out(nodes, lambda node: _locate(question, node)):
        if found.value is not None:
            located[found.item.name] = found.value
        else:
            answers[found.item.name] = found.error or FleetopsError(f"{found.item.name} gave no answer")
        on_answer({node.name for node in nodes} - set(answers))
    groups = _same_source(located[node.name] for node in nodes if node.name in located)
    for traced in fan_out(groups, lambda group: _trace(question, group)):
        answers |= traced.value or {one.node.name: traced.error for one in traced.item if traced.error}
        on_answer({node.name for node in nodes} - set(answers))
    told = [(node, answers[node.name], located.get(node.name)) for node in nodes]
    return _report(flag, inventory, [(node, _noted(answer, where), where) for node, answer, where in told])


def exit_code(report: ExplainReport) -> Exit:
    """The worst of all answers; a node that could not be asked is unknown."""
    codes = [EXIT_CODES[answer.explanation.verdict] for answer in report.answers]
    return worst([*codes, *(Exit.UNKNOWN for _ in report.unreachable)])


def _locate(question: _Question, node: Node) -> _Located:
    """Where the source lies, what it hashes to, and how much memory there is: one round trip, and one to ask its profile's
    interpreter, whose word counts.
    """
    name = question.engine or node.engine
    package(name)  # an engine that no package file describes is said so before anything is asked
    locating = engine_source.fact(name, node.source if name == node.engine else "")
    asked = [_locate_and_hash(locating.command), memory.FACT.command, cgroup.FACT.command]
    session = question.sessions.session(node)
    told, free, bounded = session.batch(asked)
    found, _, hashed = told.stdout.partition(_END)
    source = locating.read(replace(told, stdout=f"{found}{_END}" if _END in told.stdout else told.stdout))
    running = _running(question, node, None if isinstance(source, Missing) else source)
    rooms = _rooms(free, bounded)
    if running.source and (isinstance(source, Missing) or running.source.folder != source.folder):
        digest = read_digest(as_root(session.run), running.source.folder)
        return _Located(
            node=node, source=running.source, digest=digest, rooms=rooms, by_root=True, note=running.note
        )
    if isinstance(source, Missing):
        why = "; ".join(part for part in (source.why or source.gap.value, running.doubt) if part)
        raise FleetopsError(
            f"no {package(name).title} source found: {why}",
            hint="say where it is: `source:` in the inventory",
            host=node.name,
        )
    digest = parse_digest(replace(told, stdout=hashed), source.folder)
    note = f"a launch of {node.profile} does not take this source: {running.doubt}" if running.doubt else ""
    return _Located(node=node, source=source, digest=digest, rooms=rooms, note=note or running.note)


def _running(question: _Question, node: Node, found: EngineSource | None) -> Running:
    """What a launch of the node's profile would read; nothing where no profile of this engine belongs to it."""
    profile = question.inventory.profiles.get(node.profile)
    if profile is None or profile.engine != (question.engine or node.engine):
        return Running(source=found)
    try:
        return source_of_start(node, profile, found, question.sessions.session(node).run)
    except NoRoot as error:
        return Running(doubt=f"its interpreter could not be asked as root ({error.message})")


def _locate_and_hash(locating: Command) -> Command:
    _, _, script, _, *arguments = locating.argv
    hashing = digest_command("").argv[2]
    return shell(_LOCATE_AND_HASH, script, *arguments, hashing, deadline_s=locating.deadline_s + DIGEST_S)


def _rooms(free: Outcome, bounded: Outcome) -> Rooms:
    """What bounds the node's own memory, as far as it can be read."""
    found = memory.FACT.read(free)
    if isinstance(found, Missing):
        return Rooms(rooms=())
    rooms = [Room(label="MemAvailable", size_bytes=found.available_bytes)]
    limit = cgroup.FACT.read(bounded)
    if not isinstance(limit, Missing) and limit.room_bytes is not None:
        rooms.append(Room(label="cgroup", size_bytes=limit.room_bytes))
    return Rooms(rooms=tuple(rooms))


def _same_source(located: Iterable[_Located]) -> list[tuple[_Located, ...]]:
    """Nodes that run the same files of the same package, and can read the same of them."""
    groups: dict[tuple[str, SourceDigest], list[_Located]] = {}
    for one in located:
        groups.setdefault((one.source.engine, one.digest), []).append(one)
    return [tuple(group) for group in groups.values()]


def _trace(question: _Question, group: tuple[_Located, ...]) -> dict[str, Answer]:
    """One trace for all of them, read from the first that can be asked and stays the same meanwhile."""
    answers: dict[str, Answer] = {}
    for place, one in enumerate(group):
        name = one.node.name
        try:
            answers[name] = told = _explain(question, one)
        except Unreachable as error:
            answers[name] = error
            continue
        except FleetopsError as error:
            return answers | {other.node.name: error for other in group[place:]}
        if told.tree_sha256 == one.digest.digest:
            rest = group[place + 1 :]
            same = {other.node.name: replace(told, version=other.source.version) for other in rest}
            return answers | same
    return answers


def _noted(answer: Answer, one: _Located | None) -> Answer:
    if one is None or not one.note or isinstance(answer, FleetopsError):
        return answer
    return replace(answer, notes=(*answer.notes, one.note))


def _explain(question: _Question, one: _Located) -> Explanation:
    ask = question.sessions.session(one.node).run
    return explain_remotely(
        as_root(ask) if one.by_root else ask,
        one.source.folder,
        package(one.source.engine),
        question.flag,
        version=one.source.version,
        cache=question.proofs,
        files=question.files,
        before=one.digest,
    )


def _report(
    flag: str, inventory: Inventory, told: Sequence[tuple[Node, Answer, _Located | None]]
) -> ExplainReport:
    answers = [
        NodeAnswer(
            host=node.name,
            explanation=answer,
            folder=where.source.folder if where else "",
            size=node_size(answer, inventory.profiles.get(node.profile), where.rooms) if where else None,
        )
        for node, answer, where in told
        if isinstance(answer, Explanation)
    ]
    silent = [_unexplained(node, answer) for node, answer, _ in told if isinstance(answer, FleetopsError)]
    return ExplainReport(flag=flag, answers=tuple(answers), unreachable=tuple(silent))


def _unexplained(node: Node, error: FleetopsError) -> Unexplained:
    return Unexplained(
        host=node.name, error=error.message, hint=error.hint, reached=not isinstance(error, Unreachable)
    )
