"""What must agree between the entries of an inventory. Works on readings, so that it also judges what is half right."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fleetops.inventory import definitions as keys
from fleetops.inventory import sweep_definitions as sweep_keys
from fleetops.inventory.document import Listing, Scalar
from fleetops.inventory.flags import FlagReading, flag_name, flag_problems
from fleetops.inventory.patterns import GroupsTooDeep, PatternError, match_term, nearest_hosts, select_names
from fleetops.inventory.problems import Mark, Problems, did_you_mean
from fleetops.inventory.record import Field, Reading
from fleetops.model.nodeset import split_list

_SET_BY_PROFILE = {"port": "port", "model": "model", "model_path": "model"}
_TENSOR = ("tp", "tp_size", "tensor_parallel_size")
_PIPELINE = ("pp", "pp_size", "pipeline_parallel_size")
_SEVERAL_NODES = ("nnodes", "dist_init_addr", "distributed_executor_backend")


@dataclass(frozen=True)
class Readings:
    """The entries of all files of one inventory, by name.

    `host_names` and `profile_names` hold also those whose entries could not be read, so that one mistake is not
    told again wherever the name is used.
    """

    nodes: Mapping[str, Reading]
    hypervisors: Mapping[str, Reading]
    profiles: Mapping[str, Reading]
    groups: Mapping[str, tuple[str, ...]]
    group_entries: Mapping[str, Any]
    node_names: tuple[str, ...]
    hypervisor_names: tuple[str, ...]
    profile_names: tuple[str, ...]

    @property
    def hosts(self) -> Iterator[tuple[str, Reading]]:
        """Nodes and hypervisors."""
        yield from self.nodes.items()
        yield from self.hypervisors.items()


def cross_check(readings: Readings, problems: Problems) -> None:
    """Add everything that does not agree."""
    _names_are_unique(readings, problems)
    _addresses_are_unique(readings, problems)
    _machine_ids_are_unique(readings, problems)
    _guests_are_unique(readings, problems)
    for name, node in readings.nodes.items():
        _guest_and_hypervisor(name, node, readings, problems)
        _profile_suits_node(name, node, readings, problems)
    for group, entry in readings.group_entries.items():
        _group(group, entry, readings, problems)
    for profile in readings.profiles.values():
        _flags(profile, problems)


def thresholds_check(thresholds: Reading | None, readings: Readings, problems: Problems) -> None:
    """The groups that they are for must be there."""
    for name, numbers in (thresholds.table(sweep_keys.BY_GROUP) if thresholds else {}).items():
        if name not in readings.group_entries:
            entry = numbers.entry
            problems.add(
                entry.key_mark,
                f"{entry.path}: there is no group `{name}`",
                hint=did_you_mean(name, readings.group_entries),
            )


def own_checks_check(checks: Mapping[str, Reading], readings: Readings, problems: Problems) -> None:
    """A number needs a line, a text a pattern; what is said of the other kind would count for nothing."""
    names = (*readings.node_names, *readings.hypervisor_names)
    for one in checks.values():
        read = one.get(sweep_keys.CHECK_READ)
        lines = [field for field in (sweep_keys.CHECK_WARNING, sweep_keys.CHECK_CRITICAL) if one.has(field)]
        if read == "number" and not lines:
            problems.add(one.entry.key_mark, f"{one.entry.path}: a number needs `warning` or `critical`")
        for field in lines if read != "number" else []:
            problems.add(one.mark(field), f"{one.path(field)}: is for `read: number`")
        if read == "text" and not one.has(sweep_keys.CHECK_PATTERN):
            problems.add(one.entry.key_mark, f"{one.entry.path}: a text needs a `pattern`")
        if read == "status" and one.has(sweep_keys.CHECK_PATTERN):
            problems.add(
                one.mark(sweep_keys.CHECK_PATTERN), f"{one.path(sweep_keys.CHECK_PATTERN)}: a status has none"
            )
        _must_select(one, sweep_keys.CHECK_HOSTS, names, readings, problems)


def policies_check(policies: Mapping[str, Reading], readings: Readings, problems: Problems) -> None:
    """The nodes that they are for must be there."""
    for one in policies.values():
        _must_select(one, sweep_keys.POLICY_NODES, readings.node_names, readings, problems)


def _must_select(
    one: Reading,
    field: Field[tuple[str, ...]],
    names: tuple[str, ...],
    readings: Readings,
    problems: Problems,
) -> None:
    patterns = one.get(field)
    try:
        select_names(patterns or (), names, readings.groups)
    except PatternError as error:
        problems.add(one.mark(field), f"{one.path(field)}: {error}", hint=error.hint)


def _names_are_unique(readings: Readings, problems: Problems) -> None:
    for name in set(readings.node_names) & set(readings.hypervisor_names):
        reading = readings.nodes.get(name)
        if reading:
            problems.add(reading.entry.key_mark, f"{reading.entry.path}: a hypervisor has this name too")


def _addresses_are_unique(readings: Readings, problems: Problems) -> None:
    seen: dict[tuple[str, int], str] = {}
    for name, host in readings.hosts:
        address, port = host.get(keys.ADDRESS), host.get(keys.PORT) or keys.DEFAULT_SSH_PORT
        if address:
            first = seen.setdefault((address.lower(), port), name)
            _add_shared(
                host, keys.ADDRESS, f"{address} port {port} is {first}'s too", first != name, problems
            )


def _machine_ids_are_unique(readings: Readings, problems: Problems) -> None:
    seen: dict[str, str] = {}
    for name, host in readings.hosts:
        if identity := host.get(keys.MACHINE_ID):
            first = seen.setdefault(identity.lower(), name)
            _add_shared(host, keys.MACHINE_ID, f"this machine-id is {first}'s too", first != name, problems)


def _guests_are_unique(readings: Readings, problems: Problems) -> None:
    """One number is one guest, whatever its kind: Proxmox counts containers and VMs together."""
    seen: dict[tuple[str, int], str] = {}
    for name, node in readings.nodes.items():
        hypervisor, guest = node.get(keys.HYPERVISOR_NAME), node.get(keys.GUEST_FIELD)
        number = guest.get(keys.GUEST_ID) if guest else None
        if hypervisor and number:
            first = seen.setdefault((hypervisor, number), name)
            message = f"guest {number} of {hypervisor} is {first} already"
            _add_shared(node, keys.GUEST_FIELD, message, first != name, problems)


def _add_shared(reading: Reading, field: Field[Any], message: str, shared: bool, problems: Problems) -> None:
    if shared:
        problems.add(reading.mark(field), f"{reading.path(field)}: {message}")


def _guest_and_hypervisor(name: str, node: Reading, readings: Readings, problems: Problems) -> None:
    hypervisor = node.get(keys.HYPERVISOR_NAME)
    if hypervisor and hypervisor not in readings.hypervisor_names:
        hint = nearest_hosts(hypervisor, readings.hypervisor_names)
        _add_unknown(node, keys.HYPERVISOR_NAME, f"there is no hypervisor `{hypervisor}`", hint, problems)
    if node.has(keys.GUEST_FIELD) and not node.has(keys.HYPERVISOR_NAME):
        hint = "add `hypervisor: NAME`, or leave `guest` out on bare metal"
        _add_unknown(node, keys.GUEST_FIELD, f"{name} is a guest, but of no hypervisor", hint, problems)
    if node.has(keys.HYPERVISOR_NAME) and not node.has(keys.GUEST_FIELD):
        hint = "add `guest: {kind: lxc, id: NUMBER}`, or leave `hypervisor` out on bare metal"
        _add_unknown(node, keys.HYPERVISOR_NAME, f"which guest {name} is there is not said", hint, problems)


def _add_unknown(reading: Reading, field: Field[Any], message: str, hint: str, problems: Problems) -> None:
    problems.add(reading.mark(field), f"{reading.path(field)}: {message}", hint=hint)


def _profile_suits_node(name: str, node: Reading, readings: Readings, problems: Problems) -> None:
    wanted = node.get(keys.PROFILE_NAME)
    if wanted and wanted not in readings.profile_names:
        hint = did_you_mean(wanted, readings.profile_names)
        _add_unknown(node, keys.PROFILE_NAME, f"there is no profile `{wanted}`", hint, problems)
    profile = readings.profiles.get(wanted or "")
    if profile is None:
        return
    engine, needs = node.get(keys.ENGINE), profile.get(keys.PROFILE_ENGINE)
    if engine and needs and engine != needs:
        message = f"profile `{wanted}` is for {needs}, and {name} runs {engine}"
        problems.add(node.mark(keys.PROFILE_NAME), f"{node.path(keys.PROFILE_NAME)}: {message}")
    gpus, ranks = node.get(keys.GPUS), profile.get(keys.RANKS)
    if gpus is not None and ranks and ranks > gpus and not _spans_nodes(profile):
        message = f"profile `{wanted}` has {ranks} ranks, and {name} {gpus} GPUs"
        problems.add(node.mark(keys.PROFILE_NAME), f"{node.path(keys.PROFILE_NAME)}: {message}")


def _spans_nodes(profile: Reading) -> bool:
    return any(flag_name(key) in _SEVERAL_NODES for key in profile.table(keys.FLAGS))


def _group(group: str, entry: Any, readings: Readings, problems: Problems) -> None:
    if not isinstance(entry, Listing):
        return
    names = (*readings.node_names, *readings.hypervisor_names)
    for item in entry.items:
        if isinstance(item, Scalar):
            _group_item(group, item, names, readings, problems)
    _group_is_not_empty(group, entry.key_mark, names, readings, problems)


def _group_item(
    group: str, item: Scalar, names: tuple[str, ...], readings: Readings, problems: Problems
) -> None:
    for part in split_list(item.text):
        nested = part.removeprefix("!").startswith("@")
        try:
            match_term(part, names, readings.groups, (group,))
        except PatternError as error:
            # What is wrong inside a nested group is told there, once; here only the reference itself is judged.
            told_there = nested and part.removeprefix("!").removeprefix("@") in readings.groups
            if not told_there or "itself" in str(error) or isinstance(error, GroupsTooDeep):
                problems.add(item.mark, f"{item.path}: {error}", hint=error.hint)


def _group_is_not_empty(
    group: str, mark: Mark, names: tuple[str, ...], readings: Readings, problems: Problems
) -> None:
    try:
        members = select_names(readings.groups.get(group, ()), names, readings.groups, (group,))
    except PatternError:
        return
    if not members:
        problems.add(mark, f"groups.{group}: no host is left in it")


def _flags(profile: Reading, problems: Problems) -> None:
    flags = profile.table(keys.FLAGS)
    for flag, message, hint in flag_problems(flags):
        problems.add(flag.entry.mark, f"{flag.entry.path}: {message}", hint=hint)
    for key, flag in flags.items():
        if owner := _SET_BY_PROFILE.get(flag_name(key)):
            problems.add(flag.entry.key_mark, f"{flag.entry.path}: set by the profile's `{owner}`")
    _ranks_agree(profile, {flag_name(key): flag for key, flag in flags.items()}, problems)


def _ranks_agree(profile: Reading, flags: Mapping[str, FlagReading], problems: Problems) -> None:
    """`ranks` counts worker processes, so the parallel sizes among the flags must multiply to it."""
    ranks = profile.get(keys.RANKS)
    sizes = [flags[name] for names in (_TENSOR, _PIPELINE) for name in names if name in flags]
    if ranks is None or not sizes:
        return
    tensor = next((flags[name].value for name in _TENSOR if name in flags), ranks)
    pipeline = next((flags[name].value for name in _PIPELINE if name in flags), 1)
    if not isinstance(tensor, int) or not isinstance(pipeline, int) or tensor * pipeline != ranks:
        place = sizes[0].entry
        message = (
            f"tensor-parallel {tensor} x pipeline-parallel {pipeline} is not the profile's {ranks} ranks"
        )
        problems.add(place.mark, f"{place.path}: {message}")
