#!/usr/bin/env python3
"""systemd-run and systemctl for a host whose first process is not systemd, as far as fleetops uses them.

Behaviour as measured on systemd 252: a unit starts in `/` with an environment of systemd's own; `$NAME` and `${NAME}` in its
argv are expanded and `$$` stands for `$`; an unknown property or a value that cannot be parsed refuses; a unit whose process
ended by a signal stays loaded as failed until it is forgotten. Not here: cgroups, so MemoryMax is only kept.
Installed under both names; state in /run/systemd/stand-in.
"""

import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

UNITS = Path("/run/systemd/stand-in")
KNOWN = {
    "MemoryMax": r"\d+|infinity",
    "MemorySwapMax": r"\d+|infinity",
    "OOMScoreAdjust": r"-?\d+",
    "OOMPolicy": "continue|stop|kill",
    "KillMode": "control-group|mixed|process|none",
    "TasksMax": r"\d+|infinity",
    "LimitNOFILE": r"(\d+|infinity)(:(\d+|infinity))?",
    "LimitMEMLOCK": r"(\d+|infinity)(:(\d+|infinity))?",
}
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def fail(text: str) -> None:
    print(text, file=sys.stderr)
    sys.exit(1)


def run(argv: list[str]) -> None:
    unit, properties = "", {}
    while argv and argv[0] != "--":
        option, _, value = argv.pop(0).partition("=")
        if option == "--unit":
            unit = value
        elif option == "--property":
            name, _, text = value.partition("=")
            if name not in KNOWN:
                fail(f"Unknown assignment: {value}")
            if not re.fullmatch(KNOWN[name], text):
                fail(f"Failed to parse {value}: Invalid argument")
            properties[name] = text
        elif option not in {"--quiet", "--description"}:
            fail(f"systemd-run: unrecognized option '{option}'")
    if load(unit):
        fail(
            f"Failed to start transient service unit: Unit {unit} was already loaded or has a fragment file."
        )
    UNITS.mkdir(parents=True, exist_ok=True)
    words = [expanded(word) for word in argv[1:]]
    if os.fork() == 0:
        manage(unit, properties, words)
    while not load(unit):
        time.sleep(0.01)


def expanded(word: str) -> str:
    def value(match: "re.Match[str]") -> str:
        return "$" if match[0] == "$$" else ENVIRONMENT.get(match[1] or match[2] or "", "")

    whole = re.fullmatch(r"\$(\w+)", word)
    if whole and not whole[1][0].isdigit():
        return ENVIRONMENT.get(whole[1], "")
    return re.sub(r"\$\$|\$\{([A-Za-z_]\w*)\}()", value, word)


def manage(unit: str, properties: dict[str, str], words: list[str]) -> None:
    """The manager's part: start it, wait for its end, remember how it ended."""
    os.setsid()
    for descriptor in (0, 1, 2):
        os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
    process = subprocess.Popen(words, cwd="/", env=ENVIRONMENT, start_new_session=True)
    kept = {"pid": process.pid, "ActiveState": "active", "Result": "success", "properties": properties}
    keep(unit, kept)
    status = process.wait()
    if status < 0 and not (load(unit).get("stopping") and -status == signal.SIGTERM):
        keep(unit, {**kept, "ActiveState": "failed", "Result": "signal"})
    elif status > 0:
        keep(unit, {**kept, "ActiveState": "failed", "Result": "exit-code"})
    else:
        forget(unit)
    os._exit(0)


def control(argv: list[str]) -> None:
    if argv == ["--version"]:
        print("systemd 252 (stand-in)")
        return
    action, *rest = argv
    names = [word for word in rest if not word.startswith("-")]
    options = {word for word in rest if word.startswith("-")}
    for name in names:
        if action == "show":
            (asked,) = (word.partition("=")[2] for word in options if word.startswith("--property="))
            print(load(name).get(asked, {"ActiveState": "inactive", "Result": "success"}[asked]))
        elif action == "stop":
            stop(name, wait="--no-block" not in options)
        elif action == "reset-failed":
            for path in UNITS.glob("*.service"):
                if fnmatch.fnmatch(path.name, name) and load(path.name).get("ActiveState") == "failed":
                    forget(path.name)
        else:
            fail(f"Unknown command verb {action}.")


def stop(name: str, *, wait: bool) -> None:
    unit = load(name)
    if not unit:
        print(f"Failed to stop {name}: Unit {name} not loaded.", file=sys.stderr)
        sys.exit(5)
    if unit["ActiveState"] != "active":
        return
    keep(name, {**unit, "stopping": True})
    os.killpg(unit["pid"], signal.SIGTERM)
    while wait and load(name).get("ActiveState") == "active":
        time.sleep(0.05)


def load(name: str) -> dict:
    try:
        return json.loads((UNITS / name).read_text())
    except (OSError, ValueError):
        return {}


def keep(name: str, unit: dict) -> None:
    fresh = UNITS / f".{name}"
    fresh.write_text(json.dumps(unit))
    fresh.rename(UNITS / name)


def forget(name: str) -> None:
    (UNITS / name).unlink(missing_ok=True)


if __name__ == "__main__":
    (run if Path(sys.argv[0]).name == "systemd-run" else control)(sys.argv[1:])
