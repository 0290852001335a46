"""What reaches a program on a host is what was put into its argv, byte for byte, and nothing else runs."""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetops.model.command import Command
from fleetops.model.errors import UsageError
from fleetops.ssh import quote
from fleetops.ssh.streams import Sections

SHELLS = [
    shell
    for shell in (("dash",), ("bash",), ("bash", "--posix"), ("busybox", "sh"))
    if shutil.which(shell[0])
]
ATTACKS = [
    b"$(touch canary)", b"`touch canary`", b"'; touch canary; '", b"\n touch canary\n", b"; touch canary;", b"|touch canary",
    b"&& touch canary", b"${IFS}", b"\\", b"'", b'"', b"'\\''", b"#", b"~", b"*", b"{a,b}", b"!!", b"-", b"--", b"=", b"$'\\x41'", b"%s\\0",
    b"EOF", b"\r\n", b"\xff\xfe", b"\x80\x81\x82\x88", "é€".encode(), b"",
]  # fmt: skip

piece = st.sampled_from(ATTACKS) | st.binary(max_size=8).map(lambda data: data.replace(b"\0", b""))
word = st.lists(piece, max_size=4).map(b"".join).map(quote.decode)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def empty(tmp_path):
    """A folder that must stay empty: an injected command would leave its canary here."""
    folder = tmp_path / "empty"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


def print_words(words):
    """A command whose output is its arguments, each ended by NUL; printf's own operands need one at least."""
    return Command(argv=("printf", "%s\\0", *words)) if words else Command(argv=("printf", ""))


def login(shell, line, folder, stdin=b""):
    """What sshd does with a line."""
    return subprocess.run([*shell, "-c", line], input=stdin, capture_output=True, cwd=folder, check=False)


def streams(nonce, limits, done, *, closed):
    both = []
    for data in (done.stdout, done.stderr):
        sections = Sections(nonce, limits, closed=closed)
        sections.feed(data)
        sections.finish()
        both.append(sections)
    return both


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@quick
@given(words=st.lists(word, max_size=5))
def test_a_command_line_delivers_its_arguments_exactly(shell, empty, words):
    nonce = quote.new_nonce()
    done = login(shell, quote.command_line(print_words(words), nonce), empty)
    out, err = streams(nonce, [1 << 20], done, closed=False)
    assert done.returncode == 0
    assert out.part(0).content == b"".join(quote.encode(word) + b"\0" for word in words)
    assert err.part(0).content == b""


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@quick
@given(calls=st.lists(st.tuples(st.lists(word, max_size=3), st.binary(max_size=40)), min_size=1, max_size=4))
def test_a_batch_delivers_arguments_and_inputs_exactly(shell, empty, calls):
    commands = []
    for words, stdin in calls:
        commands += [print_words(words), Command(argv=("cat",), stdin=quote.decode(stdin))]
    nonce = quote.new_nonce()
    done = subprocess.run(
        [
            *shell,
            "-c",
            quote.batch_line(nonce).replace(b"exec sh'", b"exec " + " ".join(shell).encode() + b"'"),
        ],
        input=quote.batch_script(commands, nonce),
        capture_output=True,
        cwd=empty,
        check=False,
    )
    out, err = streams(nonce, [1 << 20] * len(commands), done, closed=True)
    expected = []
    for words, stdin in calls:
        expected += [b"".join(quote.encode(word) + b"\0" for word in words), stdin]
    assert [out.part(number).content for number in range(len(commands))] == expected
    assert out.statuses == err.statuses == ["", *["0"] * len(commands)]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_script_that_arrives_in_part_runs_nothing(shell, empty, share):
    script = quote.batch_script(
        [Command(argv=("touch", f"canary-{number}")) for number in range(9)], quote.new_nonce()
    )
    script = script[: int(len(script) * share)]
    subprocess.run(shell, input=script, capture_output=True, cwd=empty, check=False)


def fed(shell, command, folder, share=1.0):
    """A change whose connection breaks after that share of its standard input has come, and its output."""
    nonce = quote.new_nonce()
    line = quote.command_line(command, nonce).replace(b"exec sh ", f"exec {' '.join(shell)} ".encode())
    sent = quote.command_input(command, nonce)
    done = login(shell, line, folder, sent[: int(len(sent) * share)])
    return done, streams(nonce, [1 << 20], done, closed=False)[0].part(0).content


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@quick
@given(stdin=st.lists(piece, min_size=1, max_size=6).map(b"".join).filter(len))
def test_a_change_is_given_its_input_exactly(shell, empty, stdin):
    command = Command(argv=("cat",), stdin=quote.decode(stdin), changes=True)
    done, content = fed(shell, command, empty)
    assert (done.returncode, content) == (0, stdin)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_change_whose_input_arrives_in_part_is_not_made(shell, empty, share):
    command = Command(argv=("touch", "canary"), stdin="a line of a file\n" * 50, changes=True)
    done, content = fed(shell, command, empty, share)
    assert (done.returncode, content) == (1, b"")


@pytest.mark.parametrize("place", [0, 1])
def test_nul_in_an_argument_is_refused_before_anything_is_sent(place):
    argv = ["echo", "fine"]
    argv[place] += "\0"
    for compose in (quote.command_line, lambda command, nonce: quote.batch_script([command], nonce)):
        with pytest.raises(UsageError, match="NUL"):
            compose(Command(argv=tuple(argv)), "nonce")


def test_a_character_that_has_no_bytes_is_refused():
    with pytest.raises(UsageError, match="no bytes"):
        quote.command_line(Command(argv=("echo", "\ud800")), "nonce")


def test_no_command_at_all_is_refused():
    with pytest.raises(UsageError, match="no command"):
        quote.command_line(Command(argv=()), "nonce")


def test_what_start_up_files_print_is_told_apart(empty):
    nonce = quote.new_nonce()
    line = b"echo noise; echo noise >&2; " + quote.command_line(Command(argv=("echo", "answer")), nonce)
    out, err = streams(nonce, [100], login(("sh",), line, empty), closed=False)
    assert (out.preamble, out.part(0).content) == (b"noise\n", b"answer\n")
    assert (err.preamble, err.part(0).content) == (b"noise\n", b"")


def test_standard_input_never_stands_in_the_line():
    line = quote.command_line(Command(argv=("cat",), stdin="secret"), quote.new_nonce(), sudo=True)
    assert b"secret" not in line


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("signal", ["SEGV", "KILL", "TERM"])
def test_death_by_signal_is_128_and_its_number(signal, shell, empty):
    import signal as signals

    command = Command(argv=("sh", "-c", f"kill -{signal} $$"))
    line = quote.command_line(command, quote.new_nonce()).replace(
        b"exec sh ", f"exec {' '.join(shell)} ".encode()
    )
    done = login(shell, line, empty)
    assert done.returncode == 128 + signals.Signals[f"SIG{signal}"]
    assert done.stderr.count(b"\n") == 1  # its own marker, and nothing that a shell says of the death


def test_a_deadline_of_nothing_is_still_a_deadline(empty):
    done = login(
        ("sh",), quote.command_line(Command(argv=("sleep", "60"), deadline_s=0), quote.new_nonce()), empty
    )
    assert done.returncode == 124


def test_the_group_of_a_command_that_ignores_sigterm_is_killed(empty, monkeypatch):
    monkeypatch.setattr(quote, "KILL_AFTER_S", 0.2)
    command = Command(argv=("sh", "-c", "trap '' TERM; sleep 60 & sleep 60"), deadline_s=0.2)
    done = login(
        ("sh",), quote.command_line(command, quote.new_nonce()), empty
    )  # returns once its pipes are closed
    assert done.returncode == 137
