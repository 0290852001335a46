"""The one call that resets GPUs, wherever their driver lives.

One call, so that it runs to its end on the host when the controller or its connection dies, and persistence mode and the
stopped services come back in every case (decision 0004).
"""

from fleetops.model.command import shell
from fleetops.model.gpu import Gpu
from fleetops.model.plan import Action

# A function-level reset of one GPU takes seconds, eight one after the other under a minute; a failing one needs more
# than 130 s until the kernel gives up (facts/recovery.md A3).
RESET_DEADLINE_S = 180.0
# DCGM and exporters take some seconds each to stop and to start.
SERVICE_S = 15.0

NOT_RESTORED = "NOT restored"
"""What the call says where something could not be put back."""

# In the argv: sh -c SCRIPT NAME GPUS KEPT FOLDER UNIT ...
_UNITS_FROM = 7

# $1 the GPUs to reset, $2 those of them whose persistence mode is on now ("" for none), $3 a folder for the lock; the rest
# are systemd units to stop meanwhile.
# The lock is held by this shell and all that it starts: while an earlier reset lives, whoever sent it, there is no second
# (status 75). nvidia-smi and systemctl run beside the shell: a deadline's TERM is acted on while they hang, and then
# systemd is only told to start the units, not waited for. Nobody may hear it any more: what they print lies in a file first.
_RESET = r"""
gpus=$1 kept=$2 run=$3 stopped= hurry= code=1
shift 3
mkdir -p "$run" && exec 9> "$run/reset-gpus.lock" || exit 1
flock -n 9 || { echo 'an earlier reset is still running' >&2; exit 75; }
said=$run/reset-gpus.said
: 2> /dev/null > "$said" || said=/dev/null
quietly() { "$@" > "$said" 2>&1; set -- "$?"; cat "$said"; return "$1"; }
beside() { "$@" > "$said" 2>&1 & wait $!; set -- "$?"; cat "$said"; return "$1"; }
ended() {
    trap '' TERM INT
    trap - EXIT
    if [ -n "$stopped" ] && ! quietly systemctl $hurry start -- $stopped >&2; then echo "services NOT restored: $stopped" >&2; code=1; fi
    if [ -n "$kept" ] && ! quietly nvidia-smi -pm 1 -i "$kept" >&2; then echo 'persistence mode NOT restored' >&2; code=1; fi
    exit "$code"
}
trap '' HUP PIPE
trap ended EXIT
trap 'code=143 hurry=--no-block; exit' TERM INT
for unit in "$@"; do
    systemctl --quiet is-active -- "$unit" || continue
    stopped="$stopped $unit"
    beside systemctl stop -- "$unit" >&2 || { echo "$unit could not be stopped" >&2; exit; }
done
if [ -n "$kept" ]; then
    beside nvidia-smi -pm 0 -i "$kept" >&2 || { echo 'persistence mode could not be switched off' >&2; exit; }
fi
beside nvidia-smi --gpu-reset -i "$gpus"; code=$?
exit
"""


def reset_action(host: str, gpus: tuple[Gpu, ...], units: tuple[str, ...]) -> Action:
    """Services and persistence off where they are on, the reset, both on again where they were.

    GPUs are named by UUID: enumeration order may change between boots.
    """
    command = shell(
        _RESET,
        _ids(gpus),
        _ids(tuple(gpu for gpu in gpus if gpu.persistence)),
        "/run/fleetops",
        *units,
        name="fleetops-reset-gpus",
        deadline_s=RESET_DEADLINE_S + 2 * SERVICE_S * len(units),
        changes=True,
        root=True,
    )
    meanwhile = f", {', '.join(units)} stopped meanwhile" if units else ""
    return Action(host=host, command=command, why=f"reset {len(gpus)} GPUs{meanwhile}")


def units_of(action: Action) -> tuple[str, ...]:
    """The units that such an action stops and starts again."""
    return action.command.argv[_UNITS_FROM:]


def _ids(gpus: tuple[Gpu, ...]) -> str:
    return ",".join(gpu.uuid for gpu in gpus)
