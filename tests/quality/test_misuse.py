"""Every command, used wrongly: one error, one hint, the right exit code, and never a traceback."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetops.cli.program import run, subcommands
from fleetops.cli.world import World
from fleetops.model.exit import Exit

RUN = "from fleetops.cli.main import entry; entry()"

# One well-formed call of every command; HOST stands for the host. A new command gets a row here.
CALLS: dict[str, tuple[str, ...]] = {
    "ack": ("HOST", "memory-low", "--why", "seen"),
    "breaker": (),
    "explain": ("hicache_size", "HOST"),
    "grep-source": ("hicache_size", "HOST"),
    "history": ("HOST",),
    "inventory": ("show", "HOST"),
    "kill": ("HOST", "--dry-run"),
    "lab": ("status",),
    "launch": ("--profile", "hicache48", "HOST", "--dry-run"),
    "measure": ("HOST",),
    "monitoring": ("rules",),
    "playbook": ("run", "kill", "HOST", "--dry-run"),
    "probe": ("HOST",),
    "recover": ("HOST", "--dry-run"),
    "report": ("HOST", "--html", "fleet.html"),
    "reset-gpus": ("HOST", "--dry-run"),
    "run": ("HOST", "--", "true"),
    "runs": (),
    "schedule": ("status",),
    "silence": ("HOST", "memory-low", "--for", "1h", "--why", "seen"),
    "size": ("--profile", "hicache48", "HOST"),
    "sweep": ("HOST",),
    "trust": ("HOST",),
}
NEED_NO_INVENTORY = {"lab", "monitoring"}
NEED_NO_HOST = {"breaker", "lab", "monitoring", "runs", "schedule"}
ON_HOSTS = sorted(set(CALLS) - NEED_NO_HOST)

INVENTORY = """\
hypervisors:
  pve-01: {{address: 127.0.0.2, port: {port}}}
nodes:
  node-174:
    address: 127.0.0.1
    port: {port}
    hypervisor: pve-01
    guest: {{kind: lxc, id: 174}}
    gpus: 8
    profile: hicache48
profiles:
  hicache48:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags: {{hicache-size: {{value: 48, unit: GB, scope: per-rank}}}}
"""


@dataclass(frozen=True)
class Said:
    """What one call came to."""

    code: int
    stdout: str
    stderr: str

    @property
    def error(self) -> dict[str, str]:
        """The one JSON object on stderr."""
        body = json.loads(self.stderr)
        assert isinstance(body, dict)
        return body


class Desk:
    """A folder, an environment and no terminal, from which commands are called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "FLEETOPS_STATE": str(folder / "state"),
            "FLEETOPS_LAB": str(folder / "no-lab"),
        }

    def call(self, *argv: str) -> Said:
        stdout, stderr = io.StringIO(), io.StringIO()
        world = World(
            stdin=io.StringIO(), stdout=stdout, stderr=stderr, environ=self.environ, cwd=self.folder
        )
        code = run(list(argv), world)
        return Said(code, stdout.getvalue(), stderr.getvalue())

    def write_inventory(self, text: str) -> None:
        (self.folder / "inventory").mkdir(exist_ok=True)
        (self.folder / "inventory" / "fleet.yaml").write_text(text)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of loopback that nobody listens on: bound, so that nobody else can take it, and not listening."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def fleet(desk: Desk, closed_port: int) -> Desk:
    """A desk with an inventory whose hosts do not answer."""
    desk.write_inventory(INVENTORY.format(port=closed_port))
    return desk


def words(command: str, host: str = "node-174") -> tuple[str, ...]:
    return (command, *(host if word == "HOST" else word for word in CALLS[command]))


def with_json(argv: Sequence[str]) -> tuple[str, ...]:
    """`--json` right after the command: behind `--` it would belong to the remote command."""
    return (argv[0], "--json", *argv[1:])


def assert_is_a_plain_error(said: Said, code: Exit) -> None:
    assert "Traceback" not in said.stderr
    assert "defect in fleetops" not in said.stderr
    assert said.code == code, said.stderr
    assert said.stderr.startswith("error: ") or "\nerror: " in said.stderr
    assert said.stdout == ""


def assert_is_a_json_error(said: Said, code: Exit) -> None:
    assert said.code == code, said.stderr
    assert said.stdout == ""
    assert said.error["schema"] == "fleetops.error/1"
    assert said.error["error"]
    assert said.error["message"]
    assert "hint" in said.error


def test_every_command_is_tried_here() -> None:
    assert {command.NAME for command in subcommands()} == set(CALLS)


@pytest.mark.parametrize("command", CALLS)
class TestEveryCommand:
    def test_an_unknown_option(self, desk: Desk, command: str) -> None:
        assert_is_a_plain_error(desk.call(command, "--no-such-option"), Exit.USAGE)

    def test_an_unknown_option_with_json(self, desk: Desk, command: str) -> None:
        assert_is_a_json_error(desk.call(command, "--json", "--no-such-option"), Exit.USAGE)

    def test_help(self, desk: Desk, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert desk.call(command, "--help").code == Exit.FINE
        assert f"usage: fleetops {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", sorted(set(CALLS) - NEED_NO_INVENTORY))
class TestWithoutAnInventory:
    def test_it_names_the_places_it_looked_in(self, desk: Desk, command: str) -> None:
        said = desk.call(*words(command))
        assert_is_a_plain_error(said, Exit.USAGE)
        assert str(desk.folder / "inventory") in said.stderr

    def test_with_json(self, desk: Desk, command: str) -> None:
        assert_is_a_json_error(desk.call(*with_json(words(command))), Exit.USAGE)

    def test_the_lab_that_is_not_up_says_how_to_bring_it_up(self, desk: Desk, command: str) -> None:
        said = desk.call(command, "--lab", *words(command)[1:])
        assert_is_a_plain_error(said, Exit.USAGE)
        assert "lab up" in said.stderr

    def test_a_bad_one_is_named_by_file_line_and_column(self, desk: Desk, command: str) -> None:
        desk.write_inventory("nodes:\n  node-174: {addres: 10.0.0.1}\n")
        said = desk.call(*words(command))
        assert said.code == Exit.USAGE
        assert "Traceback" not in said.stderr
        # `inventory` itself may show the problems as its data.
        assert "fleet.yaml:2:" in said.stderr + said.stdout

    def test_something_that_is_no_yaml_at_all(self, desk: Desk, command: str) -> None:
        desk.write_inventory("nodes: {node-174: [\x00")
        said = desk.call(*words(command))
        assert said.code == Exit.USAGE
        assert "Traceback" not in said.stderr
        assert "defect" not in said.stderr


@pytest.mark.parametrize("command", ON_HOSTS)
class TestHosts:
    def test_an_unknown_host_is_named_with_its_nearest(self, fleet: Desk, command: str) -> None:
        said = fleet.call(*words(command, "node-147"))
        assert_is_a_plain_error(said, Exit.USAGE)
        assert "node-147" in said.stderr
        assert "node-174" in said.stderr

    def test_an_unknown_host_with_json(self, fleet: Desk, command: str) -> None:
        assert_is_a_json_error(fleet.call(*with_json(words(command, "node-147"))), Exit.USAGE)

    def test_a_pattern_that_makes_no_sense(self, fleet: Desk, command: str) -> None:
        assert_is_a_plain_error(fleet.call(*words(command, "node-[9-1]")), Exit.USAGE)


@pytest.mark.parametrize("command", ["grep-source", "measure", "probe", "run", "size", "trust"])
def test_a_host_that_does_not_answer_is_unknown(fleet: Desk, command: str) -> None:
    said = fleet.call(*words(command))
    assert said.code == Exit.UNKNOWN, said.stderr
    assert "Traceback" not in said.stderr
    assert "node-174" in said.stdout + said.stderr


@pytest.mark.parametrize("command", ["kill", "launch", "recover", "reset-gpus"])
def test_nothing_is_changed_on_a_host_that_does_not_answer(fleet: Desk, command: str) -> None:
    said = fleet.call(command, *(word for word in words(command)[1:] if word != "--dry-run"), "--yes")
    assert said.code in {Exit.UNKNOWN, Exit.REFUSED}, said.stderr
    assert "Traceback" not in said.stderr
    assert "defect in fleetops" not in said.stderr


@pytest.mark.parametrize("command", ["probe", "grep-source", "run", "size"])
def test_json_of_a_host_that_does_not_answer_is_still_one_object(fleet: Desk, command: str) -> None:
    said = fleet.call(*with_json(words(command)))
    assert said.code == Exit.UNKNOWN
    assert json.loads(said.stdout)["schema"] == f"fleetops.{command}/1"


def test_an_unknown_command_is_named(desk: Desk) -> None:
    said = desk.call("prob")
    assert_is_a_plain_error(said, Exit.USAGE)
    assert "prob" in said.stderr


@pytest.mark.parametrize("columns", ["40", "400"])
@pytest.mark.parametrize(
    "words",
    [
        ("size", "--ranks", "x"),
        ("size", "--available", "-5"),
        ("measure", "node-174", "--concurrency", "0"),
        ("grep-source", "x", "--limit", "y"),
        ("explain",),
    ],
    ids=" ".join,
)
def test_a_usage_error_has_one_short_hint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)  # which argparse asks for the width
    said = desk.call(*words)
    assert said.code is Exit.USAGE
    assert said.stderr.splitlines()[1:] == [f" hint: fleetops {words[0]} --help"]


def test_no_command_at_all_shows_those_there_are(desk: Desk) -> None:
    said = desk.call()
    assert (said.code, said.stdout) == (Exit.USAGE, "")
    assert said.stderr.startswith("usage: fleetops")
    assert "recover" in said.stderr


def test_an_inventory_that_is_not_there(desk: Desk) -> None:
    said = desk.call("probe", "--inventory", "nowhere/fleet.yaml", "node-174")
    assert_is_a_plain_error(said, Exit.USAGE)
    assert "nowhere/fleet.yaml" in said.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--concurrency", "0"), "'0' is no whole number above 0"),
        (("--concurrency", "5000"), "more than 1024"),
        (("--concurrency", "8", "--requests", "4"), "cannot keep 8 streams busy"),
        (("--prompt-tokens", "many"), "'many' is no whole number above 0"),
        (("--output-tokens", "3000000"), "more than 2,000,000"),
        (("--seed", "x"), "invalid int value"),
        (("--port", "70000"), "70000 is no port"),
        (("--deadline", "soon"), "not a duration like `30s`"),
        (("--request-deadline", "0"), "leaves no time"),
        (("--profile", "hicache84"), "hicache48"),
        (("--api-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY is not set"),
    ],
)
def test_a_load_that_makes_no_sense(fleet: Desk, options: tuple[str, ...], told: str) -> None:
    said = fleet.call("measure", "node-174", *options)
    assert_is_a_plain_error(said, Exit.USAGE)
    assert told in said.stderr


def test_a_key_that_no_header_may_hold_is_not_shown(fleet: Desk) -> None:
    fleet.environ["KEY"] = "sk-secret\r\nX: y"
    said = fleet.call("measure", "node-174", "--api-key-env", "KEY")
    assert_is_a_plain_error(said, Exit.USAGE)
    assert "sk-secret" not in said.stderr


def test_a_waiver_of_a_guard_that_may_not_be_waived(fleet: Desk) -> None:
    assert_is_a_plain_error(fleet.call("recover", "node-174", "--waive", "identity=I am sure"), Exit.USAGE)


@pytest.mark.parametrize(
    "argv", [("--help",), ("inventory", "show", "--json"), ("inventory", "list")], ids=" ".join
)
def test_a_reader_that_goes_away_is_no_error(fleet: Desk, argv: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *argv],
            cwd=fleet.folder,
            env=fleet.environ,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode == Exit.FINE


def test_an_interrupt_is_130(desk: Desk) -> None:
    """A host that takes the connection and says nothing: the command waits, and Ctrl-C ends it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        desk.write_inventory(INVENTORY.format(port=silent.getsockname()[1]))
        with subprocess.Popen(
            [sys.executable, "-c", RUN, "run", "node-174", "--", "true"],
            cwd=desk.folder,
            env=desk.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            silent.settimeout(20)
            try:
                connection, _ = silent.accept()
                with connection:
                    process.send_signal(signal.SIGINT)
                    stdout, stderr = process.communicate(timeout=60)
            finally:
                process.kill()
    assert process.returncode == Exit.INTERRUPTED, stderr
    assert (stdout, "Traceback" in stderr) == ("", False)


def test_a_defect_is_kept_in_a_file_and_not_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Exit:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("fleetops.cli.probe.execute", broken)
    monkeypatch.setenv("TMPDIR", str(desk.folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    said = desk.call("probe")
    assert said.code == Exit.FAILED
    assert "Traceback" not in said.stderr
    assert "a defect in fleetops itself: RuntimeError: unforeseen" in said.stderr
    (kept,) = desk.folder.glob("fleetops-defect-*.txt")
    assert "unforeseen" in kept.read_text()


@pytest.mark.parametrize("command", ["probe", "recover"])
def test_what_is_told_to_be_typed_goes_to_the_inventory_that_was_named(fleet: Desk, command: str) -> None:
    path = str(fleet.folder / "inventory")
    where = ("--inventory", path)
    told = f"`fleetops inventory --inventory {path} list` shows all hosts"
    assert told in fleet.call(command, "nobody", *where).stderr
    assert fleet.call(command, "nobody", *where, "--json").error["hint"] == told
    # What one command named is nothing to the next one of the same process, as with fab.
    assert "`fleetops inventory list` shows all hosts" in fleet.call(command, "nobody").stderr


@pytest.mark.parametrize("command", ["recover", "kill", "reset-gpus", "launch"])
def test_scripts_go_with_a_dry_run(fleet: Desk, command: str) -> None:
    words = ("--profile", "hicache48") if command == "launch" else ()
    said = fleet.call(command, *words, "node-174", "--scripts")
    assert said.code == 2
    assert "it goes with --dry-run" in said.stderr
