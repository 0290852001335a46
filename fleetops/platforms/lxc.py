"""Containers: the Proxmox host owns the GPU driver, so the reset is issued there, after every user of the GPUs is gone.

Sources: facts/recovery.md A0, A1. GPUs are named by UUID (enumeration order may change between boots); persistence
mode counts as a client and blocks the reset, so it is switched off where it was on, and restored afterwards.
"""

from fleetops.model.command import shell
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.guest import CLAIMS
from fleetops.model.plan import Action
from fleetops.platforms.base import Platform

# A function-level reset of one GPU takes seconds, eight one after the other under a minute; a failing one needs more
# than 130 s until the kernel gives up (facts/recovery.md A3).
RESET_DEADLINE_S = 180.0


# $1 the GPUs to reset, $2 those of them whose persistence mode is on now ("" for none), $3 a folder for the lock.
# The lock is held by this shell and all that it starts: while an earlier reset lives, whoever sent it, there is no second
# (status 75).
# One call, so that it runs to its end on the host when the controller or its connection dies, and persistence mode comes
# back in every case. nvidia-smi runs beside the shell: a deadline's TERM is acted on while it hangs.
_RESET = r"""
gpus=$1 kept=$2 code=1
mkdir -p "$3" && exec 9> "$3/reset-gpus.lock" || exit 1
flock -n 9 || { echo 'an earlier reset is still running' >&2; exit 75; }
beside() { "$@" & wait $!; }
ended() {
    trap '' TERM INT
    trap - EXIT
    if [ -n "$kept" ] && ! nvidia-smi -pm 1 -i "$kept" >&2; then echo 'persistence mode NOT restored' >&2; code=1; fi
    exit "$code"
}
trap '' HUP
trap ended EXIT
trap 'code=143; exit' TERM INT
if [ -n "$kept" ]; then
    beside nvidia-smi -pm 0 -i "$kept" >&2 || { echo 'persistence mode could not be switched off' >&2; exit; }
fi
beside nvidia-smi --gpu-reset -i "$gpus"; code=$?
exit
"""


def reset_host(observation: Observation) -> str:
    """The Proxmox host."""
    return observation.node.hypervisor


def own_gpus(observation: Observation) -> tuple[Gpu, ...]:
    """The GPUs on the host whose device files the container is configured with."""
    node = observation.node
    facts = observation.hypervisor_facts or Facts(node.hypervisor, 0.0)
    seen, claims = facts.get(GPUS), facts.get(CLAIMS)
    if isinstance(seen, Missing):
        raise _unknown(observation, "the GPUs", seen)
    if isinstance(claims, Missing):
        raise _unknown(observation, "which guests use which GPUs", claims)
    own = next((claim for claim in claims if node.guest and claim.guest_id == node.guest.id), None)
    if own is None:
        return ()
    return tuple(gpu for gpu in seen.gpus if own.minors is None or gpu.minor in own.minors)


def _unknown(observation: Observation, what: str, missing: Missing) -> Refused:
    host = observation.node.hypervisor
    return Refused(
        f"{what} could not be read on {host or 'its hypervisor'} ({missing})", guard="tenants", host=host
    )


def reset(observation: Observation, gpus: tuple[Gpu, ...]) -> Action:
    """Persistence off where it is on, the reset, persistence on again where it was: in one call on the host."""
    kept = tuple(gpu for gpu in gpus if gpu.persistence)
    command = shell(
        _RESET,
        _ids(gpus),
        _ids(kept),
        "/run/fleetops",
        name="fleetops-reset-gpus",
        deadline_s=RESET_DEADLINE_S,
        changes=True,
        root=True,
    )
    return Action(host=reset_host(observation), command=command, why=f"reset {len(gpus)} GPUs")


def _ids(gpus: tuple[Gpu, ...]) -> str:
    return ",".join(gpu.uuid for gpu in gpus)


PLATFORM = Platform(
    kind="lxc",
    guards=("identity", "protected", "proxmox-lock", "proxmox-task", "ha", "tenants", "display", "mig"),
    reset_host=reset_host,
    gpus=own_gpus,
    reset=reset,
)
