"""Start the service, detached from SSH: a lost connection neither kills it nor starts a second one."""

from fleetops.engines import engine
from fleetops.model.command import Command, shell
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.errors import StepFailed
from fleetops.model.fleet import Profile
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.secrets import mask_argv
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.launching import Started, launch_values, log_path, profile_of, record_path
from fleetops.steps.support.scripts import START_OF

# $1 claim, $2 log, $3 record, $4 profile, $5 run id, $6 port; the rest is the service's argv.
# stdin: NAME=value lines for its environment, so that no secret stands in an argv of ours. Only the service's own shell
# reads them: a PATH or an LD_PRELOAD meant for it does nothing to the commands here.
# The claim makes a second submission of the same start do nothing (status 76); the log is always a new file.
_START = (
    START_OF
    + r"""
mask=$(umask)
umask 077
claim=/run/fleetops/claims/$1 log=$2 record=$3 profile=$4 run=$5 port=$6; shift 6
mkdir -p /run/fleetops/claims "${log%/*}" "${record%/*}" || exit 1
mkdir "$claim" || { echo 'this start was submitted before'; exit 76; }
set -C
: > "$log" || exit 1
set +C
exec 3<&0
setsid sh -c '
    echo $$ > "$1/pid.new" && mv "$1/pid.new" "$1/pid" && umask "$2" && shift 2 || exit 1
    while IFS= read -r line; do export "$line"; done
    exec "$@" < /dev/null
' fleetops "$claim" "$mask" "$@" <&3 >> "$log" 2>&1 3<&- &
exec 3<&-
tries=0
while [ ! -s "$claim/pid" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
pid=$(cat "$claim/pid") || exit 1
stat=$(cat "/proc/$pid/stat" 2>/dev/null) || { echo 'it ended at once'; tail -n 5 "$log"; exit 1; }
ticks=$(start_of "$stat")
printf '{"profile": "%s", "run_id": "%s", "pid": %s, "start_ticks": %s, "port": %s, "log": "%s"}\n' \
    "$profile" "$run" "$pid" "$ticks" "$port" "$log" > "$record.new" && mv "$record.new" "$record" || exit 1
echo "$pid $ticks"
"""
)


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The exact command line, with the size that fits as things stand."""
    profile = profile_of(situation)
    action = _action(situation, profile)
    return PlannedStep(
        step="start-service",
        title=f"start {profile.name}",
        host=situation.node_name,
        detail=" ".join(mask_argv(_argv(situation, profile))),
        actions=(action,),
    )


def run(desk: Desk, _options: Options) -> str:
    """Start it. What became of a start whose answer was lost is seen by its record on the node."""
    situation = desk.situation
    profile = profile_of(situation)
    started_at = desk.now()
    outcome = desk.change(_action(situation, profile))
    words = outcome.stdout.split()
    if outcome.ok and len(words) == 2 and all(word.isdigit() for word in words):
        pid, ticks = map(int, words)
    elif outcome.status is None:
        pid, ticks = _look_it_up(desk)
    else:
        raise StepFailed(f"{profile.name} could not be started: {outcome.said}", host=situation.node_name)
    desk.memo["started"] = Started(pid=pid, start_ticks=ticks, log=log_path(situation), at=started_at)
    return f"pid {pid}, log {log_path(situation)}"


def _look_it_up(desk: Desk) -> tuple[int, int]:

    records = desk.look().observation.node_facts.value(SERVICE_RECORDS) or ()
    for record in records:
        if record.run_id == desk.situation.run_id:
            return record.pid, record.start_ticks
    raise StepFailed(
        "the connection was lost while the service was being started, and no record of it is on the node",
        host=desk.situation.node_name,
        hint=f"fleetops probe {desk.situation.node_name}",
    )


def _action(situation: Situation, profile: Profile) -> Action:
    return Action(host=situation.node_name, command=_command(situation, profile), why=f"start {profile.name}")


def _command(situation: Situation, profile: Profile) -> Command:
    environment = "".join(f"{name}={value}\n" for name, value in profile.environment.items())
    head = (
        f"{situation.run_id}.start-service",
        log_path(situation),
        record_path(profile),
        profile.name,
        situation.run_id,
        str(profile.port),
    )
    argv = _argv(situation, profile)
    return shell(
        _START,
        *head,
        *argv,
        name="fleetops-start",
        stdin=environment,
        changes=True,
        root=True,
        deadline_s=30.0,
    )


def _argv(situation: Situation, profile: Profile) -> tuple[str, ...]:
    return engine(profile.engine).argv(profile, launch_values(situation))


STEP = Step(
    name="start-service",
    summary="start the service in a session of its own, its log in a new file, its pid and start time on record",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    relaunches=True,
)
