"""`fleetops run` and `fleetops trust` as typed, against real OpenSSH servers."""

import getpass
import io
import json
import time
from pathlib import Path

import pytest
from ssh_site import ADDRESS, free_port, make_key

from fleetops.cli.program import run
from fleetops.cli.world import World


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def fleet(site):
    """An inventory of two nodes and one that is down; `type_in` runs a command line on it."""
    server, second = site.serve(), site.serve()
    dead, user = free_port(), getpass.getuser()
    (site.folder / "fleet.yaml").write_text(f"""
settings: {{ssh-config: ssh_config, known-hosts: known_hosts}}
nodes:
  node-1: {{address: {ADDRESS}, port: {server.port}, user: {user}}}
  node-2: {{address: {ADDRESS}, port: {second.port}, user: {user}}}
  node-3: {{address: {ADDRESS}, port: {dead}, user: {user}}}
""")
    site.configure("")

    class Fleet:
        folder = site.folder
        known_hosts = site.known_hosts
        record = server.record

        @staticmethod
        def type_in(*argv, stdin=None):
            world = World(
                stdin=stdin or io.StringIO(),
                stdout=io.StringIO(),
                stderr=io.StringIO(),
                environ={"HOME": str(site.folder), "FLEETOPS_INVENTORY": str(site.folder / "fleet.yaml")},
                cwd=site.folder,
            )
            code = run(list(argv), world)
            return code, world.stdout.getvalue(), world.stderr.getvalue()

    return Fleet


def test_equal_outputs_are_said_once(fleet):
    code, out, _ = fleet.type_in("run", "node-[1-2]", "--", "echo", "two  words", "$HOME")
    assert code == 0
    assert out == "node-[1-2]   2 hosts   ok\n  two  words $HOME\n"


def test_words_after_the_dashes_are_the_commands_own(fleet):
    code, out, _ = fleet.type_in("run", "node-1", "--timeout", "5", "--", "echo", "--json", "--", "-x")
    assert code == 0
    assert out.splitlines()[1] == "  --json -- -x"


def test_a_shell_line_is_asked_for(fleet):
    _, out, _ = fleet.type_in("run", "node-1", "--shell", "echo one | tr o 0; echo oops >&2")
    assert out == "node-1   ok\n  0ne\n  2> oops\n"


def test_a_command_that_fails_is_1(fleet):
    code, out, _ = fleet.type_in("run", "node-1", "--", "false")
    assert (code, out) == (1, "node-1   exit 1\n")


def test_a_host_that_is_not_reached_is_3_and_costs_no_other(fleet):
    code, out, _ = fleet.type_in("run", "*", "--", "true")
    assert code == 3
    assert "node-[1-2]   2 hosts   ok, no output" in out
    assert "node-3       unreachable" in out
    assert "connection refused" in out


def test_a_command_that_does_not_end_is_unknown_not_failed(fleet):
    code, out, _ = fleet.type_in("run", "node-1", "--timeout", "0.3", "--", "sleep", "60")
    assert (code, out) == (3, "node-1   no end within 0.3 s, ended there\n")


def test_what_a_host_prints_cannot_drive_the_terminal(fleet):
    _, out, _ = fleet.type_in("run", "node-1", "--", "printf", "\\033[2J\\377 [bold]x")
    assert out.splitlines()[1] == "  \\x1b[2J\\xff [bold]x"


def test_json(fleet):
    code, out, _ = fleet.type_in("run", "*", "--json", "--", "echo", "x")
    body = json.loads(out)
    assert code == 3
    assert body["schema"] == "fleetops.run/1"
    assert body["command"] == ["echo", "x"]
    (answer,) = body["answers"]
    assert (answer["hosts"], answer["status"], answer["stdout"]) == (["node-1", "node-2"], 0, "x\n")
    assert [(host["host"], host["error"]) for host in body["unreachable"]] == [("node-3", "unreachable")]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["run"], "needs the hosts"),
        (["run", "node-1"], "there is no command"),
        (["run", "node-1", "--"], "there is no command"),
        (["run", "node-1", "--shell", "x", "--", "y"], "not both"),
        (["run", "node-1", "--", "ls -l"], "--shell"),
        (["run", "node-9", "--", "ls"], "node-9"),
        (["run", "node-1", "--timeout", "0", "--", "ls"], "seconds"),
        (["run", "node-1", "--timeout", "nan", "--", "ls"], "seconds"),
        (["run", "node-1", "--fanout", "0", "--", "ls"], "number of hosts"),
        (["run", "node-1", "--", "a\0b"], "NUL"),
        (["trust"], "HOST"),
    ],
)
def test_misuse_is_2_with_words(fleet, argv, words):
    code, out, err = fleet.type_in(*argv)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_a_host_with_a_changed_key_could_not_be_asked_and_trust_refuses_it(fleet):
    fleet.known_hosts.write_text(fleet.record.split()[0] + " " + make_key(fleet.folder / "other") + "\n")
    code, out, _ = fleet.type_in("run", "node-1", "--", "true")
    assert code == 3
    assert "CHANGED" in out
    code, out, err = fleet.type_in("trust", "node-1", "--yes")
    assert (code, out) == (5, "")
    assert "CHANGED" in err


def test_known_hosts_that_cannot_be_read_is_one_usage_error(fleet):
    fleet.known_hosts.unlink()
    fleet.known_hosts.mkdir()
    for words in (("run", "*", "--", "true"), ("trust", "*", "--yes")):
        code, out, err = fleet.type_in(*words)
        assert (code, out) == (2, "")
        assert err.count("cannot read the known host keys") == 1


def test_a_program_that_does_not_exist_is_said_without_what_runs_it(fleet):
    code, out, _ = fleet.type_in("run", "node-1", "--", "no-such-program")
    assert (code, out) == (1, "node-1   exit 127\n  2> no-such-program: No such file or directory\n")


def test_json_keeps_bytes_that_are_no_characters_visible(fleet):
    _, out, _ = fleet.type_in("run", "node-1", "--json", "--", "printf", r"caf\351 ok")
    assert json.loads(out)["answers"][0]["stdout"] == r"caf\xe9 ok"


def test_output_past_the_limit_is_cut_and_says_where(fleet):
    line = "dd if=/dev/zero bs=1M count=9 2>/dev/null | tr '\\0' x"
    code, out, _ = fleet.type_in("run", "node-1", "--shell", line)
    head, body, cut = out.splitlines()
    assert code == 0
    assert head == "node-1   ok   only the first 8,388,608 bytes kept"
    assert body == "  " + "x" * 2**23
    assert cut == "  ... cut here, after 8,388,608 bytes; the rest was dropped"


def test_megabytes_of_short_lines_are_shown_in_seconds(fleet):
    began = time.monotonic()
    _, out, _ = fleet.type_in("run", "node-1", "--", "seq", "1000000")
    assert out.count("\n") == 1_000_001
    assert time.monotonic() - began < 10  # laid out line by line it takes 40


def test_trust_asks_and_records(fleet):
    fleet.known_hosts.unlink()
    code, _, err = fleet.type_in("trust", "node-1")
    assert code == 5
    assert "no terminal" in err
    assert "--dry-run" not in err
    assert "compare the fingerprint" in err
    assert not fleet.known_hosts.exists()
    code, out, err = fleet.type_in("trust", "node-1", stdin=Terminal("y\n"))
    assert code == 0
    assert "SHA256:" in err
    assert "recorded in" in out
    assert fleet.known_hosts.read_text() == fleet.record
    assert fleet.type_in("run", "node-1", "--", "true")[0] == 0


def test_trust_that_is_declined_changes_nothing(fleet):
    fleet.known_hosts.unlink()
    code, out, _ = fleet.type_in("trust", "node-1", stdin=Terminal("\n"))
    assert code == 5
    assert "not recorded" in out
    assert not fleet.known_hosts.exists()


def test_trust_of_several_stands_in_columns(fleet):
    fleet.known_hosts.write_text(fleet.record)
    code, out, _ = fleet.type_in("trust", "*", "--yes")
    assert code == 3
    first, second = out.splitlines()
    assert "already on record" in first
    assert "recorded in" in second
    assert first.index("SHA256:") == second.index("SHA256:")
    assert first.index("already") == second.index("recorded")


def test_trust_of_many_goes_on_past_one_that_is_down(fleet):
    fleet.known_hosts.unlink()
    code, out, _ = fleet.type_in("trust", "*", "--yes", "--json")
    body = json.loads(out)
    assert code == 3
    assert body["schema"] == "fleetops.trust/1"
    assert [host["status"] for host in body["hosts"]] == ["recorded", "recorded", "unreachable"]


def test_a_batch_that_fails_stops_the_rest(fleet):
    code, out, _ = fleet.type_in("run", "--batch", "1", "node-[1-3]", "--", "false")
    assert code == 5
    assert "node-1       exit 1" in out
    assert "node-[2-3]   2 hosts   refused\n  not started: stopped after batch 1 of 3: 1 host failed" in out


def test_batches_go_on_while_few_enough_fail(fleet):
    code, out, _ = fleet.type_in(
        "run", "--batch", "2", "--pause", "0.1s", "--max-failures", "2", "node-[1-3]", "--", "false"
    )
    assert code == 3
    assert "node-[1-2]   2 hosts   exit 1" in out
    assert "not started" not in out


def test_each_host_is_a_line_as_soon_as_it_has_ended(fleet):
    code, out, _ = fleet.type_in("run", "--json-lines", "node-[1-3]", "--", "echo", "hello")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 3
    assert {line["schema"] for line in lines} == {"fleetops.run-host/1"}
    told = {line["host"]: line for line in lines}
    assert sorted(told) == ["node-1", "node-2", "node-3"]
    assert (told["node-1"]["status"], told["node-1"]["stdout"]) == (0, "hello\n")
    assert told["node-3"]["error"] == "unreachable"


def test_hosts_that_were_not_begun_are_lines_too(fleet):
    _, out, _ = fleet.type_in("run", "--json-lines", "--batch", "1", "node-[1-3]", "--", "false")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["host"] for line in lines] == ["node-1", "node-2", "node-3"]
    assert "not started" in lines[2]["message"]


def test_some_are_picked(fleet):
    code, out, _ = fleet.type_in("run", "--json", "--pick", "1", "node-[1-2]", "--", "true")
    (answer,) = json.loads(out)["answers"]
    assert (code, len(answer["hosts"])) == (0, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pause", "5s"], "are about batches"),
        (["--max-failures", "1"], "are about batches"),
        (["--batch", "0"], "number of hosts"),
        (["--pick", "-1"], "number of hosts"),
        (["--batch", "2", "--max-failures", "x"], "number of hosts"),
    ],
)
def test_options_of_batches_that_make_no_sense(fleet, options, says):
    code, _, told = fleet.type_in("run", *options, "node-1", "--", "true")
    assert code == 2
    assert says in told


def test_what_has_not_ended_by_the_deadline_is_given_up_and_ended_there(fleet):
    note = fleet.folder / "pid"
    line = f"echo $$ > {note}; exec sleep 300"
    began = time.monotonic()
    code, out, _ = fleet.type_in("run", "--deadline", "3s", "--timeout", "200", "node-1", "--shell", line)
    assert code == 3
    assert "not finished within 3 s, given up" in out
    assert time.monotonic() - began < 30
    gone = Path(f"/proc/{int(note.read_text())}")
    until = time.monotonic() + 10
    while gone.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not gone.exists()
