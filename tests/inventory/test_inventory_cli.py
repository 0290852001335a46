"""`fleetops inventory`, as it is typed."""

import io
import json

import pytest
from rich.text import Text

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.exit import Exit

FLEET = """\
hypervisors:
  pve-01: {address: 10.1.0.2, user: root}
nodes:
  node-171: {address: 10.1.0.171, hypervisor: pve-01, guest: {kind: lxc, id: 171}, profile: hicache48}
  node-172: {address: 10.1.0.172, port: 2222, gpus: 8, protected: true}
groups:
  rack-a: ["node-[171-172]"]
"""
PROFILES = """\
profiles:
  hicache48:
    engine: sglang
    model: /m
    ranks: 8
    port: 30000
    environment: {HF_TOKEN: hunter2}
    flags: {api-key: hunter3, hicache-size: {value: 48, unit: GB, scope: per-rank}}
"""


@pytest.fixture
def fleetops(write):
    folder = write(FLEET, PROFILES)

    def typed(*words):
        """Exit code, stdout and stderr of `fleetops inventory WORDS`."""
        world = World(stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO(), environ={}, cwd=folder)
        code = run(["inventory", *words, "--inventory", str(folder)], world)
        return code, world.stdout.getvalue(), world.stderr.getvalue()

    return typed


def test_check_says_what_is_in_order(fleetops):
    code, out, err = fleetops("check")
    assert (code, err) == (Exit.FINE, "")
    assert out.endswith("fleet.yaml and " + out.split(" and ")[1])
    assert "2 nodes, 1 hypervisor, 1 group, 1 profile, no problem" in out


def test_check_says_every_problem_and_exits_2(fleetops, write):
    write("nodes:\n  n1: {adress: h}\n  n1: {address: h}\n")
    code, out, err = fleetops("check")
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith("error: the inventory has 3 problems; no host was contacted\n")
    assert "fleet.yaml:2:3: nodes.n1: `address` is missing" in err
    assert "fleet.yaml:3:3: duplicate key `n1` (it stands on line 2 already)" in err


def test_with_json_the_problems_are_a_list(fleetops, write):
    write("nodes:\n  n1: {address: h, gpu: 8}\n")
    code, out, err = fleetops("check", "--json")
    body = json.loads(err)
    assert (code, out, body["schema"], body["error"]) == (
        Exit.USAGE,
        "",
        "fleetops.error/1",
        "inventory-invalid",
    )
    (problem,) = body["problems"]
    assert (problem["line"], problem["column"], problem["hint"]) == (2, 20, "did you mean `gpus`?")


def test_list_shows_the_whole_fleet(fleetops):
    code, out, _ = fleetops("list")
    lines = out.splitlines()
    assert code == Exit.FINE
    assert lines[1].split() == [
        "node-171",
        "10.1.0.171",
        "-",
        "lxc",
        "171",
        "on",
        "pve-01",
        "?",
        "sglang",
        "hicache48",
    ]
    assert lines[2].split() == [
        "node-172",
        "10.1.0.172",
        "port",
        "2222",
        "-",
        "bare",
        "metal",
        "8",
        "sglang",
        "-",
        "protected",
    ]
    assert "pve-01       10.1.0.2   root   node-171" in out
    assert "@rack-a   node-[171-172]" in out
    assert "hicache48   sglang   /m      8       30000   node-171" in out


def test_list_with_patterns_shows_what_they_select(fleetops):
    _, out, _ = fleetops("list", "@rack-a,!node-171")
    assert [line.split()[0] for line in out.splitlines()] == ["node", "node-172"]


def test_list_as_json_has_the_hosts_by_kind(fleetops):
    _, out, _ = fleetops("list", "--json", "*")
    body = json.loads(out)
    assert body["schema"] == "fleetops.inventory-list/1"
    assert [(host["kind"], host["name"]) for host in body["hosts"]] == [
        ("node", "node-171"),
        ("node", "node-172"),
        ("hypervisor", "pve-01"),
    ]
    assert body["hosts"][0]["guest"] == {"kind": "lxc", "id": 171}
    assert body["profiles"]["hicache48"]["flags"]["hicache_size"] == {
        "value": 48,
        "unit": "GB",
        "scope": "per-rank",
    }


def test_show_tells_where_each_value_comes_from(fleetops):
    _, out, _ = fleetops("show", "node-171")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert rows["node-171"] == ["node,", "fleet.yaml:4:3"]
    assert rows["guest.id"] == ["171", "fleet.yaml:4:78"]
    assert rows["protected"] == ["false", "default"]
    assert rows["port"] == ["-", "ssh_config's,", "else", "22"]


def test_show_names_the_nodes_that_use_a_profile(fleetops):
    _, out, _ = fleetops("show", "hicache48")
    rows = {tuple(line.split("   ")[0].split()): line.split()[-5:] for line in out.splitlines()}
    assert rows[("flags.hicache-size",)][1:] == ["48", "GB", "per-rank", "profiles.yaml:8:45"]
    assert rows[("host-memory.reserve",)][1:] == ["40", "GB", "default"]
    assert rows[("used", "by")] == ["node-171", "nodes", "that", "name", "it"]


def test_show_as_json_has_the_same(fleetops):
    _, out, _ = fleetops("show", "hicache48", "--json")
    (entry,) = json.loads(out)["entries"]
    settings = {setting["key"]: (setting["value"], setting["source"]) for setting in entry["settings"]}
    assert settings["ranks"] == (8, "profiles.yaml:5:12")
    assert settings["command"] == (["python3"], "default")


@pytest.mark.parametrize(
    "words", [["show"], ["show", "--json"], ["list"], ["list", "--json"], ["check", "--json"]]
)
def test_secrets_are_not_shown(fleetops, words):
    _, out, _ = fleetops(*words)
    assert "hunter" not in out


def test_show_of_nothing_known_names_the_nearest(fleetops):
    code, _, err = fleetops("show", "node-17")
    assert code == Exit.USAGE
    assert "no host is named `node-17`, and no profile either" in err


@pytest.mark.parametrize("command", ["check", "list", "show"])
def test_each_shape_of_json_has_a_schema_of_its_own(fleetops, command):
    assert json.loads(fleetops(command, "--json")[1])["schema"] == f"fleetops.inventory-{command}/1"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_list_keeps_its_rows_and_columns_on_a_narrow_terminal(write, columns):
    folder = write(FLEET.replace("10.1.0.171", "node-171.rack-a.example"), PROFILES)
    world = World(
        stdin=io.StringIO(),
        stdout=Terminal(),
        stderr=io.StringIO(),
        environ={"COLUMNS": str(columns)},
        cwd=folder,
    )
    assert run(["inventory", "list", "--inventory", "."], world) == Exit.FINE
    lines = Text.from_ansi(world.stdout.getvalue()).plain.splitlines()
    assert max(map(len, lines)) <= columns
    # A line that continues a row starts below a later column, never below the name.
    starts = [line.split()[0] for line in lines if line[:1].strip()]
    names = [
        "node",
        "node-171",
        "node-172",
        "hypervisor",
        "pve-01",
        "group",
        "@rack-a",
        "profile",
        "hicache48",
    ]
    assert starts == names


def test_a_file_that_is_no_inventory_is_not_shown(fleetops, write):
    write("root:x:0:0:root:/root:/bin/bash\n")
    code, _, err = fleetops("check")
    assert code == Exit.USAGE
    assert "expected a fleet (a mapping with nodes), found plain text" in err
    assert "/bin/bash" not in err


def typed_in(folder, *words):
    world = World(stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO(), environ={}, cwd=folder)
    code = run(["inventory", *words], world)
    return code, world.stdout.getvalue(), world.stderr.getvalue()


def test_the_example_is_written_whole_and_in_order(tmp_path):
    code, out, _ = typed_in(tmp_path, "example", "my fleet/inventory")
    assert code == Exit.FINE
    assert "fleetops inventory check --inventory 'my fleet/inventory'" in out
    code, out, _ = typed_in(tmp_path, "check", "--inventory", "my fleet/inventory")
    assert code == Exit.FINE
    assert f"{tmp_path}/my fleet/inventory/profiles.yaml: 6 nodes" in out


def test_the_example_overwrites_nothing(tmp_path):
    (tmp_path / "profiles.yaml").write_text("mine")
    code, _, err = typed_in(tmp_path, "example", ".")
    assert (code, [path.name for path in tmp_path.iterdir()]) == (Exit.USAGE, ["profiles.yaml"])
    assert f"{tmp_path}/profiles.yaml exists already" in err
    assert (tmp_path / "profiles.yaml").read_text() == "mine"


def test_an_example_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    code, _, err = typed_in(tmp_path, "example", "file/below")
    assert code == Exit.USAGE
    assert f"cannot write the example into {tmp_path}/file/below: Not a directory" in err


def test_the_example_as_json_names_its_files(tmp_path):
    body = json.loads(typed_in(tmp_path, "example", "new", "--json")[1])
    assert body["schema"] == "fleetops.inventory-example/1"
    assert body["files"] == [f"{tmp_path}/new/fleet.yaml", f"{tmp_path}/new/profiles.yaml"]


@pytest.mark.parametrize("words", [["schema"], ["schema", "profiles"]])
def test_schema_is_json(fleetops, words):
    code, out, _ = fleetops(*words)
    assert code == Exit.FINE
    assert json.loads(out)["$schema"].endswith("2020-12/schema")


def test_options_may_stand_before_the_subcommand_too(write):
    world = World(
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        environ={},
        cwd=write(FLEET, PROFILES),
    )
    assert run(["inventory", "--json", "--inventory", "fleet.yaml", "list"], world) == Exit.FINE
    assert json.loads(world.stdout.getvalue())["path"] == str(world.cwd / "fleet.yaml")
