"""How a schedule of systemd's stands, from what its manager shows of timer and service."""

import re
import shlex
import time
from calendar import timegm
from collections.abc import Callable, Mapping

from fleetops.fleet.scheduling.machine import read
from fleetops.fleet.scheduling.marks import Mark, read_mark
from fleetops.fleet.scheduling.systemd import Systemd
from fleetops.model.schedule import Standing

_TIMER = ("ActiveState", "UnitFileState", "LoadState", "NextElapseUSecMonotonic", "LastTriggerUSec")
_SERVICE = (
    "ActiveState",
    "Result",
    "ExecMainStatus",
    "ExecMainStartTimestamp",
    "ExecMainStartTimestampMonotonic",
    "ExecMainExitTimestampMonotonic",
)
# systemd.time(7), as it prints spans of time.
_UNITS_S = {
    "y": 31_557_600, "month": 2_629_800, "w": 604_800, "d": 86_400, "h": 3_600, "min": 60, "s": 1, "ms": 1e-3, "us": 1e-6,
}  # fmt: skip
_SPAN = re.compile(r"([\d.]+)(y|month|w|d|h|min|ms|us|s)(?![a-z])")


def stands(systemd: Systemd, *, now: float, uptime: Callable[[], float] = time.monotonic) -> Standing:
    """Read its files, and ask its manager where that answers. `uptime`: CLOCK_MONOTONIC, by which a timer elapses."""
    service, timer = systemd.files
    texts = [read(path) or "" for path in (service, timer)]
    mark = next(filter(None, map(read_mark, texts)), Mark())
    mute = systemd.why_not()
    of_timer = {} if mute else _show(systemd, systemd.timer, _TIMER)
    of_service = {} if mute else _show(systemd, systemd.service, _SERVICE)
    took_s = _took(of_service)
    code = _number(of_service, "ExecMainStatus") if took_s is not None else None
    due = read_span(of_timer.get("NextElapseUSecMonotonic", ""))
    is_active = of_timer["ActiveState"] == "active" if "ActiveState" in of_timer else None
    result = of_service.get("Result", "success")
    return Standing(
        name=systemd.name,
        keeper=systemd.keeper,
        places=tuple(str(path) for path, text in zip((service, timer), texts, strict=True) if text),
        every_s=mark.every_s,
        command=_command(texts[0]),
        state=mark.state,
        active=is_active,
        enabled=of_timer["UnitFileState"] == "enabled" if "UnitFileState" in of_timer else None,
        running=of_service.get("ActiveState") == "activating",
        next_at=now - uptime() + due if due is not None and is_active else None,
        last_at=read_time(
            of_service.get("ExecMainStartTimestamp", "") or of_timer.get("LastTriggerUSec", "")
        ),
        last_s=took_s,
        last_exit=code,
        last_result="" if result == "success" else result,
        log=systemd.log,
        troubles=(*_troubles(systemd, texts, mute, of_timer), *_unstarted(code)),
    )


# systemd.exec(5), "Process Exit Codes": what went wrong before the program began.
_BEFORE_IT_BEGAN = {
    203: "its program is not there any more (203/EXEC): fleetops schedule install",
    226: "its sandbox cannot be set up on this machine (226/NAMESPACE): fleetops schedule install --user, once it is removed",
}


def _troubles(systemd: Systemd, texts: list[str], mute: str, of_timer: Mapping[str, str]) -> list[str]:
    reload = f"{' '.join(systemd.control)} daemon-reload"
    found = [
        f"{unit} is missing"
        for unit, text in zip((systemd.service, systemd.timer), texts, strict=True)
        if not text
    ]
    if mute:
        return [*found, mute]
    if not of_timer:
        return [*found, f"its manager does not tell: {' '.join(systemd.control)} status {systemd.timer}"]
    if texts[1] and of_timer.get("LoadState") == "not-found":
        found.append(f"its manager has not read it: {reload}")
    elif of_timer.get("ActiveState") != "active":
        found.append(
            f"the timer is {of_timer.get('ActiveState', 'in no known state')}: nothing starts a sweep"
        )
    elif of_timer.get("UnitFileState") != "enabled":
        found.append("the timer is not enabled: nothing starts a sweep after the next boot")
    return found


def _unstarted(code: int | None) -> list[str]:
    return [_BEFORE_IT_BEGAN[code]] if code in _BEFORE_IT_BEGAN else []


def _show(systemd: Systemd, unit: str, names: tuple[str, ...]) -> dict[str, str]:
    """What its manager shows, by name; nothing where it does not answer."""
    shown = systemd.machine.run(*systemd.control, "show", f"--property={','.join(names)}", unit)
    if not shown.ok:
        return {}
    pairs = (line.partition("=") for line in shown.stdout.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _took(of_service: Mapping[str, str]) -> float | None:
    """How long the last run took; None before its end."""
    began, ended = (_number(of_service, f"ExecMain{word}TimestampMonotonic") for word in ("Start", "Exit"))
    return (ended - began) / 1e6 if began and ended and ended >= began else None


def _number(shown: Mapping[str, str], name: str) -> int | None:
    text = shown.get(name, "")
    return int(text) if text.isdecimal() else None


def _command(service: str) -> str:
    line = next((line for line in service.splitlines() if line.startswith("ExecStart=")), "")
    text = line.removeprefix("ExecStart=").replace("$$", "$").replace("%%", "%")
    try:
        return shlex.join(shlex.split(text))
    except ValueError:
        return text


def read_span(text: str) -> float | None:
    """`1d 2h 3min 4.5s` in seconds; None for what is none (`infinity`, nothing)."""
    found = _SPAN.findall(text)
    if not found or _SPAN.sub("", text).strip():
        return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in found)


def read_time(text: str) -> float | None:
    """`Tue 2026-12-01 06:23:23 UTC` in seconds since the epoch; None for what is none."""
    try:
        return float(timegm(time.strptime(text.partition(" ")[2], "%Y-%m-%d %H:%M:%S UTC")))
    except ValueError:
        return None
