"""qm agent, guest exec and guest exec-status: what a VM's agent is asked through its hypervisor.

A command that failed in the guest is a success here: its own status is in the JSON (facts: recovery, parts A3 and A6).
"""

import base64
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from fleetops.lab import agent as protocol
from fleetops.lab.tools.proxmox import Guest, ToolError, named_guest, option

_WAIT_S = 30.0
_LOOK_S = 0.05


def agent(words: list[str]) -> int:
    """`qm agent ID ping`."""
    found = _available(words)
    if words[1:] != ["ping"]:
        raise ToolError(f"the lab's agent knows only ping, not {' '.join(words[1:])}")
    _ask(found, "guest-ping")
    return 0


def guest(words: list[str]) -> int:
    """`qm guest exec ID [--timeout N] [--pass-stdin 1] -- COMMAND`, `qm guest exec-status ID PID`, `qm guest cmd ID ping`."""
    action, *rest = words or [""]
    if action == "exec":
        return _execute(rest)
    if action == "exec-status":
        _print(_ask(_available(rest), "guest-exec-status", {"pid": int(rest[1])}))
        return 0
    if action == "cmd":
        return agent(rest)
    raise ToolError(f"ERROR: unknown command 'qm guest {action}'")


def _execute(words: list[str]) -> int:
    found = _available(words)
    split = words.index("--") if "--" in words else len(words)
    options, command = words[:split], words[split + 1 :]
    if not command:
        raise ToolError("400 Parameter verification failed.\ncommand: No command given")
    arguments: dict[str, Any] = {"path": command[0], "arg": command[1:], "capture-output": True}
    if option(options, "pass-stdin") == "1":
        arguments["input-data"] = base64.b64encode(sys.stdin.buffer.read()).decode()
    result = _ask(found, "guest-exec", arguments)
    if option(options, "synchronous") != "0":
        result = _await(found, result, float(option(options, "timeout") or _WAIT_S))
    _print(result)
    return 0


def _await(found: Guest, started: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Its end, or what was known when the time was over."""
    deadline = time.monotonic() + limit_s
    while limit_s == 0 or time.monotonic() < deadline:
        told = _ask(found, "guest-exec-status", {"pid": started["pid"]})
        if told["exited"]:
            return told
        time.sleep(_LOOK_S)
    print("timeout reached, returning pid", file=sys.stderr)
    return started


def _available(words: list[str]) -> Guest:
    """The VM, if its agent can be asked (assert_agent_available). Raises ToolError."""
    found = named_guest("qemu", words)
    if found.config().get("agent", "0").partition(",")[0] not in {"1", "enabled=1"}:
        raise ToolError("No QEMU guest agent configured")
    if not found.pid():
        raise ToolError(f"{found.short} is not running")
    _ask(found, "guest-ping")
    return found


def _ask(found: Guest, command: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    try:
        return protocol.ask(found.folder, command, arguments)
    except OSError:
        raise ToolError("QEMU guest agent is not running") from None
    except protocol.AgentError as error:
        raise ToolError(f"Agent error: {error}") from None


def _print(result: Mapping[str, Any]) -> None:
    """As Perl's JSON prints it: pretty, sorted, 1 and 0 for true and false, the data in clear."""
    shown = {
        key: base64.b64decode(value).decode(errors="replace") if key.endswith("-data") else value
        for key, value in result.items()
    }
    shown = {key: int(value) if isinstance(value, bool) else value for key, value in shown.items()}
    print(json.dumps(shown, indent=3, sort_keys=True, separators=(",", " : ")))
