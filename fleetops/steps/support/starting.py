"""Where a start leaves its traces on the node, and what its unit may take."""

from fleetops.model.machine import PROCESSES
from fleetops.steps.support.base import Situation
from fleetops.steps.support.launching import LOG_FOLDER, budget_for, profile_of

_CLAIMS = "/run/fleetops/claims"


def start_claim(situation: Situation) -> str:
    """The folder that a start makes and nobody else; its file `pid` names the service: `PID START_TICKS`."""
    return f"{_CLAIMS}/{situation.run_id}.start-service"


def guard_log_path(situation: Situation) -> str:
    """The memory guard's own log, in a folder beside the services' logs."""
    return guard_log_of(profile_of(situation).name, situation.run_id)


def guard_log_of(profile: str, run_id: str) -> str:
    """The same of an earlier launch."""
    return f"{LOG_FOLDER}/guard/{profile}-{run_id}.log"


def unit_name(situation: Situation) -> str:
    """The systemd unit that a start makes where systemd runs; names of profiles and runs hold nothing it could not bear."""
    return f"fleetops-{profile_of(situation).name}-{situation.run_id}.service"


def runs_systemd(situation: Situation) -> bool:
    """Whether the node's first process is systemd; the start itself looks for systemd-run as well."""
    table = situation.observation.node_facts.value(PROCESSES) or ()
    return any(process.pid == 1 and process.comm == "systemd" for process in table)


def memory_max_bytes(situation: Situation) -> int | None:
    """What the unit may take: what is available now, less the floor; None where that is not known."""
    room = budget_for(situation).room
    floor_bytes = profile_of(situation).host_memory.floor_bytes
    return max(floor_bytes, room.size_bytes - floor_bytes) if room else None


def sizes_asked(situation: Situation) -> str:
    """The launch's sizes in few words: `8 x 300 GB`."""
    return " + ".join(size.arithmetic for size in budget_for(situation).sizes)
