"""The memory guards of a node: the state that each keeps in /run/fleetops/guard, and whether its process is there."""

import json
import re
from typing import Any

from fleetops.facts.output import finished_lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.memory_guard import MEMORY_GUARDS, GuardKill, MemoryGuard

FOLDER = "/run/fleetops/guard"

# A state is one line. What has its pid follows, as /proc tells it; nothing where that is nobody.
SCRIPT = f"""\
for state in {FOLDER}/*.json; do
  [ -e "$state" ] || continue
  IFS= read -r line < "$state" || echo "unreadable $state"
  printf '%s\\n' "$line"
  pid=${{line#*'"pid": '}}
  pid=${{pid%%,*}}
  case $pid in
    ''|*[!0-9]*) ;;
    *) tr '\\n' ' ' < "/proc/$pid/stat" && echo ;;
  esac
done 2>/dev/null
echo end
"""

_DEAD = {"Z", "X"}


def parse(outcome: Outcome) -> tuple[MemoryGuard, ...]:
    """By run. No folder: no guards. Raises Unparsable where one state cannot be read: it may be the one."""
    stats: dict[int, int] = {}
    states: list[dict[str, Any]] = []
    for line in finished_lines(outcome):
        if line.startswith("{"):
            states.append(_fields(line))
        elif found := re.match(r"(\d+) \(", line):
            fields = line.rpartition(")")[2].split()
            if len(fields) > 19 and fields[0] not in _DEAD:
                stats[int(found[1])] = int(fields[19])
        else:
            raise Unparsable(f"not a line of a memory guard's state: {line[:80]!r}")
    guards = (_guard(state, stats) for state in states)
    return tuple(sorted(guards, key=lambda guard: guard.run_id))


def _fields(line: str) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Unparsable(f"a memory guard's state is no JSON: {line[:80]!r}") from error
    return fields


def _guard(state: dict[str, Any], stats: dict[int, int]) -> MemoryGuard:
    try:
        pid, ticks, service = int(state["pid"]), int(state["start_ticks"]), state["service"]
        return MemoryGuard(
            run_id=str(state["run_id"]),
            profile=str(state["profile"]),
            pid=pid,
            start_ticks=ticks,
            alive=stats.get(pid) == ticks,
            mode=str(state["mode"]),
            floor_bytes=int(state["floor_bytes"]),
            lowest_bytes=int(state["lowest_bytes"]),
            lowest_bound=str(state["lowest_bound"]),
            looks=int(state["looks"]),
            longest_gap_s=float(state["longest_gap_s"]),
            locked=bool(state["locked"]),
            notes=tuple(map(str, state["notes"])),
            service=(int(service["pid"]), int(service["start_ticks"])) if service else None,
            killed=_kill(state["killed"]) if state["killed"] else None,
            ended=str(state["ended"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unparsable(f"not a memory guard's state: {error!r}") from error


def _kill(told: dict[str, Any]) -> GuardKill:
    after, gone = told["room_after_bytes"], told["gone_s"]
    return GuardKill(
        after_s=float(told["after_s"]),
        bound=str(told["bound"]),
        room_bytes=int(told["room_bytes"]),
        room_after_bytes=None if after is None else int(after),
        processes=int(told["processes"]),
        left=int(told["left"]),
        gone_s=None if gone is None else float(gone),
        what=tuple(map(str, told.get("what", ()))),
    )


FACT: Fact[tuple[MemoryGuard, ...]] = Fact(MEMORY_GUARDS, shell(SCRIPT), parse)
