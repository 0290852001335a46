"""Does a launch fit, and what does it hold: on nodes with what is proven and read there, or offline with what is given."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fleetops.checks import judge
from fleetops.fleet.observe import observe
from fleetops.fleet.probe import Memory
from fleetops.fleet.prove import (
    Running,
    explain_with,
    explained,
    read_draft_config,
    read_model_config,
    source_to_run,
)
from fleetops.fleet.read import Sessions
from fleetops.fleet.size_given import Given, sized_flags
from fleetops.model.command import Command, Outcome
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit, worst
from fleetops.model.finding import Observation
from fleetops.model.fleet import Flag, Inventory, Node, Profile
from fleetops.model.machine import MEMORY
from fleetops.model.proof import Explanation
from fleetops.model.size import DOES_NOT_FIT, FITS, Sizing
from fleetops.sizing.answer import answer
from fleetops.sizing.budget import Room, Rooms
from fleetops.sizing.question import Question
from fleetops.source.packages import packages
from fleetops.ssh.fanout import fan_out
from fleetops.steps.support.base import Situation
from fleetops.steps.support.launching import ranks_on_node, rooms_for
from fleetops.store.proofs import Proofs

Ask = Callable[[Command], Outcome]


def size_offline(profile: Profile, given: Given) -> Sizing:
    """The answer from what is given alone; no host is asked.

    Raises FleetopsError where the source that was named cannot be read.
    """
    wanted = given.applied(profile)
    flags = sized_flags(wanted, given.flag)
    explained = {flag.name: given.explain(flag.name) for flag in flags} if given.explain else {}
    found = answer(_question(wanted, given, flags=flags, explanations=explained, rooms=_given_rooms(given)))
    return replace(found, next=_next(found, given))


def size_nodes(
    sessions: Sessions,
    inventory: Inventory,
    nodes: Sequence[Node],
    profile: Profile | None,
    given: Given,
    *,
    records: Memory,
    proofs: Proofs,
    on_answer: Callable[[set[str]], None] = lambda _: None,
) -> tuple[Sizing, ...]:
    """One answer for each node, in the order of `nodes`; a node that cannot be asked has one that says why.

    `profile` is sized on all of them; without one, each node's own. `on_answer` hears which nodes are still awaited.
    """

    def work(node: Node) -> Sizing:
        wanted = profile or inventory.profiles[node.profile]
        return _size_node(sessions, inventory, node, wanted, given, records=records, proofs=proofs)

    found: dict[str, Sizing] = {}
    for result in fan_out(nodes, work):
        error = result.error or FleetopsError(f"{result.item.name} gave no answer")
        found[result.item.name] = result.value or Sizing(
            host=result.item.name, engine=result.item.engine, error=error.message, hint=error.hint
        )
        on_answer({node.name for node in nodes} - set(found))
    return tuple(found[node.name] for node in nodes)


def exit_code(sizings: Sequence[Sizing]) -> Exit:
    """The worst of all answers: 5 where one does not fit, 3 where one is unproven or unreachable."""
    return worst(sizing.exit_code for sizing in sizings)


def _size_node(
    sessions: Sessions,
    inventory: Inventory,
    node: Node,
    profile: Profile,
    given: Given,
    *,
    records: Memory,
    proofs: Proofs,
) -> Sizing:
    """Look at the node, and size on what is seen. Raises FleetopsError where it does not answer."""
    known = replace(node, machine_id=node.machine_id or records.machine_id(node.name))
    wanted = given.applied(profile)
    observation = observe(
        sessions,
        inventory,
        known,
        profile=wanted,
        baseline=records.baseline(node.name),
        peers=records.baselines(),
    )
    if quiet := observation.silence:
        raise FleetopsError(f"{node.name} could not be asked: {quiet.why}", hint=quiet.hint, host=node.name)
    ask = sessions.session(node).run
    return size_observed(ask, inventory, observation, given, records=records, proofs=proofs)


def size_observed(
    ask: Ask, inventory: Inventory, observation: Observation, given: Given, *, records: Memory, proofs: Proofs
) -> Sizing:
    """The answer for the profile of an observation: prove its source, read its model. `ask` runs commands on the node."""
    node, wanted = observation.node, observation.profile
    if wanted is None:
        raise FleetopsError(f"no profile says what runs on {node.name}", host=node.name)
    situation = Situation(
        inventory=inventory,
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="",
    )
    flags = sized_flags(wanted, given.flag)
    config, draft = _configs(wanted, given, ask)
    found_rooms = _given_rooms(given) if given.available_bytes is not None else rooms_for(situation)
    question = _question(
        wanted,
        replace(
            given,
            config=config,
            draft_config=draft,
            device_tokens=_device_tokens(node, wanted, given, records),
        ),
        flags=flags,
        explanations=_explanations(
            situation, wanted, [flag.name for flag in flags], given, ask=ask, proofs=proofs
        ),
        rooms=found_rooms,
    )
    found = answer(
        replace(
            question,
            host=node.name,
            release=_release(observation),
            available_bytes=given.available_bytes or _own_available(observation, found_rooms),
        )
    )
    return replace(found, next=_next(found, given))


def _next(found: Sizing, given: Given) -> str:
    """What to type next."""
    words, size = ["--profile", found.profile, *([found.host] if found.host else ())], found.size
    if found.contradicted and found.host:
        return shlex.join(["fleetops", "explain", found.contradicted[0], found.host])
    launch = shlex.join(["fleetops", "launch", *words])
    if found.verdict == FITS:
        changed = [name for name in given.settings if size and name == size.name]
        named = (
            f"set it to {found.asked:g} in profile {found.profile}, then " if changed and found.asked else ""
        )
        return f"{named}{launch}" if found.host else ""
    if found.verdict == DOES_NOT_FIT:
        if not size or not size.fits:
            return f"fleetops probe {found.host}" if found.host else ""
        setting = f"{size.name}={size.fits}"
        if not found.host:
            return f"the same with --set {setting}"
        return shlex.join(["fleetops", "size", "--profile", found.profile, "--set", setting, found.host])
    if found.flag and any(found.flag in doubt and "proven" in doubt for doubt in found.doubts) and found.host:
        return shlex.join(["fleetops", "explain", found.flag, found.host])
    if not found.host:
        return "the same with --available BYTES" if given.available_bytes is None and not found.doubts else ""
    return "" if found.doubts else f"fleetops probe {found.host}"


def _own_available(observation: Observation, found: Rooms) -> int | None:
    """What the engine will see on the node itself: the first of the rooms, where its memory could be read."""
    return found.rooms[0].size_bytes if observation.node_facts.value(MEMORY) and found.rooms else None


def _release(observation: Observation) -> str:
    source = observation.node_facts.value(ENGINE_SOURCE)
    return source.version if source else ""


def _explanations(
    situation: Situation, profile: Profile, names: Sequence[str], given: Given, *, ask: Ask, proofs: Proofs
) -> Mapping[str, Explanation]:
    """What the source that was named, or the one that the profile's interpreter would import, shows of the flags."""
    if given.explain:
        return {name: given.explain(name) for name in names}
    if not names:
        return {}
    try:
        running = source_to_run(situation, profile, ask)
    except FleetopsError as error:
        running = Running(doubt=error.message)
    return explained(names, profile, running, ask, explain_with(proofs))


def _configs(
    profile: Profile, given: Given, ask: Ask
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """config.json of the model and of its draft, as given or as they lie on the node."""
    config = given.config or read_model_config(profile, ask)
    return config, given.draft_config or read_draft_config(profile, ask)


def _device_tokens(node: Node, profile: Profile, given: Given, records: Memory) -> int | None:
    """As given, else as the last launch of the same profile on this node has shown."""
    if given.device_tokens is not None:
        return given.device_tokens
    last = records.last_launch(node.name)
    return last.capacity.device_tokens if last and last.profile == profile.name else None


def _given_rooms(given: Given) -> Rooms:
    if given.available_bytes is None:
        return Rooms(rooms=(), unknown=("how much memory is available",))
    return Rooms(rooms=(Room(label="available, as given", size_bytes=given.available_bytes),))


def _question(
    profile: Profile,
    given: Given,
    *,
    flags: tuple[Flag, ...],
    explanations: Mapping[str, Explanation],
    rooms: Rooms,
) -> Question:
    return Question(
        profile=profile,
        flags=flags,
        flag=flags[0].name if flags else None,
        explanations=explanations,
        rooms=rooms,
        ranks=given.ranks or ranks_on_node(profile),
        tensor=None if given.ranks else profile.ranks,
        config=given.config,
        draft_config=given.draft_config,
        available_bytes=given.available_bytes,
        device_tokens=given.device_tokens,
        title=_title(profile.engine),
    )


def _title(engine: str) -> str:
    return next((one.title for one in packages() if one.name == engine), engine)
