"""Who beside fleetops starts a service on the profile's port: a second one would come, now or at the next start of the node.

The rule (docs/decisions/0006): beside one that is up nothing is started; one that is down and would come again by itself is
the one that starts the service, or nobody is. Nothing is ever launched into a container.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from fleetops.engines.attribution import attribute
from fleetops.engines.support.command_line import file_name, read_flags
from fleetops.engines.support.in_force import said
from fleetops.engines.support.supervisors import OURS, container_title, unit_title
from fleetops.model.errors import Refused
from fleetops.model.fact import Missing
from fleetops.model.fleet import Profile
from fleetops.model.secrets import mask_argv
from fleetops.model.supervisor import SUPERVISORS, Container, Supervisor, Supervisors, Unit
from fleetops.steps.support.base import Situation
from fleetops.steps.support.launching import engine_of, launch_values
from fleetops.steps.support.supervising import GUARD
from fleetops.steps.support.waiting import WAITS, serves, waiting

_RUNTIMES = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_PLAIN_FOLDERS = frozenset({"", ".", "/usr/bin", "/bin", "/usr/local/bin"})
_HOME = frozenset({"", "/", "/root", "~", "!/root", "!~"})
_SAME = {"tp_size": "tp", "tensor_parallel_size": "tp", "model": "model_path"}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A unit or container that runs a service on the profile's port, or did when the run began."""

    title: str
    is_up: bool
    unit: Unit | None = None
    container: Container | None = None


def refusal(situation: Situation, profile: Profile, *, sized: bool = True) -> Refused | None:
    """Why nothing may be started here as things stand; None where nothing stands against it.

    What a unit of the operator's would start is compared only once the profile's sizes are known (`sized`).
    """
    node = situation.node_name
    if runtime := next((word for word in profile.command if file_name(word) in _RUNTIMES), ""):
        return _refused(
            situation,
            f"profile {profile.name} is started by {file_name(runtime)}, and fleetops does not launch into a container yet",
            f"start it on {node} by hand; fleetops probe, kill and recover --no-relaunch know it there",
        )
    found = situation.observation.node_facts.get(SUPERVISORS)
    if isinstance(found, Missing):
        why = f"whether something else starts a service on {node} could not be read ({found})"
        return _refused(situation, why, f"fleetops probe {node}")
    reasons = (
        _against(situation, profile, one, sized=sized) for one in _contenders(situation, profile, found)
    )
    return next((reason for reason in reasons if reason), None)


def to_stop(situation: Situation) -> tuple[Supervisor, ...]:
    """What starts the service again, outermost first: what keeps a living one, and what waits to start one that has ended."""
    keeping, profile = situation.attribution.supervisors, situation.profile
    if profile is None:
        return keeping
    return (*keeping, *waiting(situation.observation, profile))


def _is_ours(unit: Unit) -> bool:
    return unit.name.startswith(OURS)


def keeper(situation: Situation, profile: Profile) -> Unit | None:
    """The operator's unit by which the service is to be started; None where fleetops starts it itself."""
    found = situation.observation.node_facts.value(SUPERVISORS)
    others = _contenders(situation, profile, found) if found else ()
    return next((one.unit for one in others if one.unit and not one.is_up), None)


def _against(situation: Situation, profile: Profile, one: Contender, *, sized: bool) -> Refused | None:
    node = situation.node_name
    if one.is_up:
        how = f" ({one.unit.sub})" if one.unit else ""
        why = f"{one.title} on {node} is up{how}: it would start a second service on port {profile.port}"
        return _refused(
            situation, why, f"fleetops recover {node} stops the service through it; or stop it yourself"
        )
    if one.container:
        why = (
            f"the service on port {profile.port} of {node} is {one.title}, and fleetops does not launch into a container"
            " yet; it is stopped, and the node is left as it is"
        )
        return _refused(situation, why, _start_again(one.container))
    if one.unit and sized and (differs := differences(situation, profile, one.unit)):
        why = (
            f"{one.title} starts the service on port {profile.port} of {node}, and not as profile {profile.name} says:"
            f" {'; '.join(differs)}; it is left stopped"
        )
        mend = f"edit {one.unit.file or one.unit.name} or the profile, then fleetops recover {node}"
        return _refused(
            situation, why, f"{mend}; or disable the unit, and fleetops launches the profile itself"
        )
    return None


def _start_again(one: Container) -> str:
    if one.removes:
        return "it was started with --rm, so it is gone: start it anew as it was, with sizes that fit"
    name = one.name or one.id[:12]
    return f"{one.runtime} start {name} brings it back as it was; remove it, and fleetops launches the profile itself"


def _refused(situation: Situation, why: str, hint: str) -> Refused:
    return Refused(why, guard=GUARD, host=situation.node_name, hint=hint)


def _contenders(situation: Situation, profile: Profile, found: Supervisors) -> Iterator[Contender]:
    """Those that run this port's service by their command line, and those that kept the service when the run began.

    What the run stops itself counts as down in a plan: by the time of the start it is.
    """
    before = (*attribute(situation.before).supervisors, *waiting(situation.before, profile))
    stopped = to_stop(situation) if situation.service_ends_before else ()
    units = {_key(one): one for one in found.units if not _is_ours(one)}
    kept_units = {
        _key(one.unit): replace(one.unit, active="inactive", sub="dead") for one in before if one.unit
    }
    for key, unit in {**kept_units, **units}.items():
        is_up = unit.is_up and key not in {_key(one.unit) for one in stopped if one.unit}
        comes = serves(unit.command, profile) and (is_up or unit.enabled.startswith("enabled"))
        if comes or key in kept_units:
            yield Contender(title=unit_title(unit), is_up=is_up, unit=unit)
    kept = {one.container.id: replace(one.container, status="gone") for one in before if one.container}
    for id_, container in {**kept, **{one.id: one for one in found.containers}}.items():
        is_up = container.is_up and id_ not in {one.container.id for one in stopped if one.container}
        comes = serves(container.command, profile) and (is_up or container.restart == "always")
        if comes or id_ in kept:
            yield Contender(title=container_title(container), is_up=is_up, container=container)
    if not situation.service_ends_before:
        loops = (one for one in waiting(situation.observation, profile) if one.shells)
        yield from (Contender(title=one.title.removesuffix(WAITS), is_up=True) for one in loops)


def _key(unit: Unit) -> tuple[str, int | None]:
    return unit.name, unit.uid


def differences(situation: Situation, profile: Profile, unit: Unit) -> tuple[str, ...]:
    """How the unit would start the service otherwise than the profile, with the sizes that fit; nothing where it is the same."""
    wanted = engine_of(situation).argv(profile, launch_values(situation))
    head, flags = _parted(" ".join(wanted).split())
    its_head, its_flags = _parted(list(unit.command))
    found = [] if head == its_head else [f"it runs `{_typed(its_head)}`, not `{_typed(head)}`"]
    found += [
        f"{said(name, its_flags)} where the profile has {said(name, flags)}"
        for name in sorted({*flags, *its_flags})
        if flags.get(name) != its_flags.get(name)
    ]
    environment = {f"{name}={value}" for name, value in profile.environment.items()}
    if environment != set(unit.environment):
        found.append("its environment is another")
    if unit.user not in {"", "root"} or unit.uid is not None:
        found.append(f"it runs as {unit.user or f'uid {unit.uid}'}")
    if unit.directory not in _HOME:
        found.append(f"it runs in {unit.directory}, where Python looks for packages first")
    return tuple(found)


def _parted(words: list[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """A server's program and its flags; a program by its bare name where it lies in a folder that PATH has anyway."""
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    head = [*words[:first]]
    if head and str(PurePosixPath(head[0]).parent) in _PLAIN_FOLDERS:
        head[0] = file_name(head[0])
    return tuple(head), {_SAME.get(name, name): value for name, value in read_flags(words[first:]).items()}


def _typed(words: tuple[str, ...]) -> str:
    return " ".join(mask_argv(words))
