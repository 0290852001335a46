"""The files that servers and clients are given."""

from pathlib import Path

import pytest

from bench import texts
from bench.faults import SHARES, kinds
from bench.fleet import batched, loopback_addresses, write_fleet
from fleetops.inventory import select_hosts
from fleetops.inventory.load import load_inventory

LOGIN = texts.Login(user="ops", port=2222, key=Path("/k/key"), known_hosts=Path("/k/known_hosts"))


def sshd_config(addresses):
    return texts.sshd_config(
        addresses,
        2222,
        host_key=Path("/k/host"),
        authorized_keys=Path("/k/key.pub"),
        home=Path("/k/home"),
        user="ops",
    ).splitlines()


def test_a_server_listens_on_its_addresses_and_lets_one_user_in_by_key():
    lines = sshd_config(["127.80.0.1", "127.80.0.2"])
    assert lines[:2] == ["ListenAddress 127.80.0.1:2222", "ListenAddress 127.80.0.2:2222"]
    assert {"AllowUsers ops", "PasswordAuthentication no", "KbdInteractiveAuthentication no"} <= set(lines)
    assert {"PermitRootLogin prohibit-password", "PidFile none", "HostKey /k/host"} <= set(lines)


@pytest.mark.parametrize("count", [0, 17])
def test_a_server_takes_one_to_sixteen_addresses(count):
    with pytest.raises(ValueError, match="1 to 16"):
        sshd_config([f"127.80.0.{n + 1}" for n in range(count)])


def test_every_address_is_on_loopback_and_its_own():
    addresses = loopback_addresses(1000, 80)
    assert len(set(addresses)) == 1000
    assert all(address.startswith("127.80.") for address in addresses)
    assert not any(address.endswith((".0", ".255")) for address in addresses)


def test_addresses_are_dealt_out_in_groups():
    groups = list(batched([str(n) for n in range(34)], 16))
    assert [len(group) for group in groups] == [16, 16, 2]
    assert [one for group in groups for one in group] == [str(n) for n in range(34)]


def test_clients_verify_host_keys():
    text = texts.ssh_config(LOGIN)
    assert "StrictHostKeyChecking yes" in text
    assert "UserKnownHostsFile /k/known_hosts" in text
    assert "KexAlgorithms" not in text
    assert "KexAlgorithms curve25519-sha256" in texts.ssh_config(LOGIN, key_exchange=texts.CURVE25519)


def test_keys_are_known_by_address_and_port():
    assert (
        texts.known_hosts({"127.80.0.1": "ssh-ed25519 AAAA"}, 2222) == "[127.80.0.1]:2222 ssh-ed25519 AAAA\n"
    )


def test_fleetops_reads_the_inventory_that_it_is_given(tmp_path):
    keys = dict.fromkeys(loopback_addresses(20, 80), "ssh-ed25519 AAAA")
    fleet = write_fleet(tmp_path / "fleet", keys, user="ops", port=2222, key=tmp_path / "key")
    inventory = load_inventory(fleet.inventory)
    assert tuple(inventory.nodes) == fleet.names
    assert {node.port for node in inventory.nodes.values()} == {2222}
    assert inventory.settings.known_hosts == fleet.login.known_hosts
    assert fleet.host_list.read_text().split() == list(fleet.addresses)


def test_the_large_inventory_is_in_order(tmp_path):
    (tmp_path / "fleet.yaml").write_text(texts.large_fleet_yaml(90))
    (tmp_path / "profiles.yaml").write_text(texts.PROFILES_YAML)
    inventory = load_inventory(tmp_path)
    assert (len(inventory.nodes), len(inventory.hypervisors)) == (90, 12)
    assert len(select_hosts(inventory, ["@rack-002"])) == 10


def test_a_client_has_nothing_of_the_caller_s_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    monkeypatch.setenv("FLEETOPS_INVENTORY", "/theirs")
    fleet = write_fleet(tmp_path / "fleet", {}, user="ops", port=2222, key=tmp_path / "key")
    assert not {"SSH_AUTH_SOCK", "FLEETOPS_INVENTORY"} & set(fleet.environ())
    assert fleet.environ()["HOME"].startswith(str(tmp_path))


@pytest.mark.parametrize(("count", "many"), [(1000, (20, 20, 10)), (100, (2, 2, 1)), (8, (1, 1, 1))])
def test_shares_of_a_faulty_fleet(count, many):
    of = kinds(count)
    assert len(of) == count
    assert tuple(of.count(kind) for kind in SHARES) == many


def test_faulty_hosts_are_spread_over_the_fleet():
    of = kinds(1000)
    assert all(kind in of[start : start + 100] for kind in SHARES for start in range(0, 1000, 100))
