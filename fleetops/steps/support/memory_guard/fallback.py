"""The guard for a node that has no Python at all: a loop of the shell, with what a shell can do.

Its limits: it looks at MemAvailable alone, some fifteen times a second; it is not locked in memory, and each look starts
a `sleep`; of processes that left the launcher's session it finds those whose parents live. It says so in its notes.
"""

from fleetops.steps.support.scripts import START_OF

# $1 the files' common path, $2 run id, $3 profile, $4 floor in kB, $5 armed for how many seconds, $6 the start's claim,
# $7 within how many seconds a service must come.
FALLBACK = (
    START_OF
    + r"""
base=$1 run=$2 profile=$3 floor=$4 armed_for=$5 claim=$6 within=$7
mode=armed killed=null ended= service=null pid= looks=0 lowest=
read -r stat < "/proc/$$/stat"; own=$(start_of "$stat")
echo -1000 2>/dev/null > "/proc/$$/oom_score_adj"
now() { read -r up _ < /proc/uptime; up=${up%%.*}; }
look() {
    room=
    while read -r name value _; do [ "$name" != MemAvailable: ] || { room=$value; break; }; done < /proc/meminfo
    looks=$((looks + 1))
    [ -n "$room" ] || return 1
    if [ -z "$lowest" ] || [ "$room" -lt "$lowest" ]; then lowest=$room; fi
}
state() {
    printf '{"schema": "fleetops.guard/1", "run_id": "%s", "profile": "%s", "pid": %s, "start_ticks": %s, ' \
        "$run" "$profile" $$ "$own" > "$base.json.new"
    printf '"mode": "%s", "floor_bytes": %s, "lowest_bytes": %s, "lowest_bound": "MemAvailable", "looks": %s, ' \
        "$mode" $((floor * 1024)) $((lowest * 1024)) $looks >> "$base.json.new"
    printf '"longest_gap_s": 0, "locked": false, "notes": ["no Python on this node: a loop of the shell, which may be slow"], ' \
        >> "$base.json.new"
    printf '"service": %s, "killed": %s, "ended": "%s"}\n' "$service" "$killed" "$ended" >> "$base.json.new"
    mv "$base.json.new" "$base.json"
}
# Sets `living`: the service's processes now, by the launcher's number: its tree, the group and session that it leads.
look_around() {
    table= family=" $pid " living=
    for file in /proc/[0-9]*/stat; do
        { read -r stat < "$file"; } 2>/dev/null || continue
        one=${stat%% *}; set -f; set -- ${stat##*) }; set +f
        [ "$one" != "$pid" ] || [ "${20}" = "$ticks" ] || family=' '
        table="$table$one $2 $3 $4 $1 ${18}
"
    done
    [ "$family" != ' ' ] || return
    before=
    while [ "$family" != "$before" ]; do
        before=$family
        while read -r one ppid pgid sid letter threads; do
            case $family in *" $one "*) continue ;; esac
            case $family in *" $ppid "*|*" $pgid "*|*" $sid "*) family="$family$one " ;; esac
        done <<TABLE
$table
TABLE
    done
    while read -r one ppid pgid sid letter threads; do
        case $family in *" $one "*) ;; *) continue ;; esac
        case $letter in X) continue ;; Z) [ "$threads" -gt 1 ] || continue ;; esac
        living="$living $one"
    done <<TABLE
$table
TABLE
}
strike() {
    seen=$room; now; after=$((up - started)); mode=killed count=0 tries=0
    look_around
    for one in $living; do kill -KILL "$one" 2>/dev/null; count=$((count + 1)); done
    while look_around; [ -n "$living" ] && [ $tries -lt 600 ]; do
        for one in $living; do kill -KILL "$one" 2>/dev/null; done
        tries=$((tries + 1)); sleep 0.1
    done
    set -- $living; sleep 1; look; gone=null; [ $# -gt 0 ] || gone=$((tries / 10))
    killed="{\"after_s\": $after, \"bound\": \"MemAvailable\", \"room_bytes\": $((seen * 1024)), "
    killed="$killed\"room_after_bytes\": $((room * 1024)), \"processes\": $count, \"left\": $#, \"gone_s\": $gone}"
    ended='it has ended the service'
    echo "MemAvailable fell to $((seen * 1024 / 1000000)) MB, below the floor: $count processes killed, $# left"
}
look || { echo 'not armed: what memory is left cannot be read'; exit 1; }
[ "$room" -ge "$floor" ] || { echo "not armed: MemAvailable is $((room * 1024 / 1000000)) MB, below the floor"; exit 1; }
now; born=$up started=$up
state; echo "armed: floor $((floor * 1024 / 1000000)) MB"
while [ -z "$ended" ]; do
    look
    if [ $mode = armed ] && [ -n "$pid" ] && [ -n "$room" ] && [ "$room" -lt "$floor" ]; then strike; break; fi
    now
    if [ -z "$pid" ]; then
        if read -r pid ticks 2>/dev/null < "$claim/pid"; then
            service="{\"pid\": $pid, \"start_ticks\": $ticks}" started=$up; state
        elif [ $((up - born)) -gt "$within" ]; then ended='no service was started'; fi
    else
        if [ ! -d "/proc/$pid" ] || [ $((looks % 100)) = 0 ]; then
            look_around; [ -n "$living" ] || ended='the service is gone'
        fi
        if [ $mode = armed ] && { [ -e "$base.disarm" ] || [ $((up - started)) -gt "$armed_for" ]; }; then
            mode=reporting; state; echo 'disarmed: from here on it only reports'
        fi
    fi
    [ ! -e "$base.end" ] || ended='told to'
    [ $((looks % 20)) != 0 ] || state
    if [ $mode = armed ]; then sleep 0.05; else sleep 1; fi
done
echo "ended: $ended"
state
"""
)
