"""Stand-in commands ask the host's init; what they print is what they would have found themselves."""

import marshal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_access import Inside, Sh

from fleetops.lab.tools import answer, ask, nvidia_smi

QUESTIONS = (
    ("pve-01", "pct list"),
    ("pve-01", "pct status 999"),
    ("pve-01", "pct config 174 --current 1"),
    ("pve-01", "lxc-info -n 174 -p -H"),
    ("pve-01", "pvesh get /nodes/localhost/tasks --source active --output-format json"),
    ("pve-01", "pveversion"),
    ("pve-02", "qm pending 181"),
    ("node-190", "nvidia-smi -L"),
    ("node-190", "nvidia-smi --query-gpu=nothing"),
    ("node-190", "dmesg -r"),
)
SOCKET = "/run/lab/tools.sock"


@pytest.fixture
def unheard(inside: Inside) -> Iterator[None]:
    """No init of these hosts can be asked."""
    hosts = {host for host, _ in QUESTIONS}
    for host in hosts:
        assert inside(host, "mv", SOCKET, f"{SOCKET}.away").returncode == 0
    yield
    for host in hosts:
        inside(host, "mv", f"{SOCKET}.away", SOCKET)


@pytest.fixture
def asked(inside: Inside) -> dict[tuple[str, str], tuple[str, str, int]]:
    """What the questions are answered with by init."""
    return {each: _ask(inside, *each) for each in QUESTIONS}


def _ask(inside: Inside, host: str, line: str) -> tuple[str, str, int]:
    done = inside(host, "sh", "-c", line)
    return done.stdout, done.stderr, done.returncode


def test_init_says_what_the_command_would_find(inside: Inside, asked: dict, unheard: None) -> None:
    assert {each: _ask(inside, *each) for each in QUESTIONS} == asked
    assert asked["pve-01", "pct status 999"][1:] == (
        "Configuration file 'nodes/pve-01/lxc/999.conf' does not exist\n",
        2,
    )


def test_who_asks_loads_nothing(sh: Sh) -> None:
    program = "import sys; sys.path.insert(0, '/opt/fleetops-lab/lib'); import fleetops.lab.tools.ask; print(*sys.modules)"
    loaded = set(sh("node-190", f'/opt/fleetops-lab/bin/python3 -IS -c "{program}"').split())
    assert "fleetops.lab.tools.ask" in loaded
    assert not {"socket", "json", "pathlib", "re", "typing", "enum"} & loaded


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("pct", ["stop", "174"]),
        ("pct", ["exec", "174", "--", "true"]),
        ("pct", []),
        ("qm", ["start", "181"]),
        ("qm", ["guest", "cmd", "181", "ping"]),
        ("nvidia-persistenced", []),
    ],
)
def test_what_changes_or_waits_is_the_commands_own(tool: str, words: list[str]) -> None:
    assert answer.answer(tool, words) == b""


@pytest.mark.parametrize(
    "words", [["-r", "-i", "0"], ["--gpu-reset"], ["-pm", "1"], ["--persistence-mode=1"]]
)
def test_a_change_of_a_gpu_is_the_commands_own(words: list[str]) -> None:
    assert not nvidia_smi.only_asks(words)


def test_an_answer_has_status_output_and_complaint() -> None:
    status, output, complaint = marshal.loads(answer.answer("dmesg", ["--follow"]))
    assert (status, output) == (1, "")
    assert complaint.startswith("dmesg: the lab's knows only")


def test_an_init_that_hangs_keeps_nobody_waiting_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "SOCKET", str(tmp_path / "tools.sock"))
    monkeypatch.setattr(ask, "_PATIENCE_S", 0.1)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(ask.SOCKET)
        mute.listen()
        assert ask.asked("pveversion") is None
