"""The watcher: looks many times a second at what memory is left, and below the floor ends the service at once.

Runs on the node, as `python3 -I -S RUN.py SETTINGS`, SETTINGS being a JSON object (see `Watcher`).
"""
# Plain calls of `os`: this runs in any Python of a node, and takes as little as it can.
# ruff: noqa: PTH110

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from fleetops.steps.support.memory_guard.family import Family, Kin, Unit, look_at
from fleetops.steps.support.memory_guard.keeping import State, gigabytes, harden, say
from fleetops.steps.support.memory_guard.rooms import Bounds, levels, text_of

# How often it looks for new processes of the service: while it is armed, afterwards, and where it matters: the launcher is
# dead, or the room less than twice the floor.
_REFRESH_S, _REFRESH_REPORTING_S, _REFRESH_CLOSE_S = 2.0, 20.0, 0.25
# Right before a strike it looks once more, where that costs no more time than between two looks.
_QUICK_S = 0.02
_TELL_S = 1.0
_REPORTING_INTERVAL_S = 1.0
_BLIND_S = 2.0
_GONE_WITHIN_S = 120.0
_BACK_WITHIN_S = 5.0
# So many of the killed are named in the state.
_NAMED = 100


class Watcher:
    """One guard, of one service.

    Settings:
        run_id, profile: whose.
        floor_bytes: below this the service is ended, while armed.
        armed_for_s: after so long since the service started it only reports, whoever forgot to say so.
        claim: the folder in which the start leaves the service's `PID START_TICKS`, in a file `pid`.
        unit: the service's systemd unit, "" where it has none.
        base: RUN of the files beside it: RUN.json, RUN.disarm, RUN.end.
        interval_s: between two looks. service_within_s: a guard that nobody needs by then ends.
        proc, meminfo, cgroup: where the kernel's files are; hurry: what its other times are divided by (for tests).
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.proc, self.cgroup = settings.get("proc", "/proc"), settings.get("cgroup", "/sys/fs/cgroup")
        self.floor = int(settings["floor_bytes"])
        self.hurry = float(settings.get("hurry", 1.0))
        meminfo = settings.get("meminfo", f"{self.proc}/meminfo")
        self.bounds = Bounds(meminfo, self.proc, self.cgroup, settings["unit"])
        self.family: Family | None = None
        self.launcher = (0, 0)
        self.started_at = self.born_at = self.seen_at = self.refreshed_at = self.told_at = time.monotonic()
        self.refresh_s = 0.0
        self.ended = ""
        own = look_at(os.getpid(), self.proc)
        self.state = State(
            settings["base"] + ".json",
            {
                "schema": "fleetops.guard/1",
                "run_id": settings["run_id"],
                "profile": settings["profile"],
                "pid": os.getpid(),
                "start_ticks": own.ticks if own else 0,
                "mode": "armed",
                "armed_at": time.time(),
                "armed_for_s": settings["armed_for_s"],
                "floor_bytes": self.floor,
                "interval_s": settings["interval_s"],
                "looks": 0,
                "longest_gap_s": 0.0,
                "service": None,
                "killed": None,
                "ended": "",
            },
        )

    @property
    def armed(self) -> bool:
        """Whether it may kill."""
        return bool(self.state.fields["mode"] == "armed")

    def run(self) -> int:
        """Arm, watch until the service is gone, and say how it ended."""
        found = self.bounds.least()
        if found is None:
            say("not armed: what memory is left cannot be read")
            return 1
        if found[0] < self.floor:
            say(f"not armed: {found[1]} is {gigabytes(found[0])}, below the floor of {gigabytes(self.floor)}")
            return 1
        self.note_room(*found)
        locked, notes = harden(self.proc, self.cgroup)
        self.state.write(locked=locked, notes=notes)
        parts = ["locked in memory", *notes] if locked else notes
        say(f"armed: floor {gigabytes(self.floor)}; {'; '.join([self.shown_room(), *parts])}")
        while not self.ended:
            self.step()
            time.sleep(self.settings["interval_s"] if self.armed else _REPORTING_INTERVAL_S / self.hurry)
        say(f"ended: {self.ended}")
        self.state.write(ended=self.ended)
        return 0

    def note_room(self, room: int, label: str) -> None:
        """Remember the room now, and the least that was seen."""
        fields = self.state.fields
        fields["room_bytes"], fields["bound"] = room, label
        if room < fields.get("lowest_bytes", room + 1):
            fields.update(lowest_bytes=room, lowest_bound=label, lowest_at=time.time())
        if fields["mode"] == "reporting" and room < self.floor and "below_at" not in fields:
            fields["below_at"] = time.time()
            say(f"{label} is {gigabytes(room)}, below the floor; it is disarmed and only reports")

    def step(self) -> None:
        """One look, and what follows from it."""
        now = time.monotonic()
        fields = self.state.fields
        fields["looks"] += 1
        found = self.bounds.least()
        if found:
            if self.armed:
                fields["longest_gap_s"] = max(fields["longest_gap_s"], round(now - self.seen_at, 4))
            self.seen_at = now
            self.note_room(*found)
            # A single wrong reading must not end a service: the second look costs microseconds.
            if self.armed and self.family and found[0] < self.floor:
                again = self.bounds.least()
                if again and again[0] < self.floor:
                    self.kill(self.family, *again)
                    return
        elif now - self.seen_at > _BLIND_S / self.hurry:
            self.ended = "what memory is left can no longer be read"
            return
        self.look_after_service(now)
        self.obey(now)
        if now - self.told_at >= _TELL_S / self.hurry:
            self.told_at = now
            self.state.write()

    def look_after_service(self, now: float) -> None:
        """Learn which it is; remember its processes; end when none of them is left."""
        if self.family is None:
            self.meet_service(now)
            return
        launcher = look_at(self.launcher[0], self.proc)
        lives = launcher is not None and launcher.ticks == self.launcher[1] and launcher.lives
        close = not lives or (self.armed and self.state.fields["room_bytes"] < 2 * self.floor)
        due = _REFRESH_CLOSE_S if close else _REFRESH_S if self.armed else _REFRESH_REPORTING_S
        if now - self.refreshed_at >= due / self.hurry:
            self.bounds.follow(str(self.launcher[0]))
            if not self.refresh(self.family, now):
                self.ended = "the service is gone"

    def refresh(self, family: Family, now: float) -> dict[int, Kin]:
        """Look for the service's processes, and remember how long that took."""
        living = family.refresh()
        self.refreshed_at, self.refresh_s = now, time.monotonic() - now
        return living

    def meet_service(self, now: float) -> None:
        """The start leaves the service's pid and start time in its claim, before the service's own program begins."""
        words = text_of(self.settings["claim"] + "/pid").split()
        if len(words) != 2:
            if now - self.born_at > self.settings["service_within_s"]:
                self.ended = "no service was started"
            return
        pid, ticks = int(words[0]), int(words[1])
        self.launcher, self.started_at = (pid, ticks), now
        self.bounds.follow(str(pid))
        self.family = Family(pid, ticks, self.proc, self.unit_of(pid))
        self.refresh(self.family, now)
        say(f"watching over pid {pid}")
        self.state.write(service={"pid": pid, "start_ticks": ticks})

    def unit_of(self, pid: int) -> Unit | None:
        """The service's unit; None where it runs in none."""
        name = self.settings["unit"]
        folder = levels(text_of(f"{self.proc}/{pid}/cgroup"), self.cgroup)[0]
        return Unit(folder) if name and folder.rpartition("/")[2] == name else None

    def obey(self, now: float) -> None:
        """A file tells it to disarm, or to end; time disarms it too."""
        base = self.settings["base"]
        if os.path.exists(base + ".end"):
            self.ended = "told to"
        if not self.armed:
            return
        why = ""
        if os.path.exists(base + ".disarm"):
            why = "told to"
        elif self.family and now - self.started_at > self.settings["armed_for_s"]:
            why = "nobody did within its time"
        if why:
            say(f"disarmed: {why}; from here on it only reports")
            self.state.write(mode="reporting", disarmed_at=time.time(), disarmed_why=why)

    def kill(self, family: Family, room: int, label: str) -> None:
        """SIGKILL first, then look around and again until nobody is left; what was seen and done is put down."""
        struck = time.monotonic()
        if self.refresh_s < _QUICK_S:
            family.refresh()
        ended = family.strike()
        told: dict[str, Any] = {
            "at": time.time(),
            "after_s": round(struck - self.started_at, 3),
            "bound": label,
            "room_bytes": room,
            "room_after_bytes": None,
            "processes": len(ended),
            "left": len(ended),
            "gone_s": None,
            "what": [],
        }
        self.state.write(mode="killed", killed=told)
        say(
            f"{label} fell to {gigabytes(room)}, below the floor of {gigabytes(self.floor)}: killing the service"
        )
        left, pause_s = family.refresh(), 0.002
        while left and time.monotonic() - struck < _GONE_WITHIN_S:
            ended |= family.strike()
            self.note_least()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.25)
            left = family.refresh()
        gone_s = round(time.monotonic() - struck, 3)
        told.update(processes=len(ended), left=len(left), gone_s=None if left else gone_s)
        told["what"] = [f"{pid} {family.names.get(pid, '')}" for pid in sorted(ended)[:_NAMED]]
        told["room_after_bytes"] = self.room_again()
        self.state.write()
        say(
            f"{told['processes']} processes killed, {len(left)} left after {gone_s:.3f} s; {self.shown_room()} now"
        )
        self.ended = "it has ended the service"

    def note_least(self) -> int:
        """The room now, also put down where it is the least so far; 0 where it cannot be read."""
        found = self.bounds.least()
        if found is None:
            return 0
        self.note_room(*found)
        return found[0]

    def room_again(self) -> int:
        """The room once it comes back no more: large registered buffers take their time."""
        until = time.monotonic() + _BACK_WITHIN_S
        best, still = self.note_least(), 0
        while still < 5 and time.monotonic() < until:
            time.sleep(0.1)
            room = self.note_least()
            still = 0 if room > best + best // 100 else still + 1
            best = max(best, room)
        return best

    def shown_room(self) -> str:
        """For the log."""
        return f"{self.state.fields['bound']} is {gigabytes(self.state.fields['room_bytes'])}"


def main(argv: list[str]) -> int:
    """The whole program."""
    os.umask(0o077)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    return Watcher(json.loads(argv[1])).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
