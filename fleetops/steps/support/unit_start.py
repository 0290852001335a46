"""Starting a service by the operator's own unit, as its owner wants it started, and watched like any other launch.

Until the launch is proven the unit does not restart it (`Restart=no` in a drop-in under /run): what the memory guard ends
must not come again unguarded. The drop-in is taken away when the launch has ended, well or not; and by the node itself
when its time is over, where nobody is left who could.
"""

from fleetops.model.command import Command, shell
from fleetops.model.fleet import Profile
from fleetops.model.plan import Action
from fleetops.model.supervisor import Unit
from fleetops.steps.support.base import Desk, Situation
from fleetops.steps.support.launching import log_path, record_path
from fleetops.steps.support.memory_guard.commands import armed_at_most_s
from fleetops.steps.support.scripts import START_OF
from fleetops.steps.support.starting import start_claim

_MEMO = "held-unit"

_DROP = r"""
let_go() { rm -f "$1"; rmdir "${1%/*}" 2>/dev/null; systemctl daemon-reload; }
"""

# systemd tells that a unit's output is appended, not whereto: that stands in its file.
# $1 claim, $2 log, $3 record, $4 profile, $5 run id, $6 port, $7 unit, $8 how many seconds it is held at the most.
# Prints `PID START_TICKS UNIT`, as every start does.
_START = (
    START_OF
    + _DROP
    + r"""
umask 077
claim=$1 log=$2 record=$3 profile=$4 run=$5 port=$6 unit=$7 most=$8
hold=/run/systemd/system/$unit.d/90-fleetops-$run.conf
shown() { systemctl show --property="$1" --value -- "$unit"; }
fail() { echo "$1"; let_go "$hold"; exit 1; }
target() {
    kind=$(shown "$1")
    case $kind in
    inherit) ;;
    append | truncate) echo "$kind:$(systemctl cat -- "$unit" | sed -n "s/^$1=$kind://p" | tail -n 1)" ;;
    *) echo "$kind" ;;
    esac
}
logs=$({ target StandardOutput; target StandardError; } | sort -u)
for one in $logs; do
    case $one in *%*) ;; journal | append:/* | truncate:/*) continue ;; esac
    echo "$unit writes its log to $one, which cannot be followed"; exit 1
done
mkdir -p "${claim%/*}" "${log%/*}" "${record%/*}" "${hold%/*}" || exit 1
mkdir "$claim" || { echo 'this start was submitted before'; exit 76; }
set -C
: > "$log" || exit 1
set +C
printf '[Service]\nRestart=no\n' > "$hold" && chmod 644 "$hold" && chmod 755 "${hold%/*}" || fail 'it could not be held'
systemctl daemon-reload || fail 'systemd did not read its units again'
setsid sh -c 'sleep "$1"; rm -f "$2"; rmdir "${2%/*}" 2>/dev/null; systemctl daemon-reload' fleetops-hold "$most" "$hold" \
    < /dev/null > /dev/null 2>&1 &
sizes=$(for one in $logs; do stat -c %s "${one#append:}" 2>/dev/null || echo 0; done)
systemctl reset-failed -- "$unit" 2>/dev/null
said=$(systemctl start --no-block -- "$unit" 2>&1) || fail "$said"
tries=0 pid=0
while [ "$pid" = 0 ] && [ "$(shown ActiveState)" != failed ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1)); sleep 0.1; pid=$(shown MainPID)
done
ticks=$(start_of "$(cat "/proc/$pid/stat" 2>/dev/null)")
if [ "$pid" = 0 ] || [ -z "$ticks" ]; then systemctl stop -- "$unit"; fail "it ended at once ($(shown Result))"; fi
set -- $sizes
for one in $logs; do
    case $one in
    journal) setsid timeout "$most" journalctl --quiet --follow --lines=all --output=cat "_SYSTEMD_INVOCATION_ID=$(shown InvocationID)" ;;
    append:*) setsid timeout "$most" tail -c "+$(($1 + 1))" -F -- "${one#append:}" ;;
    *) setsid timeout "$most" tail -c +1 -F -- "${one#truncate:}" ;;
    esac < /dev/null >> "$log" 2> /dev/null &
    shift
done
echo "$pid $ticks" > "$claim/pid" || fail 'its claim could not be written'
printf '{"profile": "%s", "run_id": "%s", "pid": %s, "start_ticks": %s, "port": %s, "log": "%s", "unit": "%s"}\n' \
    "$profile" "$run" "$pid" "$ticks" "$port" "$log" "$unit" > "$record.new" && mv "$record.new" "$record" || exit 1
echo "$pid $ticks $unit"
"""
)

# $1 unit, $2 run id.
_LET_GO = _DROP + r"""let_go "/run/systemd/system/$1.d/90-fleetops-$2.conf" """


def start_unit(situation: Situation, profile: Profile, unit: Unit) -> Command:
    """Start it, its log followed into the launch's own, its Restart= held back for as long as the launch may take."""
    held_s = round(armed_at_most_s(profile))
    return shell(
        _START,
        start_claim(situation),
        log_path(situation),
        record_path(profile),
        profile.name,
        situation.run_id,
        str(profile.port),
        unit.name,
        str(held_s),
        name="fleetops-start-unit",
        changes=True,
        root=True,
        deadline_s=40.0,
    )


def hold(desk: Desk, unit: Unit) -> None:
    """Remember that this run holds the unit's Restart= back."""
    desk.memo[_MEMO] = unit.name


def let_go(desk: Desk) -> None:
    """Give the unit its Restart= back, where this run holds it."""
    if unit := desk.memo.pop(_MEMO, ""):
        command = shell(
            _LET_GO,
            unit,
            desk.situation.run_id,
            name="fleetops-let-go",
            changes=True,
            root=True,
            deadline_s=30.0,
        )
        why = f"{unit} restarts its service again as it did"
        desk.restore(Action(host=desk.situation.node_name, command=command, why=why))
