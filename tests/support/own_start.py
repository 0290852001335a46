"""The start script on a host of the lab, without the playbook around it."""

import time
from pathlib import Path

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.session import Session
from fleetops.steps.support.start_script import START

CLAIMS = "/run/fleetops/claims"
_STAND_IN = Path(__file__).with_name("systemd_stand_in.py")
# The first on the PATH of a lab's host.
_PROGRAMS = "/opt/fleetops-lab/bin"

_INSTALL = r"""
cat > "$1/systemd-run" && chmod 755 "$1/systemd-run" && cp "$1/systemd-run" "$1/systemctl"
mkdir -p /run/systemd/system
"""
_REMOVE = r"""
rm -rf "$1/systemd-run" "$1/systemctl" /run/systemd/system /run/systemd/stand-in
"""


def start(
    node: Session,
    name: str,
    *argv: str,
    environment: dict[str, str] | None = None,
    most: str = "429000000000",
) -> Outcome:
    """Start an argv as the service of run and profile `name`."""
    stdin = "".join(f"{key}={value}\n" for key, value in (environment or {}).items())
    log, record = f"/var/log/fleetops/{name}.log", f"/run/fleetops/services/{name}.json"
    head = (f"{CLAIMS}/{name}", log, record, name, name, "30000", unit(name), most, "sglang")
    return node.run(shell(START, *head, *argv, stdin=stdin, changes=True, deadline_s=30))


def unit(name: str) -> str:
    return f"fleetops-{name}-{name}.service"


def install_systemd(node: Session) -> None:
    """From here on this host looks as if systemd ran there."""
    done = node.run(shell(_INSTALL, _PROGRAMS, stdin=_STAND_IN.read_text(), changes=True))
    assert done.ok, done


def remove_systemd(node: Session) -> None:
    node.run(shell(_REMOVE, _PROGRAMS, changes=True))


def read(node: Session, path: str) -> str:
    return node.run(Command(argv=("cat", path))).stdout


def wait_for(node: Session, path: str, text: str) -> str:
    """The content of a file once it holds that text."""
    for _ in range(100):
        if text in (content := read(node, path)):
            return content
        time.sleep(0.05)
    raise AssertionError(content)
