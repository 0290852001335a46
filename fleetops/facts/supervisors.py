"""What keeps processes alive on a node: systemd's units, containers of Docker and Podman, sessions of tmux and screen.

Only what runs is asked: a manager whose socket is there, a Podman that has containers. Each has its own deadline, for
a Docker daemon that hangs is what a node with a failed GPU has (NVIDIA/nvidia-docker issue 1553). Of containers only
what is needed is told: their environment may hold secrets. The script that a shell works through is open in it (from 10
on in dash, as 255 in bash; measured): its lines that may start an engine are told, continuations joined.

The unit that a process belongs to is the innermost `.service` of its path in systemd's own hierarchy (cgroup version 2,
or `name=systemd`); a container's id stands in the path as `docker-ID.scope`, `libpod-ID.scope`, `/docker/ID`.
"""

import json
import re
from collections.abc import Iterable, Iterator

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.supervisor import SUPERVISORS, Container, Supervisors, Terminal, Unit

_PROPERTIES = (
    "Id,LoadState,ActiveState,SubState,UnitFileState,Restart,MainPID,ControlGroup,ExecStart,FragmentPath,Transient,"
    "TriggeredBy,User,WorkingDirectory,Environment,EnvironmentFiles"
)
# The same words in both programs: Go names of types.ContainerJSON (Docker 20 to 28) and InspectContainerData (Podman 4).
_TEMPLATE = (
    '{"id":{{json .ID}},"name":{{json .Name}},"pid":{{json .State.Pid}},"status":{{json .State.Status}},'
    '"restart":{{json .HostConfig.RestartPolicy.Name}},"image":{{json .Config.Image}},"removes":{{json .HostConfig.AutoRemove}},'
    '"path":{{json .Path}},"args":{{json .Args}}}'
)

SCRIPT = (
    PLAIN_TEXT
    + f"properties={_PROPERTIES}\ntemplate='{_TEMPLATE}'\n"
    + """\
me=$(id -u)
printf '%s\\n' /proc/[0-9]*/cgroup | xargs grep -saHE '^[0-9]+:(name=systemd)?:.*([.]service|[0-9a-f]{64})'
as() {
  uid=$1
  shift
  if [ "$uid" = "$me" ]; then "$@"; return; fi
  home=$(getent passwd "$uid" | cut -d: -f6)
  setpriv --reuid="$uid" --regid="$(getent passwd "$uid" | cut -d: -f4)" --clear-groups \\
    env HOME="$home" XDG_RUNTIME_DIR="/run/user/$uid" "$@"
}
units() { timeout -k 1 5 systemctl "$@" show --no-pager --all --property="$properties" '*.service' < /dev/null; }
if [ -d /run/systemd/system ] && command -v systemctl > /dev/null; then
  echo 'manager system'
  units --system || echo 'silent systemd'
fi
for socket in /run/user/[0-9]*/systemd/private; do
  [ -S "$socket" ] || continue
  uid=${socket#/run/user/}
  uid=${uid%%/*}
  echo "manager $uid"
  if [ "$uid" = "$me" ]; then XDG_RUNTIME_DIR=/run/user/$uid units --user
  else as "$uid" timeout -k 1 5 systemctl --user show --no-pager --all --property="$properties" '*.service' < /dev/null
  fi || echo "silent systemd of uid $uid"
done
echo 'manager none'
containers() {
  found=$(as "$1" timeout -k 1 5 "$2" ps -aq --no-trunc 2> /dev/null < /dev/null) || { echo "silent $2"; return; }
  [ -n "$found" ] || return
  as "$1" timeout -k 1 5 "$2" inspect --type container --format "container $2 $1 $template" $found 2> /dev/null < /dev/null ||
    echo "silent $2"
}
if [ -S /run/docker.sock ] || [ -S /var/run/docker.sock ]; then
  if command -v docker > /dev/null; then containers "$me" docker; else echo 'silent docker'; fi
fi
if command -v podman > /dev/null; then
  {
    if [ -d /var/lib/containers/storage ]; then echo 0; fi
    grep -slx conmon /proc/[0-9]*/comm | sed 's|/comm$||' | xargs -r stat -c %u 2> /dev/null
  } | sort -u | while read -r uid; do containers "$uid" podman; done
fi
for socket in /tmp/tmux-[0-9]*/*; do
  if [ -S "$socket" ] && command -v tmux > /dev/null; then
    timeout -k 1 2 env -u TMUX tmux -S "$socket" list-panes -a -F 'tmux #{pane_pid} #{session_name}' 2> /dev/null < /dev/null
  fi
done
for socket in /run/screen/S-*/*; do
  if [ -e "$socket" ]; then printf 'screen %s\\n' "${socket##*/}"; fi
done
for comm in $(grep -slxE '(ba|da|a|k|z)?sh|busybox' /proc/[0-9]*/comm); do
  pid=${comm#/proc/}
  pid=${pid%/comm}
  for script in "/proc/$pid"/fd/[1-9][0-9]*; do
    if [ -f "$script" ]; then
      head -c 65536 "$script" | sed -e :a -e '/\\\\$/{N;s/\\\\\\n//;ta' -e '}' | grep -aE 'sglang|vllm' | head -n 5 | sed "s/^/script $pid /"
    fi
  done
done
echo end
"""
)

_CGROUP = re.compile(r"/proc/(\d+)/cgroup:\d+:(name=systemd)?:(.*)")
# What looks after a container from outside (conmon) has its id in its path too, and is not in it.
_CONTAINER_ID = re.compile(r"(?:^|[-/])(?<!conmon-)([0-9a-f]{64})(?:\.scope)?(?=/|$)")
_INIT = "/init.scope"
_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")


def parse(outcome: Outcome) -> Supervisors:
    """Who is there, and what each has under it. Raises Unparsable for a line of another form."""
    found = finished_lines(outcome)
    paths = dict(_paths(found))
    units, containers = tuple(_units(found, paths)), tuple(_containers(found, paths))
    told = {(unit.name, unit.uid) for unit in units}
    ids = {one.id for one in containers}
    unknown = {pid: container_id(path) for pid, path in paths.items() if container_id(path) not in {"", *ids}}
    untold = {
        pid: unit_of(path)[0]
        for pid, path in paths.items()
        if pid not in unknown and unit_of(path)[0] and unit_of(path) not in told
    }
    return Supervisors(
        units=units,
        containers=containers,
        terminals=tuple(_terminals(found)),
        scripts=tuple(_scripts(found)),
        lives_in=tuple(sorted({**unknown, **untold}.items())),
        silent=tuple(
            dict.fromkeys(line.removeprefix("silent ") for line in found if line.startswith("silent "))
        ),
    )


def container_id(path: str) -> str:
    """The id of the (outermost) container that a cgroup's path names; "" for none."""
    match = _CONTAINER_ID.search(path)
    return match[1] if match else ""


def unit_of(path: str) -> tuple[str, int | None]:
    """The service unit that a path in systemd's hierarchy lies in, and the uid of its manager.

    What a container has of its own inside is none of this host's.
    """
    match = _CONTAINER_ID.search(path)
    parts = path[: match.start()].split("/") if match else path.split("/")
    uid: int | None = None
    name = ""
    for part in parts:
        if part.startswith("user@") and part.endswith(".service"):
            number = part.removeprefix("user@").removesuffix(".service")
            uid, name = (int(number) if number.isdecimal() else None), ""
        elif part.endswith(".service"):
            name = part
        elif part.endswith(".scope"):
            name = ""
    return name, uid


def _paths(found: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Pid -> its path in systemd's own hierarchy, the named one where both are there (it comes first)."""
    seen: dict[int, str] = {}
    for line in found:
        match = _CGROUP.fullmatch(line)
        if match and (match[2] or int(match[1]) not in seen):
            seen[int(match[1])] = match[3]
    # Where the host's own first process is inside of something (a container without a cgroup namespace), that is outside.
    outside = seen.get(1, "").removesuffix(_INIT)
    yield from ((pid, path.removeprefix(outside)) for pid, path in seen.items())


def _units(found: Iterable[str], paths: dict[int, str]) -> Iterator[Unit]:
    members: dict[tuple[str, int | None], list[int]] = {}
    for pid, path in paths.items():
        members.setdefault(unit_of(path), []).append(pid)
    for manager, properties in _blocks(found):
        if properties.get("LoadState") == "not-found" or not properties.get("Id"):
            continue
        uid = None if manager == "system" else int(manager)
        unit = _unit(properties, uid, tuple(sorted(members.get((properties["Id"], uid), []))))
        # What neither runs nor will be started by itself keeps nothing alive.
        if unit.pids or unit.is_up or unit.enabled.startswith("enabled"):
            yield unit


def _blocks(found: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each unit's properties, with whose manager told them. Units are parted by empty lines."""
    manager, block = "none", dict[str, str]()
    for line in (*found, "manager none"):
        if line.startswith("manager ") or not line:
            if block:
                yield manager, block
            block = {}
            manager = line.removeprefix("manager ") or manager
        elif manager != "none" and not line.startswith("silent "):
            name, equals, value = line.partition("=")
            if not equals:
                raise Unparsable(f"not a property of a unit: {line[:80]!r}")
            # A property that is there several times (two ExecStart, two EnvironmentFiles) is kept whole.
            block[name] = f"{block[name]} {value}" if name in block else value


def _unit(properties: dict[str, str], uid: int | None, pids: tuple[int, ...]) -> Unit:
    argv = _ARGV.search(properties.get("ExecStart", ""))
    files = [
        word
        for word in properties.get("EnvironmentFiles", "").split()
        if not word.startswith("(ignore_errors")
    ]
    return Unit(
        name=properties["Id"],
        uid=uid,
        restart=properties["Restart"],
        enabled=properties["UnitFileState"],
        active=properties["ActiveState"],
        sub=properties["SubState"],
        main_pid=int(properties["MainPID"]),
        pids=pids,
        command=tuple(argv[1].split()) if argv else (),
        file=properties["FragmentPath"],
        transient=properties["Transient"] == "yes",
        triggered_by=tuple(properties.get("TriggeredBy", "").split()),
        user=properties.get("User", ""),
        directory=properties.get("WorkingDirectory", ""),
        environment=(*properties.get("Environment", "").split(), *files),
    )


def _containers(found: Iterable[str], paths: dict[int, str]) -> Iterator[Container]:
    for line in found:
        if not line.startswith("container "):
            continue
        _, runtime, uid, text = line.split(" ", 3)
        told = json.loads(text)
        yield Container(
            id=told["id"],
            runtime=runtime,
            uid=int(uid),
            name=told["name"].removeprefix("/"),
            image=told["image"] or "",
            restart=told["restart"] or "no",
            status=told["status"],
            removes=bool(told["removes"]),
            pid=int(told["pid"]),
            pids=tuple(sorted(pid for pid, path in paths.items() if container_id(path) == told["id"])),
            command=(told["path"], *(told["args"] or ())),
        )


def _terminals(found: Iterable[str]) -> Iterator[Terminal]:
    for line in found:
        if line.startswith("tmux "):
            _, pid, name = line.split(" ", 2)
            yield Terminal(program="tmux", pid=int(pid), name=name)
        elif line.startswith("screen "):
            pid, _, name = line.removeprefix("screen ").partition(".")
            yield Terminal(program="screen", pid=int(pid), name=name)


def _scripts(found: Iterable[str]) -> Iterator[tuple[int, str]]:
    for line in found:
        if line.startswith("script "):
            _, pid, text = line.split(" ", 2)
            yield int(pid), text


FACT: Fact[Supervisors] = Fact(SUPERVISORS, shell(SCRIPT, root=True, deadline_s=30.0), parse)
