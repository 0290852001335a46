"""What ssh_config says of a server, and that the inventory wins."""

import os

import pytest

from fleetops.model.errors import UsageError
from fleetops.model.fleet import Settings
from fleetops.ssh.config import SYSTEM_KNOWN_HOSTS, SshConfig, jumps_of


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def config(home, text="", **settings):
    (home / ".ssh/config").write_text(text)
    return SshConfig(Settings(**settings), {"HOME": str(home)})


def test_an_alias_gives_address_user_port_and_timeout(home):
    text = "Host node-174\n  HostName 10.1.230.174\n  User operator\n  Port 2222\n  ConnectTimeout 7\n"
    found = config(home, text).connection("node-174")
    assert (found.host, found.user, found.port, found.connect_timeout) == (
        "10.1.230.174",
        "operator",
        2222,
        7,
    )


def test_the_inventory_wins(home):
    text = "Host *\n  User operator\n  Port 2222\n"
    found = config(home, text).connection("10.1.230.174", user="root", port=22)
    assert (found.user, found.port) == ("root", 22)


def test_a_named_file_replaces_the_users(home):
    named = home / "named"
    named.write_text("Host *\n  User named\n")
    assert config(home, "Host *\n  User own\n", ssh_config=named).connection("x").user == "named"


def test_a_named_file_must_exist(home):
    with pytest.raises(UsageError, match="does not exist"):
        config(home, ssh_config=home / "missing")


def test_a_file_that_makes_no_sense_is_named(home):
    with pytest.raises(UsageError, match=r"\.ssh/config"):
        config(home, "!!!\n")


@pytest.mark.parametrize("text", ["Host *\n  Port many\n", "Host *\n  ConnectTimeout soon\n"])
def test_a_value_that_makes_no_sense_is_a_usage_error(home, text):
    with pytest.raises(UsageError, match="makes no sense"):
        config(home, text).connection("node-174")


def test_includes_are_followed_and_leave_the_block_as_it_was(home):
    (home / ".ssh/conf.d").mkdir()
    (home / ".ssh/conf.d/one").write_text("Host node-174\n  Port 2174\n")
    (home / ".ssh/conf.d/two").write_text("Host node-175\n  Port 2175\n")
    found = config(home, "Host node-17?\n  Include conf.d/*\n  User operator\nInclude ~/.ssh/none\n")
    assert (found.connection("node-174").port, found.connection("node-174").user) == (2174, "operator")
    assert found.connection("node-175").port == 2175


def test_an_include_of_itself_is_refused(home):
    with pytest.raises(UsageError, match="includes itself"):
        config(home, "Include config\n")


@pytest.mark.parametrize(
    ("said", "hops"),
    [
        ("none", []),
        ("NONE", []),
        ("bastion", ["bastion"]),
        ("a, operator@b:2222", ["a", "operator@b:2222"]),
        ("ssh://operator@b:2222", ["operator@b:2222"]),
        ("node-174", []),
        ("operator@10.1.230.174:22", []),
    ],
)
def test_jumps(home, said, hops):
    """A pattern that covers the jump host itself must not make it jump through itself."""
    text = f"Host node-174\n  HostName 10.1.230.174\nHost *\n  ProxyJump {said}\n"
    assert jumps_of(config(home, text).connection("node-174")) == hops


def test_known_hosts_files_in_their_order(home):
    own = home / ".ssh"
    plain = config(home)
    assert plain.known_hosts(plain.connection("x")) == (
        own / "known_hosts",
        own / "known_hosts2",
        SYSTEM_KNOWN_HOSTS,
    )
    named = config(home, "Host *\n  UserKnownHostsFile ~/.ssh/other /elsewhere\n", known_hosts=home / "fleet")
    assert named.known_hosts(named.connection("x"))[:3] == (
        home / "fleet",
        own / "other",
        home.__class__("/elsewhere"),
    )


@pytest.fixture
def nameless(monkeypatch):
    """A uid that passwd does not know, in an environment that has no name for it either."""

    def unknown(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nameless")
def test_a_nameless_user_needs_no_name_where_the_login_is_given(home):
    text = "Host node-175\n  User operator\nHost *\n  IdentityFile ~/.ssh/key\n"
    found = config(home, text)
    assert found.connection("node-174", user="root").user == "root"
    assert found.connection("node-175").user == "operator"
    assert "LOGNAME" not in os.environ


@pytest.mark.usefixtures("nameless")
def test_a_nameless_user_without_a_login_is_told_which_host_lacks_one(home):
    with pytest.raises(UsageError, match=r"^node-174: no user is known") as caught:
        config(home, "Host *\n  IdentityFile ~/.ssh/key\n").connection("10.1.230.174", host="node-174")
    assert "user:" in caught.value.hint
    assert caught.value.host == "node-174"


@pytest.mark.usefixtures("nameless")
def test_a_nameless_user_needs_no_home():
    found = SshConfig(Settings(), {})
    assert found.connection("node-174", user="root").user == "root"


def test_fabrics_own_configuration_files_have_no_say(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    (home / ".fabric.yaml").write_text("user: somebody-else\nport: 9\n")
    assert config(home).connection("node-174").port == 22
