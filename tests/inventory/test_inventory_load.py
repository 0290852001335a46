"""A good inventory becomes frozen objects; the shipped example is one."""

import dataclasses
from pathlib import Path

import pytest

from fleetops.inventory import definitions as keys
from fleetops.inventory import load_inventory
from fleetops.model.errors import UsageError
from fleetops.model.fleet import Flag, Guest, HostMemory, Hypervisor, Node, Profile
from fleetops.resources import resource_folder


@pytest.fixture(scope="module")
def example():
    return load_inventory(resource_folder("inventory"))


def test_the_example_holds_the_incidents_node(example):
    assert example.nodes["node-174"] == Node(
        name="node-174",
        address="node-174.example",
        user="root",
        port=22,
        hypervisor="pve-01",
        guest=Guest(kind="lxc", id=174),
        gpus=8,
        engine="sglang",
        source="/root/sglang/python/sglang",
        profile="hicache48",
        labels={"rack": "a"},
    )


def test_the_example_has_every_kind_of_host(example):
    kinds = {node.guest.kind if node.guest else "bare" for node in example.nodes.values()}
    assert kinds == {"lxc", "vm", "bare"}
    assert example.hypervisors["pve-02"] == Hypervisor(name="pve-02", address="pve-02.example", user="root")


def test_the_example_profile_is_the_size_at_which_the_node_came_back(example):
    assert example.profiles["hicache48"] == Profile(
        name="hicache48",
        engine="sglang",
        model="/models/example",
        ranks=8,
        port=30000,
        flags=(
            Flag(name="enable_hierarchical_cache", value=True),
            Flag(name="hicache_size", value=48, unit="GB", scope="per-rank"),
            Flag(name="mem_fraction_static", value=0.88),
            Flag(name="enable_metrics", value=True),
        ),
        host_memory=HostMemory(reserve_bytes=40 * 10**9, floor_bytes=16 * 10**9),
        ready_deadline_s=900.0,
        watch_s=120.0,
    )


def test_the_example_has_a_profile_whose_size_is_left_to_the_launch(example):
    flag = example.profiles["hicache-auto"].flag("--hicache-size")
    assert flag == Flag(name="hicache_size", value="auto", unit="GB", scope="per-rank")


def test_a_node_needs_only_its_address(write):
    inventory = load_inventory(write("nodes: {n1: {address: host.lan}}"))
    assert inventory.nodes == {"n1": Node(name="n1", address="host.lan")}


def test_what_is_left_out_of_a_profile_is_the_models_own_default(write):
    inventory = load_inventory(
        write("nodes: {}", "profiles: {p: {engine: vllm, model: org/name, ranks: 1, port: 8000}}")
    )
    assert inventory.profiles["p"] == Profile(name="p", engine="vllm", model="org/name", ranks=1, port=8000)


def test_the_documented_defaults_are_the_models():
    defaults = {field.name: field.default for field in dataclasses.fields(Profile)}
    memory = HostMemory()
    assert keys.COMMAND.default == defaults["command"]
    assert keys.READY_DEADLINE.default == defaults["ready_deadline_s"]
    assert keys.WATCH.default == defaults["watch_s"]
    assert (keys.RESERVE.default, keys.FLOOR.default) == (memory.reserve_bytes, memory.floor_bytes)
    assert keys.ENGINE.default == Node(name="n", address="a").engine


ONE_FILE = (
    "nodes: {n1: {address: h, profile: p}}\nprofiles: {p: {engine: sglang, model: /m, ranks: 8, port: 1}}\n"
)


def test_one_file_may_hold_both(write):
    folder = write(ONE_FILE)
    assert load_inventory(folder / "fleet.yaml").profiles.keys() == {"p"}


def test_profiles_beside_a_named_file_are_read_too(write):
    folder = write(
        "nodes: {n1: {address: h, profile: q}}",
        "profiles: {q: {engine: sglang, model: /m, ranks: 8, port: 1}}",
    )
    other = (folder / "fleet.yaml").rename(folder / "mine.yaml")
    assert load_inventory(other).profiles.keys() == {"q"}


def test_settings_start_at_the_inventorys_folder(write):
    folder = write(
        "nodes: {}\nsettings: {ssh-config: ssh/config, known-hosts: /etc/hosts.known, state: state}\n"
    )
    settings = load_inventory(folder).settings
    assert settings.ssh_config == folder / "ssh/config"
    assert settings.known_hosts == Path("/etc/hosts.known")
    assert settings.state == folder / "state"


def test_labels_and_variables_keep_the_text_that_stands_in_the_file(write):
    profile = (
        "{engine: sglang, model: /m, ranks: 1, port: 1, environment: {A: 1, B: true, C: no, D: '', E: 0x10}}"
    )
    inventory = load_inventory(
        write("nodes: {n: {address: h, labels: {row: 007}}}", f"profiles: {{p: {profile}}}")
    )
    assert inventory.nodes["n"].labels == {"row": "007"}
    assert inventory.profiles["p"].environment == {"A": "1", "B": "true", "C": "no", "D": "", "E": "0x10"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("48", 48),
        ("-1", -1),
        ("0.88", 0.88),
        ("1e3", 1000.0),
        ("auto", "auto"),
        ("'48'", "48"),
        ("'yes'", "yes"),
        ("fp8_e5m2", "fp8_e5m2"),
        ("'{\"a\": 1}'", '{"a": 1}'),
    ],
)
def test_a_plain_flag_has_the_type_it_is_written_with(write, written, value):
    flags = f"{{kv-cache-dtype: {written}}}"
    fleet = (
        f"nodes: {{}}\nprofiles: {{p: {{engine: sglang, model: /m, ranks: 1, port: 1, flags: {flags}}}}}\n"
    )
    found = load_inventory(write(fleet)).profiles["p"].flags[0]
    assert (found.name, found.value, type(found.value)) == ("kv_cache_dtype", value, type(value))


def test_a_machine_id_is_kept_in_lower_case(write):
    inventory = load_inventory(write(f"nodes: {{n: {{address: h, machine-id: {'AB' * 16}}}}}"))
    assert inventory.nodes["n"].machine_id == "ab" * 16


def test_a_folder_without_a_fleet_says_what_the_file_must_be_called(tmp_path):
    (tmp_path / "fleet.yml").write_text("nodes: {}")
    with pytest.raises(UsageError, match=r"there is no inventory at .*fleet\.yaml") as caught:
        load_inventory(tmp_path)
    assert caught.value.hint == "it must be called fleet.yaml; is it `fleet.yml`?"
