"""Commands over a real OpenSSH server."""

import threading

import pytest
from ssh_site import await_gone, node, running

from fleetops.model.command import Command, shell
from fleetops.model.errors import ConnectionLost, Silence, Unreachable
from fleetops.ssh import session as session_module


def test_a_command_runs_and_its_streams_and_status_come_back(session):
    outcome = session.run(shell("printf out; printf err >&2; exit 3"))
    assert (outcome.status, outcome.stdout, outcome.stderr) == (3, "out", "err")
    assert not outcome.ok
    assert not outcome.timed_out
    assert not outcome.truncated


def test_standard_input_arrives_and_ends(session):
    text = "no newline at the end \udcff 'quoted' $HOME \0"
    assert session.run(Command(argv=("cat",), stdin=text)).stdout == text


def test_input_and_output_larger_than_every_window_flow_both_ways(session):
    text = "0123456789abcdef" * 300_000
    outcome = session.run(Command(argv=("cat",), stdin=text, limit_bytes=len(text)))
    assert outcome.stdout == text
    assert not outcome.truncated


def test_both_streams_are_drained_together(session):
    """A host that waits for one of them to be read would never end."""
    outcome = session.run(shell("head -c 6000000 /dev/zero >&2; head -c 6000000 /dev/zero; echo end >&2"))
    assert (len(outcome.stdout), len(outcome.stderr)) == (6_000_000, 6_000_004)


def test_output_over_the_limit_is_read_and_dropped(session):
    outcome = session.run(Command(argv=("head", "-c", "5000000", "/dev/zero"), limit_bytes=4096))
    assert (outcome.status, len(outcome.stdout), outcome.truncated) == (0, 4096, True)


def test_output_is_handed_on_as_it_comes(session):
    seen = threading.Event()
    heard = []

    def listen(text):
        heard.append(text)
        seen.set()

    outcome = {}
    command = shell("echo first; head -n 1 >/dev/null; echo second", deadline_s=20)
    runner = threading.Thread(target=lambda: outcome.update(it=session.run(command, listen)), daemon=True)
    runner.start()
    assert seen.wait(10)
    runner.join(20)
    assert "".join(heard) == outcome["it"].stdout == "first\nsecond\n"


def test_a_deadline_ends_the_whole_process_group(session):
    outcome = session.run(shell("sleep 71.25 & sleep 71.25; echo never", deadline_s=0.5))
    assert outcome.timed_out
    assert not outcome.ok
    assert outcome.stdout == ""
    assert await_gone("71.25") == []


def test_a_group_that_ignores_sigterm_is_killed(session):
    outcome = session.run(shell("trap '' TERM; echo kept; sleep 72.25 & sleep 72.25 & wait", deadline_s=0.3))
    assert outcome.timed_out
    assert outcome.stdout == "kept\n"
    assert await_gone("72.25") == []


def test_a_host_that_does_not_end_the_command_is_not_waited_for(session, monkeypatch):
    """`timeout` itself is stopped, as it would wait for ever for a process in state D."""
    monkeypatch.setattr(session_module, "GRACE_S", 0.2)
    outcome = session.run(shell("kill -STOP $PPID; echo here; sleep 4.25; kill -KILL $PPID", deadline_s=0.3))
    assert (outcome.timed_out, outcome.status, outcome.stdout) == (True, None, "here\n")
    assert session.run(Command(argv=("echo", "next"))).stdout == "next\n"


def test_a_command_that_ends_by_itself_with_124_or_137_has_not_timed_out(session):
    assert [session.run(shell(f"exit {status}")).timed_out for status in (124, 137)] == [False, False]


def test_what_a_command_leaves_running_does_not_keep_it(session, monkeypatch):
    outcome = session.run(shell("sleep 5.75 & echo done", deadline_s=30))
    assert (outcome.status, outcome.stdout) == (0, "done\n")
    assert running("5.75") != []


def test_an_argv_too_long_for_a_line_arrives_whole(session):
    words = [f"{number:0100d}" for number in range(3000)]
    outcome = session.run(Command(argv=("printf", "%s\\n", *words)))
    assert outcome.stdout.split() == words


def test_one_warm_connection_serves_many_commands(shared_site):
    server = shared_site.servers[0]
    before = server.log().count("Accepted publickey")
    with shared_site.connections() as connections:
        for _ in range(5):
            assert connections.session(node(server)).run(Command(argv=("true",))).ok
        threads = [
            threading.Thread(
                target=connections.session(node(server)).batch, args=([Command(argv=("sleep", "0.2"))],)
            )
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert server.log().count("Accepted publickey") == before + 1


def test_a_connection_that_died_meanwhile_is_made_again(site):
    server = site.serve()
    with site.connections() as connections:
        session = connections.session(node(server))
        assert session.run(Command(argv=("true",))).ok
        server.cut()
        assert session.run(Command(argv=("echo", "again"))).stdout == "again\n"


@pytest.mark.parametrize(
    ("changes", "told", "hint"),
    [
        (True, "whether it took effect is not known", "look before doing it again: fleetops probe node-1"),
        (False, "it was only reading", "fleetops probe node-1"),
    ],
)
def test_a_connection_that_breaks_during_a_command_leaves_it_unknown(site, changes, told, hint):
    server = site.serve()
    started = threading.Event()
    with site.connections() as connections:
        session = connections.session(node(server))
        breaker = threading.Thread(target=lambda: (started.wait(10), server.cut()), daemon=True)
        breaker.start()
        with pytest.raises(ConnectionLost, match=f"; {told}$") as lost:
            session.run(
                shell("echo go; sleep 73.25", deadline_s=60, changes=changes), lambda _: started.set()
            )
    assert (lost.value.host, lost.value.hint) == ("node-1", hint)
    assert isinstance(lost.value, Unreachable)


def test_a_login_that_runs_no_commands_says_so(site):
    server = site.serve("ForceCommand echo This account is not available; exit 1")
    with site.connections() as connections, pytest.raises(Unreachable, match="This account is not available"):
        connections.session(node(server)).run(Command(argv=("true",)))
    with site.connections() as connections, pytest.raises(Unreachable, match="This account is not available"):
        connections.session(node(server)).batch([Command(argv=("true",))])


def test_a_host_that_falls_silent_is_not_waited_for(site, monkeypatch):
    monkeypatch.setattr(session_module, "START_S", 0.5)
    server = site.serve("ForceCommand sleep 3.75")
    with site.connections() as connections, pytest.raises(ConnectionLost, match="no sign of life") as caught:
        connections.session(node(server)).run(Command(argv=("true",)))
    assert caught.value.reason is Silence.TIMEOUT


def test_nothing_can_be_started_once_its_calls_were_ended(shared_site):
    with shared_site.connections() as connections:
        session = connections.session(node(shared_site.servers[0]))
        assert session.run(Command(argv=("true",))).ok
        session.end_running(1.0)
        assert session.may_run_s == 0
        with pytest.raises(Unreachable, match="not started"):
            session.run(Command(argv=("true",)))
        assert session.may_run_s == 0


def test_a_call_whose_end_was_not_seen_may_still_run(site):
    server = site.serve()
    with site.connections() as connections:
        session = connections.session(node(server))
        with pytest.raises(ConnectionLost):
            session.run(
                Command(argv=("sh", "-c", "echo; sleep 60"), deadline_s=50), on_output=lambda _: server.cut()
            )
        assert 0 < session.may_run_s <= 52
