"""Commands that need root on hosts where the login is another user.

The server's PATH leads to a sudo of the test's own, which speaks as the real one does with `-S -p PROMPT`.
"""

import shutil

import pytest
from ssh_site import node

from fleetops.model.command import Command, shell
from fleetops.model.errors import Unreachable
from fleetops.ssh.session import SshSession
from fleetops.ssh.sudo import NoRoot

WHO = shell("echo $BECAME; cat", root=True, stdin="data for the command\n")

SUDO = """#!/bin/sh
prompt=$3; shift 4
echo "$*" >>{folder}/called
{speech}
BECAME=root exec "$@"
"""
FREE = "echo 'a lecture' >&2"
ASKS = """tries=0
while :; do
  printf %s "$prompt" >&2
  IFS= read -r given || { echo "sudo: no password was provided" >&2; exit 1; }
  [ "$given" = "open sesame" ] && break
  echo "Sorry, try again." >&2
done"""
FORBIDS = "echo 'operator is not in the sudoers file.' >&2; exit 1"


@pytest.fixture
def host(site, monkeypatch):
    """A server whose login counts as another user, and what its sudo is like."""
    monkeypatch.setattr(SshSession, "_needs_sudo", lambda self, command: command.root)
    tools = site.folder / "tools"
    tools.mkdir()
    for name in ("sh", "timeout", "cat", "id", "echo", "sleep"):
        (tools / name).symlink_to(shutil.which(name))

    def prepare(speech=None):
        if speech is not None:
            (tools / "sudo").write_text(SUDO.format(folder=site.folder, speech=speech))
            (tools / "sudo").chmod(0o755)
        return node(site.serve(environment=f"PATH={tools}"))

    return prepare


class Asked:
    def __init__(self, answer):
        self.answer = answer
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return self.answer


def test_without_a_password(site, host):
    asked = Asked("not needed")
    with site.connections(ask_secret=asked) as connections:
        outcome = connections.session(host(FREE)).run(WHO)
    assert outcome.stdout == "root\ndata for the command\n"
    assert outcome.stderr == ""
    assert asked.prompts == []


def test_with_a_password_asked_once_per_run(site, host):
    asked = Asked("open sesame")
    target = host(ASKS)
    with site.connections(ask_secret=asked) as connections:
        for _ in range(2):
            outcome = connections.session(target).run(WHO)
            assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "root\ndata for the command\n", "")
    assert asked.prompts == ["sudo password: "]
    assert "sesame" not in (site.folder / "called").read_text()


def test_a_batch_asks_for_root_where_it_needs_it_only(site, host):
    with site.connections(ask_secret=Asked("open sesame")) as connections:
        outcomes = connections.session(host(ASKS)).batch(
            [shell("echo $BECAME-"), WHO, shell("echo $BECAME-")]
        )
    assert [outcome.stdout for outcome in outcomes] == ["-\n", "root\ndata for the command\n", "-\n"]


def test_a_wrong_password_runs_nothing(site, host):
    with (
        site.connections(ask_secret=Asked("wrong")) as connections,
        pytest.raises(NoRoot, match="did not accept"),
    ):
        connections.session(host(ASKS)).run(WHO)


def test_nobody_to_ask(site, host):
    with site.connections() as connections, pytest.raises(NoRoot, match="sudo wants a password"):
        connections.session(host(ASKS)).run(WHO)


def test_a_user_who_may_not(site, host):
    with site.connections() as connections, pytest.raises(NoRoot, match="not in the sudoers file"):
        connections.session(host(FORBIDS)).run(WHO)


def test_no_sudo_there(site, host):
    with (
        site.connections() as connections,
        pytest.raises(NoRoot, match="sudo is not installed there") as refused,
    ):
        connections.session(host()).run(WHO)
    assert isinstance(refused.value, Unreachable)
    assert "user: root" in refused.value.hint


def test_the_deadline_starts_when_the_password_is_in(site, host):
    with site.connections(ask_secret=Asked("open sesame")) as connections:
        outcome = connections.session(host(ASKS)).run(
            Command(argv=("sleep", "60"), root=True, deadline_s=0.3)
        )
    assert outcome.timed_out
