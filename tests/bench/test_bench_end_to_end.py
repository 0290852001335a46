"""A small run as `make bench` does it: real servers, fleetops beside `xargs ssh`, one round."""

from pathlib import Path

import pytest

from bench.__main__ import main
from bench.contestants.fleetops import FLEETOPS
from bench.contestants.xargs_ssh import CURVE25519
from bench.entries import cold
from bench.fleet import make_key
from bench.page import page
from bench.pieces import PIECES
from bench.pieces.base import Bench, fleet_of, short_command
from bench.processes import tree
from bench.servers import SSHD
from bench.tools import Tools

pytestmark = pytest.mark.skipif(SSHD is None, reason="there is no sshd: apt-get install openssh-server")

HOSTS = 3


def test_everyone_answers_and_nothing_is_left():
    tools = Tools(Path("/nonexistent"))
    piece = next(one for one in PIECES if one.name == "cold-16")
    bench = Bench(tools=tools, hosts=HOSTS, rounds=1)
    with fleet_of(HOSTS) as (servers, fleet):
        entries = [cold(one, servers, fleet, tools, short_command()) for one in (FLEETOPS, CURVE25519)]
        result = piece.sized(bench).measure(bench, entries)
        pids = [pid for server in servers.processes for pid in tree(server.pid)]
    assert [row.wrong for row in result.rows] == ["", ""]
    for row in result.rows:
        (sample,) = row.samples.values()
        assert (sample.hosts, sample.answered) == (HOSTS, HOSTS)
        assert min(sample.wall_s, sample.cpu_s, sample.node_cpu_s or 0) > 0
    assert pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not servers.folder.exists()
    text = page([result], [])
    assert "## 3 hosts, cold, one command" in text
    assert "only --hosts 3: no measurement" in text


@pytest.mark.parametrize("contestant", [FLEETOPS, CURVE25519], ids=lambda one: one.name)
def test_a_host_with_another_key_has_not_answered(contestant):
    tools = Tools(Path("/nonexistent"))
    with fleet_of(1) as (servers, _):
        (address,) = servers.addresses
        fleet = servers.fleet({address: make_key(servers.folder / "another")}, name="stranger")
        sample = cold(contestant, servers, fleet, tools, short_command()).run(60.0)
    assert sample.answered == 0
    assert sample.wrong.startswith("1 of 1 hosts gave no right answer")


def test_pieces_and_contestants_are_listed(capsys, tmp_path):
    assert main(["--list", "--venv", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "cold-64" in said
    assert "not installed: make bench, or pip install pyinfra" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["warm-63"], "no piece is named warm-63"),
        (["--quick", "--write"], "docs/ keeps the pieces as they are"),
    ],
)
def test_what_makes_no_sense_is_refused(words, why, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert why in capsys.readouterr().err
