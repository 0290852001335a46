"""A probed node's facts as rows: what is gone and where it is, who is dead and why it does not go away."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fleetops.model.duration import show_duration
from fleetops.model.engine import Service
from fleetops.model.machine import IDENTITY, Process
from fleetops.model.nodeset import fold_names
from fleetops.model.report import GpuHolder, GpuUse, MemoryUse, PortUse, RankUse, Report, Verdict
from fleetops.model.secrets import looks_secret
from fleetops.model.supervisor import Supervisor
from fleetops.model.units import GB, show_gb, show_gib
from fleetops.render.probe_outside import hypervisor_rows, missing_rows
from fleetops.render.rows import Row

# Less than this part of a node's memory, unexplained, is the kernel's own and not worth a word.
_NOTABLE_SHARE = 0.03


def probe_rows(report: Report) -> list[Row]:
    """All rows of one node that answered."""
    summary = report.summary
    if summary.verdict is Verdict.ANOTHER:
        return list(hypervisor_rows(report))
    rows: list[Row] = []
    rows += _service_rows(report)
    rows += _supervisor_rows(summary.supervisors)
    if summary.memory:
        rows += _memory_rows(summary.memory)
    if summary.gpus:
        rows += _gpu_rows(summary.gpus)
    if summary.ranks:
        rows += _labelled("ranks", _rank_rows(summary.ranks, kept=bool(summary.supervisors)))
    if summary.port:
        rows += _port_rows(summary.port, report)
    if summary.leftovers and summary.leftovers.count:
        rows.append(
            Row(
                label="leftovers",
                says=f"{_count(summary.leftovers.count, 'segment')}, {_size(summary.leftovers.size_bytes)}",
                note="shared memory of dead owners that nobody has mapped",
            )
        )
    return [*rows, *hypervisor_rows(report), *missing_rows(report)]


def _labelled(label: str, rows: Iterable[Row]) -> Iterator[Row]:
    """The label stands before the first row only."""
    for place, row in enumerate(rows):
        yield Row(label="" if place else label, says=row.says, note=row.note)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def _size(size_bytes: int) -> str:
    return show_gb(size_bytes) if size_bytes >= GB / 10 else f"{size_bytes / 1e6:,.0f} MB"


def _service_rows(report: Report) -> Iterator[Row]:
    observation = report.observation
    for service in observation.services if observation else ():
        if service.launcher is None:
            yield Row(label="service", says="launcher gone", note="its ranks are orphans")
            continue
        age = _age(service.launcher, report)
        yield Row(
            label="service",
            says=f"pid {service.launcher.pid}{f', up {age}' if age else ''}",
            note=_against_profile(report, service),
        )


def _supervisor_rows(supervisors: Sequence[Supervisor]) -> Iterator[Row]:
    """What a mere kill of the service meets a second later."""
    for place, one in enumerate(supervisors):
        note = one.doubt and f"it cannot be stopped from here: {one.doubt}"
        yield Row(
            label="" if place else "kept by",
            says=one.title,
            note=note or "starts the service again; recover and kill stop it first",
        )


def _age(process: Process, report: Report) -> str:
    identity = report.observation.node_facts.value(IDENTITY) if report.observation else None
    if identity is None:
        return ""
    return show_duration(process.age_s(identity))


def _against_profile(report: Report, service: Service) -> str:
    """The flags in force that are not the profile's: the incident's own number was one of them."""
    profile = report.observation.profile if report.observation else None
    if profile is None:
        return ""
    if service.engine != profile.engine:
        return f"not of profile {profile.name}, which is for {profile.engine}"
    in_force = {name.lstrip("-").replace("-", "_"): value for name, value in service.flags.items()}
    differing = [
        f"{flag.name.replace('_', '-')} {in_force[flag.name]} (profile: {flag.value})"
        for flag in profile.flags
        if flag.name in in_force and not looks_secret(flag.name) and not flag.is_in_force(in_force[flag.name])
    ]
    return ", ".join(differing) if differing else f"as profile {profile.name} says"


def _memory_rows(memory: MemoryUse) -> Iterator[Row]:
    gone, total = show_gb(memory.gone_bytes).removesuffix(" GB"), show_gb(memory.total_bytes)
    left = show_gb(memory.available_bytes).removesuffix(" GB")
    yield Row(
        label="memory",
        says=f"{gone} of {total} gone, {left} available",
        note=", ".join(_memory_notes(memory)),
    )


def _memory_notes(memory: MemoryUse) -> Iterator[str]:
    notable = memory.total_bytes * _NOTABLE_SHARE
    if memory.unexplained_bytes is None:
        yield "the process table could not be read: whose it is cannot be said"
    elif memory.unexplained_bytes > notable:
        yield f"{show_gb(memory.unexplained_bytes)} in no process's RSS (pinned)"
    if memory.shared_bytes >= GB:
        yield f"{show_gb(memory.shared_bytes)} shared memory"
    if memory.oom_kills:
        yield f"the OOM killer has ended {_count(memory.oom_kills, 'process')}"
    for holder in memory.largest:
        if holder.size_bytes > notable:
            yield f"{show_gb(holder.size_bytes)} in {_name(holder.process)}"
    if memory.room_bytes is not None and memory.room_bytes < memory.available_bytes - notable:
        yield f"its cgroup allows only {show_gb(memory.room_bytes)} more"


def _name(process: Process) -> str:
    """A process in two words: its program and its pid."""
    word = process.cmdline[0] if process.cmdline else process.comm
    program = word.split()[0].rsplit("/", 1)[-1] if word.split() else process.comm
    return f"{program} ({process.pid})"


def indices(numbers: Sequence[int]) -> str:
    """GPU indices as `0-3, 6`."""
    return fold_names(str(number) for number in numbers).strip("[]").replace(",", ", ")


def _gpu_rows(gpus: GpuUse) -> Iterator[Row]:
    count = str(gpus.seen) if gpus.expected is None else f"{gpus.seen} of {gpus.expected}"
    if gpus.unread:
        yield Row(
            label="GPUs", says=f"{count} told of, memory unknown", note="what they hold could not be read"
        )
    else:
        yield _held_row(gpus, count)
    for action, numbers in gpus.actions.items():
        yield Row(says=f"driver asks for: {action}", note=f"GPU {indices(numbers)}")
    for index, texts in gpus.failing.items():
        yield Row(says=f"GPU {index} fails", note="; ".join(texts))
    for problem in gpus.problems:
        yield Row(says="nvidia-smi says", note=problem)


def _held_row(gpus: GpuUse, count: str) -> Row:
    held, total = show_gib(gpus.held_bytes).removesuffix(" GiB"), show_gib(gpus.total_bytes)
    return Row(
        label="GPUs",
        says=f"{count}, {held} of {total} held" if gpus.held_bytes else f"{count}, {total}, none held",
        note=_by_whom(gpus),
    )


def _by_whom(gpus: GpuUse) -> str:
    if gpus.holders is None:
        return "who holds them could not be read" if gpus.held_bytes else ""
    words = [] if len(gpus.holding) in {0, gpus.seen} else [f"on GPU {indices(gpus.holding)}"]
    if gpus.holders:
        words.append(f"{'by' if gpus.held_bytes else 'open in'} {', '.join(_holder_groups(gpus.holders))}")
    if gpus.ownerless:
        which = "" if gpus.ownerless == gpus.holding else f"GPU {indices(gpus.ownerless)} "
        words.append(f"{which}by nobody: no process has them open, only a reset frees it")
    return ", ".join(words)


def _holder_groups(holders: tuple[GpuHolder, ...]) -> Iterator[str]:
    kinds = Counter(holder.kind for holder in holders)
    for kind, number in kinds.items():
        if kind in {"process", "driver daemon"}:
            these = [holder for holder in holders if holder.kind == kind]
            named = [_name(one.process) if one.process else f"pid {one.pid}" for one in these[:3]]
            yield ", ".join(named) + (f" and {number - 3} more" if number > 3 else "")
        elif kind == "launcher":
            yield "the launcher"
        elif kind == "rank in D":
            yield "1 rank in D" if number == 1 else f"{number} ranks in D"
        else:
            yield _count(number, kind)


def _rank_rows(ranks: RankUse, *, kept: bool) -> Iterator[Row]:
    if ranks.zombies:
        yield Row(says=_count(len(ranks.zombies), "zombie"), note=_why_not_reaped(ranks, kept=kept))
    if ranks.ghosts:
        leaders = _count(len(ranks.ghosts), "zombie leader")
        yield Row(
            says=f"{leaders}, threads alive",
            note=f"memory, GPUs and port still held; ps shows 0 ({_pids(ranks.ghosts)})",
        )
    if ranks.stuck:
        yield Row(
            says=f"{len(ranks.stuck)} in D",
            note=f"waits inside the kernel; SIGKILL acts only when it returns ({_pids(ranks.stuck)})",
        )
    if ranks.live:
        of = f" of {ranks.expected}" if ranks.expected is not None else ""
        yield Row(says=f"{len(ranks.live)}{of} alive", note=f"pids {_pids(ranks.live)}")


def _pids(processes: Sequence[Process]) -> str:
    return fold_names(str(process.pid) for process in processes).strip("[]").replace(",", ", ")


def _why_not_reaped(ranks: RankUse, *, kept: bool) -> str:
    """Killing the parent is what helps, unless something starts it again at once (`kept`)."""
    if any(parent.pid == 1 for parent in ranks.negligent):
        return "their parent is PID 1, which does not reap them: they hold nothing, and go with the guest"
    if ranks.negligent:
        names = ", ".join(f"{parent.pid}" for parent in ranks.negligent)
        helps = "what starts it again goes first, then the parent" if kept else "kill the parent"
        return f"their parent {names} does not reap them: {helps}"
    return "their parent cannot be seen from here"


def _port_rows(port: PortUse, report: Report) -> Iterator[Row]:
    if port.listens is None:
        return
    if not port.listens:
        if report.summary.verdict not in {Verdict.IDLE, Verdict.UNCLEAN}:
            yield Row(label="port", says=f"{port.port} does not listen")
        return
    owners = ", ".join(_owner(process) for process in port.owners)
    says = f"{port.port} listens" + ("" if owners else ", no owner")
    note = f"held by {owners}" if owners else "no process that can be seen here has it open"
    if port.answer:
        note = f"{note}; {port.answer}"
    yield Row(label="port", says=says, note=note)


def _owner(process: Process) -> str:
    return f"zombie leader {process.pid}" if process.is_ghost_leader else _name(process)
