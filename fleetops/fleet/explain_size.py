"""What a flag's number comes to on a node: its profile's value, the node's memory, and what would fit."""

from fleetops.engines import engines
from fleetops.model.explained import NodeSize
from fleetops.model.fleet import AUTO, Flag, Profile
from fleetops.model.proof import Explanation
from fleetops.sizing.budget import Rooms, budget
from fleetops.sizing.meaning import meaning_of
from fleetops.steps.support.launching import ranks_on_node


def node_size(explanation: Explanation, profile: Profile | None, rooms: Rooms) -> NodeSize | None:
    """None where nothing is proven, no profile of this engine belongs to the node, or the unit has no size in bytes.

    The model is not looked at, so that the worst case of its pools counts; a container's hypervisor is not asked.
    `fleetops size` does both.
    """
    if not explanation.is_proven or profile is None or profile.engine != explanation.engine:
        return None
    meaning = meaning_of(explanation, model_config=None)
    if meaning.bytes_per_unit is None or meaning.scope is None or not rooms.rooms:
        return None
    flag = profile.flag(explanation.flag) or Flag(name=explanation.flag, value=AUTO)
    beside = (one for one in _memory_flags(profile) if one.name != flag.name)
    ranks = ranks_on_node(profile)
    found = budget(profile, rooms, flags=(flag, *beside), meanings={flag.name: meaning}, ranks=ranks)
    size, room = found.sizes[0], found.room
    asked = None if flag.value == AUTO else size.value
    return NodeSize(
        profile=profile.name,
        ranks=ranks,
        unit=explanation.unit,
        asked=asked,
        asked_bytes=None if asked is None else size.total_bytes,
        available_bytes=room.size_bytes if room else 0,
        fits=size.fits,
    )


def _memory_flags(profile: Profile) -> tuple[Flag, ...]:
    found = next((one for one in engines() if one.name == profile.engine), None)
    return found.host_memory_flags(profile) if found else ()
