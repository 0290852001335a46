"""The commands as their user types them, on a fleet of real SSH servers."""

import io
import json
import signal

import pytest
from command_line import CommandLine
from hostile_server import says, truly_but

from fleetops.cli.program import run
from fleetops.cli.world import World

WELL = truly_but(lambda text: text)


@pytest.fixture
def fleet(fleet_of, tmp_path):
    inventory = fleet_of(down=9, garbage=says(b"garbage\n"))
    return CommandLine(inventory.path, tmp_path)


def test_a_sweep_tells_what_is_wrong_and_the_next_one_since_when(fleet):
    first = fleet("sweep")
    assert first.status == 3
    assert first.stdout.startswith("2 hosts in ")
    assert "2 unknown" in first.stdout.splitlines()[0]
    assert "  fleetops probe " in first.stdout
    assert "new" in first.stdout
    second = fleet("sweep", "down")
    assert "2nd sweep, since " in second.stdout
    assert "garbage" not in second.stdout


def test_a_program_gets_one_object(fleet):
    answer = fleet("sweep", "--json")
    body = answer.json
    assert body["schema"] == "fleetops.sweep/1"
    assert [host["host"] for host in body["hosts"]] == ["down", "garbage"]
    assert {finding["host"] for finding in body["findings"]} == {"down", "garbage"}
    assert all(finding["severity"] == "unknown" for finding in body["findings"])


def test_a_finding_is_acknowledged_silenced_and_heard_of_again(fleet):
    fleet("sweep", "down")
    acknowledged = fleet("ack", "down", "unreachable", "--why", "the rack is moved")
    assert acknowledged.status == 0
    assert "the rack is moved" in fleet("sweep", "down").stdout
    silenced = fleet("silence", "down", "unreachable", "--for", "2h", "--why", "the rack is moved")
    assert silenced.stdout.startswith("down: unreachable is not reported until ")
    quiet = fleet("sweep", "down")
    assert quiet.status == 0
    assert quiet.stdout.splitlines()[0].endswith("1 well")
    assert quiet.stdout.splitlines()[-1].startswith("1 silenced: fleetops silence")
    assert fleet("silence").stdout.splitlines()[1].split()[:2] == ["down", "unreachable"]
    assert fleet("silence", "down", "unreachable", "--end").status == 0
    assert fleet("sweep", "down").status == 3


@pytest.mark.parametrize(
    ("words", "says_"),
    [
        (("ack", "down", "unreachable"), "it needs a reason"),
        (("ack", "down", "unreachable", "--why", "x"), "no sweep has found unreachable on down"),
        (("ack", "dwn", "unreachable", "--why", "x"), "did you mean `down`"),
        (("ack", "down", "unreachabel", "--why", "x"), "did you mean `unreachable`"),
        (("silence", "down"), "which check, and for how long?"),
        (("silence", "down", "unreachable", "--why", "x"), "which check, and for how long?"),
        (("silence", "down", "unreachable", "--for", "soon", "--why", "x"), "not a duration"),
        (("silence", "--for", "2h"), "which finding is to be silenced?"),
        (("history", "dwn"), "did you mean `down`"),
        (("history", "down", "mem-available-bytes"), "no sweep of down has kept mem-available-bytes"),
        (("sweep", "nobody"), "nobody"),
        (("sweep", "--every", "0s"), "leaves no time"),
        (("sweep", "--deadline", "never"), "not a duration"),
    ],
)
def test_misuse_is_told_and_costs_nothing(fleet_of, tmp_path, words, says_):
    inventory, out, err = fleet_of(down=9), io.StringIO(), io.StringIO()
    world = World(stdin=io.StringIO(), stdout=out, stderr=err, environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    assert run([words[0], "--inventory", str(inventory.path), *words[1:]], world) == 2
    assert says_ in err.getvalue()
    assert out.getvalue() == ""


def test_a_hosts_history_is_told_and_one_number_drawn(fleet_of, tmp_path):
    command = CommandLine(fleet_of(well=WELL).path, tmp_path)
    for _ in range(2):
        (host,) = command("sweep", "--json").json["hosts"]
        assert "mem-available-bytes" in host["numbers"], host
    told = command("history", "well").stdout
    assert "well   2 sweeps in " in told
    assert "mem-available-bytes" in told
    drawn = command("history", "well", "mem-available-bytes").stdout
    assert " GB ┤" in drawn
    body = command("history", "well", "--json").json
    assert len(body["facts"]["mem-available-bytes"]) == 2
    assert len(body["health"]) == 2


def test_sweeps_that_go_on_give_a_line_each_and_end_when_told(fleet):
    with fleet.start("sweep", "down", "--every", "0.2s", "--json") as going:
        assert going.stdout
        numbers = [json.loads(going.stdout.readline())["sweep"] for _ in range(3)]
        going.send_signal(signal.SIGTERM)
        _, said = going.communicate(timeout=20)
    assert numbers == [1, 2, 3]
    assert going.returncode == 130
    assert "Traceback" not in said
