"""The text of a service and of the timer that starts it. Pure; systemd.service(5), systemd.exec(5), systemd.timer(5)."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from fleetops.fleet.scheduling.marks import mark_of
from fleetops.model.errors import UsageError
from fleetops.model.schedule import RAN_WELL, Schedule

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "%": "%%"}
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what PrivateTmp replaces
# Connections to a few hundred hosts, and the engines' source that is read from them, take some hundred MB.
_MEMORY = "1G"

# What a manager without privileges can do as well: seccomp and resource limits.
_HARDENED = (
    "NoNewPrivileges=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
)
# Needs mounts or capabilities, which a user's manager may not have: there the unit would fail to start.
_HARDENED_BY_ROOT = (
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "DevicePolicy=closed",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    # To read keys and keep records in folders of another owner, as root does where the command is typed.
    "CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH",
)


def service_unit(schedule: Schedule, *, system: bool) -> str:
    """One sweep. It never restarts: the timer starts the next one."""
    lines = [
        mark_of(schedule),
        "[Unit]",
        f"Description=fleetops sweep of {_plain(schedule.inventory)}",
        *(["After=network-online.target"] if system else []),
        "",
        "[Service]",
        "Type=oneshot",
        "ExecStart=" + " ".join(map(_argument, schedule.argv)),
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in schedule.environment.items()),
        "# findings (1) and unknowns (3) are what a sweep is for",
        "SuccessExitStatus=" + " ".join(str(code) for code in RAN_WELL if code),
        f"TimeoutStartSec={schedule.limit_s}",
        "StandardOutput=journal",
        "StandardError=journal",
        f"SyslogIdentifier={schedule.name}",
        "Nice=10",
        "CPUWeight=20",
        f"MemoryMax={_MEMORY}",
        *_HARDENED,
        *(_by_root(schedule) if system else []),
    ]
    return "\n".join(lines) + "\n"


def timer_unit(schedule: Schedule) -> str:
    """The first sweep soon after the boot, or the installation; then each so long after the last one began, never two at once."""
    spread_s = min(10.0, schedule.every_s / 20)
    lines = [
        mark_of(schedule),
        "[Unit]",
        f"Description=fleetops sweep of {_plain(schedule.inventory)}, every so often",
        "",
        "[Timer]",
        f"Unit={schedule.name}.service",
        f"OnActiveSec={min(30.0, schedule.every_s):g}s",
        f"OnUnitActiveSec={schedule.every_s:g}s",
        f"RandomizedDelaySec={spread_s:g}s",
        "AccuracySec=1s",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return "\n".join(lines) + "\n"


def _by_root(schedule: Schedule) -> Iterator[str]:
    yield from _HARDENED_BY_ROOT
    for folder in schedule.writable:
        yield f"ReadWritePaths={_path(folder)}"
    seen = (*schedule.needs, *schedule.writable, schedule.inventory)
    if any(PurePosixPath(one).is_relative_to(folder) for one in seen for folder in _TEMPORARY):
        yield "# no PrivateTmp: some of what it needs lies among the temporary files"
        yield from (f"ReadWritePaths={folder}" for folder in _TEMPORARY)
    else:
        yield "PrivateTmp=yes"


def _plain(text: str) -> str:
    """In a description: one line, and no specifiers."""
    return " ".join(_checked(text).split()).replace("%", "%%")


def _argument(word: str) -> str:
    """A word of ExecStart, where a variable would be filled in."""
    return _quoted(word).replace("$", "$$")


def _quoted(word: str) -> str:
    """A word as systemd reads it back; quoted only where it must be."""
    escaped = "".join(_ESCAPES.get(character, character) for character in _checked(word))
    is_plain = escaped == word.replace("%", "%%") and word and not set(word) & set(" ';")
    return escaped if is_plain else f'"{escaped}"'


def _path(word: str) -> str:
    """A path of a list of paths, where systemd undoes quotes but no escapes. Raises UsageError for what neither can hold."""
    mark = next((one for one in "\"'" if one not in word), "")
    if not mark or set(word) & set("\n\r\t"):
        raise UsageError(f"the folder {word!r} has a name that no unit can hold")
    text = _checked(word).replace("%", "%%")
    return f"{mark}{text}{mark}" if set(word) & set(" \"'") else text


def _checked(text: str) -> str:
    """Raises UsageError for what no unit may hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{text!r} is not UTF-8, which units have to be") from error
    if any(ord(character) < 32 and character not in _ESCAPES for character in text) or "\x7f" in text:
        raise UsageError(f"{text!r} holds a control character, which no unit may")
    return text
