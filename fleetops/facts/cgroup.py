"""The memory cgroup that bounds what a host's processes may take, version 1 or 2.

All levels from the reader's own cgroup to the visible root are read; the one with the least room counts. Inside a
Proxmox container the limit lies one level above what the container can see: then there is none here, and the
container's /proc/meminfo and the hypervisor tell.
"""

from fleetops.facts.output import lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.machine import CGROUP, CgroupMemory

UNLIMITED_BYTES = 2**62
"""Version 1 says 9223372036854771712 (the largest whole page count) for no limit."""

SCRIPT = """\
base=/sys/fs/cgroup
v1=
v2=
while IFS=: read -r number controllers path; do
  case "$number,$controllers," in
    *,memory,*) v1=$path ;;
    0,,) v2=$path ;;
  esac
done < /proc/self/cgroup
path=$v2
if [ -d "$base/memory" ]; then
  base=$base/memory
  path=$v1
fi
case "$path" in /..*) path= ;; esac
folder=$base${path%/}
set --
while :; do
  for name in memory.max memory.current memory.stat memory.events \\
      memory.limit_in_bytes memory.usage_in_bytes memory.oom_control; do
    if [ -r "$folder/$name" ]; then set -- "$@" "$folder/$name"; fi
  done
  if [ "$folder" = "$base" ]; then break; fi
  folder=${folder%/*}
done
if [ $# -gt 0 ]; then grep -H '' "$@"; else echo none; fi
"""


def parse(outcome: Outcome) -> CgroupMemory:
    """Raises Absent where the host has no memory cgroup with accounting."""
    found = lines(outcome)
    if not found:
        raise Unparsable(f"no cgroup could be read: {outcome.said}")
    levels = [level for level in map(_level, _folders(found).values()) if level]
    if not levels:
        raise Absent("no memory cgroup keeps account here")
    bounded = [level for level in levels if level.limit_bytes is not None]
    return min(bounded, key=lambda level: level.room_bytes or 0) if bounded else levels[-1]


def _folders(found: list[str]) -> dict[str, dict[str, list[str]]]:
    """Folder -> file name -> its lines, own cgroup first, root last."""
    folders: dict[str, dict[str, list[str]]] = {}
    for line in found:
        path, colon, text = line.partition(":")
        folder, slash, name = path.rpartition("/")
        if colon and slash:
            folders.setdefault(folder, {}).setdefault(name, []).append(text)
    return folders


def _level(files: dict[str, list[str]]) -> CgroupMemory | None:
    stat = _fields(files.get("memory.stat", []))
    if "memory.current" in files:
        limit = files.get("memory.max", ["max"])[0]
        return CgroupMemory(
            version=2,
            limit_bytes=None if limit == "max" else int(limit),
            current_bytes=int(files["memory.current"][0]),
            shmem_bytes=stat.get("shmem", 0),
            inactive_file_bytes=stat.get("inactive_file", 0),
            oom_kills=_fields(files.get("memory.events", [])).get("oom_kill", 0),
        )
    if "memory.usage_in_bytes" in files:
        limit_bytes = int(files["memory.limit_in_bytes"][0])
        return CgroupMemory(
            version=1,
            limit_bytes=limit_bytes if limit_bytes < UNLIMITED_BYTES else None,
            current_bytes=int(files["memory.usage_in_bytes"][0]),
            shmem_bytes=stat.get("total_shmem", 0),
            inactive_file_bytes=stat.get("total_inactive_file", 0),
            oom_kills=_fields(files.get("memory.oom_control", [])).get("oom_kill", 0),
        )
    return _root_of_version_2(stat)


def _root_of_version_2(stat: dict[str, int]) -> CgroupMemory | None:
    """The machine's root cgroup has no memory.current, only the parts of it."""
    if "anon" not in stat or "file" not in stat:
        return None
    return CgroupMemory(
        version=2,
        limit_bytes=None,
        current_bytes=stat["anon"] + stat["file"] + stat.get("slab", 0),
        shmem_bytes=stat.get("shmem", 0),
        inactive_file_bytes=stat.get("inactive_file", 0),
    )


def _fields(found: list[str]) -> dict[str, int]:
    pairs = (line.split() for line in found)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


FACT: Fact[CgroupMemory] = Fact(CGROUP, shell(SCRIPT), parse)
