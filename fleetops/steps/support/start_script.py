"""The script that starts a service on its node, detached from SSH: a transient unit where systemd runs, else a session."""

from fleetops.steps.support.scripts import START_OF

# What the service does first, as a file in its claim: it says who it is, and becomes the engine. Only this shell reads the
# service's environment, so a PATH or an LD_PRELOAD meant for it does nothing to any command of ours: once it is read, only
# what is built into a shell is used, and no variable of ours; who it is, is read before, as it may bring an IFS.
# $1 claim, $2 log, $3 umask, $4 folder; the rest is the service's argv.
_BEGIN = (
    START_OF
    + r"""
exec < /dev/null >> "$2" 2>&1
echo 500 2>/dev/null > /proc/$$/oom_score_adj
[ ! -e "$1/inherited" ] || . "$1/inherited"
exec 3< "$1/environment"
rm -f "$1/inherited" "$1/environment" "$1/begin"
cd "$4"
read -r FLEETOPS_LINE < /proc/$$/stat
set -- "$$ $(start_of "$FLEETOPS_LINE")" "$@"
while IFS= read -r FLEETOPS_LINE <&3; do export "$FLEETOPS_LINE"; done
exec 3<&-
command -v "$6" > /dev/null || { echo "$6: not found"; : > "$2/failed"; exit 127; }
echo "$1" > "$2/pid" || exit 1
umask "$4"
shift 5
exec "$@"
"""
)

_CLAIM = r"""
mask=$(umask)
umask 077
claim=$1 log=$2 record=$3 profile=$4 run=$5 port=$6 unit=$7 most=$8 engine=$9; shift 9
mkdir -p "${claim%/*}" "${log%/*}" "${record%/*}" || exit 1
mkdir "$claim" || { echo 'this start was submitted before'; exit 76; }
set -C
: > "$log" || exit 1
set +C
cat > "$claim/environment" || exit 1
give_up() {
    rm -f "$claim/environment" "$claim/inherited" "$claim/begin"
    if [ "$unit" ]; then systemctl stop "$unit"; systemctl reset-failed "$unit"; fi > /dev/null 2>&1
    echo "$1"; tail -n 5 "$log"
    exit 1
}
"""

# Everything that the connection gave its shell goes to the unit too, as it would to any child; systemd gives it nothing.
# systemd expands $NAME in the argv of what it runs, so each `$` is doubled for it.
_START_UNIT = r"""
    export -p > "$claim/inherited" || exit 1
    left=$#
    while [ $left -gt 0 ]; do
        rest=$1 word=
        while [ "$rest" != "${rest#*[$]}" ]; do word="$word${rest%%[$]*}"'$$' rest=${rest#*[$]}; done
        set -- "$@" "$word$rest"; shift; left=$((left - 1))
    done
    systemctl reset-failed "fleetops-$profile-*.service" 2>/dev/null
    version=$(systemctl --version | sed -n '1s/[^0-9]*\([0-9]*\).*/\1/p')
    [ "${version:-0}" -lt 243 ] || policy=--property=OOMPolicy=kill
    files=$(ulimit -Sn):$(ulimit -Hn)
    said=$(systemd-run --quiet --unit="$unit" --description="$profile, started by fleetops" \
        ${most:+--property=MemoryMax="$most"} --property=MemorySwapMax=0 ${policy:+"$policy"} \
        --property=OOMScoreAdjust=500 --property=KillMode=control-group --property=TasksMax=infinity \
        --property=LimitNOFILE="$files" --property=LimitMEMLOCK=infinity -- "$@" 2>&1) ||
        give_up "systemd-run failed: $(echo $said)"
"""

_RECORD = r"""
tries=0
while [ ! -s "$claim/pid" ] && [ ! -e "$claim/failed" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
read -r pid ticks 2>/dev/null < "$claim/pid" || give_up 'it did not begin'
[ -r "/proc/$pid/stat" ] || give_up 'it ended at once'
printf '{"profile": "%s", "run_id": "%s", "pid": %s, "start_ticks": %s, "port": %s, "log": "%s", "unit": "%s", "engine": "%s"}\n' \
    "$profile" "$run" "$pid" "$ticks" "$port" "$log" "$unit" "$engine" > "$record.new" && mv "$record.new" "$record" || exit 1
echo "$pid $ticks $unit"
"""

START = f"""
{_CLAIM}
cat > "$claim/begin" <<'BEGIN'
{_BEGIN}
BEGIN
set -- sh "$claim/begin" "$claim" "$log" "$mask" "$PWD" "$@"
if [ -d /run/systemd/system ] && command -v systemd-run > /dev/null; then
{_START_UNIT}
else
    unit=
    setsid "$@" < /dev/null > /dev/null 2>&1 &
fi
{_RECORD}
"""
"""$1 claim (a folder), $2 log, $3 record, $4 profile, $5 run id, $6 port, $7 unit, $8 MemoryMax in bytes ("" for none),
$9 engine; the rest is the service's argv. stdin: NAME=value lines for its environment, so that no secret stands in an argv: they lie
in the claim, which is root's alone and in memory, until the service has read them.

The claim makes a second submission of the same start do nothing (status 76); the log is always a new file. What fails
leaves nothing half started. Prints `PID START_TICKS UNIT`, the unit being empty where there is none."""
