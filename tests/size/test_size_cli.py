"""`fleetops size` without inventory or profile: the command line with a small tree, its exit codes, and its misuse."""

import io
import json
import shutil
from pathlib import Path

import pytest
from sizing_cases import MODELS, proof

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.exit import Exit

STAND_IN = Path(__file__).parents[2] / "fleetops" / "lab" / "standin"
GOLDEN = (
    "--engine", "sglang", "--flag", "hicache_size", "--ranks", "8", "--tp", "8", "--page-size", "64",
    "--available", "445000000000",
)  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The lab's stand-in of SGLang 0.5.9, as a wheel would be unpacked."""
    folder = tmp_path_factory.mktemp("tree")
    for source in STAND_IN.glob("sglang*/**/*.txt"):
        place = folder / source.relative_to(STAND_IN).with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    return folder


class Desk:
    """A folder from which `size` is called; nothing is there but what a test puts there."""

    def __init__(self, folder, tree):
        self.folder, self.tree = folder, tree
        (folder / "config.json").write_text((MODELS / "deepseek-v3.json").read_text())

    def call(self, *words, source=True):
        stdout, stderr = io.StringIO(), io.StringIO()
        environ = {"HOME": str(self.folder), "FLEETOPS_STATE": str(self.folder / "state")}
        world = World(stdin=io.StringIO(), stdout=stdout, stderr=stderr, environ=environ, cwd=self.folder)
        given = ("--source", str(self.tree)) if source else ()
        code = run(["size", *given, *words], world)
        return code, stdout.getvalue(), stderr.getvalue()

    def json(self, *words):
        code, stdout, stderr = self.call("--json", *words)
        assert stderr == ""
        return code, json.loads(stdout)


@pytest.fixture
def desk(tmp_path, tree):
    return Desk(tmp_path, tree)


def test_the_incident_is_refused_with_the_number_that_fits(desk):
    code, stdout, stderr = desk.call(*GOLDEN, "--model-config", "config.json", "--set", "hicache_size=300")
    assert (code, stderr) == (Exit.REFUSED, "")
    assert "300 per rank asks 8 x 300 GB = 2,400 GB; 445 GB available, 2,011 GB too much; 48 fits" in stdout
    assert "srt/mem_cache/memory_pool_host.py:" in stdout


def test_json_of_the_incident(desk):
    code, body = desk.json(*GOLDEN, "--model-config", ".", "--set", "hicache-size=300")
    assert code == Exit.REFUSED
    wanted = {
        "schema": "fleetops.size/1", "ranks": 8, "unit": "GB", "scope": "per-rank", "pools": 1, "fits": 48,
        "asked": 300, "asked_total_bytes": 2400 * 10**9, "verdict": "does-not-fit", "bytes_per_token": 70272,
        "host_tokens": 4269184, "host_bytes": 4269184 * 70272, "exact": True, "version": "0.5.9",
    }  # fmt: skip
    assert {key: body[key] for key in wanted} == wanted
    assert body["check"]["sound"] is False


@pytest.mark.parametrize("asked", [(), ("--set", "hicache_size=48"), ("--set", "hicache_size=auto")])
def test_what_fits_is_0(desk, asked):
    code, body = desk.json(*GOLDEN, "--model-config", "config.json", *asked)
    assert (code, body["verdict"], body["fits"], body["host_tokens"]) == (Exit.FINE, "fits", 48, 683072)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--flag", "hicache_size", "--ranks", "8"), "how much memory is available is not known"),
        (("--flag", "hicache_sise", "--ranks", "8", "--available", "9e11"), "hicache_sise"),
    ],
)
def test_what_is_not_proven_or_not_known_is_3(desk, words, said):
    code, body = desk.json(*words)
    assert (code, body["verdict"]) == (Exit.UNKNOWN, "unproven")
    assert said in " ".join(body["unproven_because"])


@pytest.mark.parametrize("text", ["445000000000", "445e9", "445 GB", "445GB", "4.45e11"])
def test_bytes_are_written_as_people_write_them(desk, text):
    _, body = desk.json("--flag", "hicache_size", "--ranks", "8", "--available", text)
    assert body["available_bytes"] == 445 * 10**9


def test_reserve_and_floor_can_be_said(desk):
    _, body = desk.json(*GOLDEN, "--reserve", "0", "--floor", "5GB")
    assert (body["reserve_bytes"], body["floor_bytes"], body["fits"]) == (0, 5 * 10**9, 55)


def test_a_ratio_takes_its_device_tokens_from_an_option(desk, mocker):
    ratio = proof("hicache_ratio", unit="ratio", default=2.0)
    mocker.patch("fleetops.fleet.explain.explain_tree", return_value=ratio)
    words = (
        "--flag",
        "hicache_ratio",
        "--ranks",
        "8",
        "--available",
        "445e9",
        "--model-config",
        "config.json",
    )
    code, body = desk.json(
        *words, "--set", "hicache_ratio=2", "--device-tokens", "116171", "--page-size", "64"
    )
    assert (code, body["asked_total_bytes"]) == (Exit.FINE, 8 * 2 * 116171 * 70272)
    code, body = desk.json(*words, "--set", "hicache_ratio=2")
    assert code == Exit.UNKNOWN
    assert "--device-tokens N" in body["unproven_because"][0]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), ("--flag FLAG", "--ranks N")),
        (("--flag", "hicache_size"), ("--ranks N",)),
        (("--ranks", "8"), ("--flag FLAG",)),
    ],
)
def test_what_is_missing_offline_is_named_by_its_option(desk, words, named):
    code, stdout, stderr = desk.call(*words)
    assert (code, stdout) == (Exit.USAGE, "")
    assert all(name in stderr for name in named)
    assert "--source" not in stderr


def test_without_a_source_it_is_asked_for(desk):
    code, _, stderr = desk.call("--flag", "hicache_size", "--ranks", "8", source=False)
    assert code == Exit.USAGE
    assert "--source DIR or --release NAME==VERSION" in stderr
    assert "fleetops size --profile P [NODE]" in stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--available", "445 gigs"), "'445 gigs' is not a number of bytes"),
        (("--available", "-1"), "not a number of bytes"),
        (("--available", "1e99999999"), "not a number of bytes"),
        (("--available", "nan"), "not a number of bytes"),
        (("--available", "0.5"), "not a number of bytes"),
        (("--ranks", "0"), "'0' is not a number from 1 up"),
        (("--page-size", "x"), "'x' is not a number from 1 up"),
        (("--set", "hicache_size"), "sets nothing"),
        (("--set", "=3"), "names no flag"),
        (("--set", "hicache_size=lots"), "hicache_size=lots is no size"),
        (("--model-config", "nowhere.json"), "cannot read"),
        (("--model-config", "broken.json"), "is no JSON"),
        (("--model-config", "list.json"), "holds no JSON object"),
        (("--source", "nowhere"), "there is no folder"),
        (("--engine", "vllm"), "no engine's package"),
        (("--engine", "nobody"), "nobody"),
    ],
)
def test_misuse_is_said_in_words(desk, words, said):
    (desk.folder / "broken.json").write_text("{")
    (desk.folder / "list.json").write_text("[]")
    code, stdout, stderr = desk.call("--flag", "hicache_size", "--ranks", "8", "--available", "445e9", *words)
    assert (code, stdout) == (Exit.USAGE, "")
    assert said in stderr
    assert stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("hicach_size=300", "did you mean hicache_size?"),
        ("foo=3", "--flag foo sizes it"),
        ("--pages-size=64", "did you mean page_size?"),
    ],
)
def test_a_setting_that_nothing_looks_at_is_refused(desk, setting, said):
    code, stdout, stderr = desk.call(*GOLDEN, "--set", setting)
    assert (code, stdout) == (Exit.USAGE, "")
    assert "size does not count with a flag" in stderr
    assert said in stderr


def test_settings_that_shape_the_launch_are_taken(desk):
    settings = ("dp_size=8", "enable_dp_attention=true", "enable_hierarchical_cache=true", "nnodes=1")
    words = [word for setting in settings for word in ("--set", setting)]
    code, body = desk.json(*GOLDEN, *words)
    assert (code, body["fits"]) == (Exit.FINE, 48)


@pytest.mark.parametrize("words", [("--set", "--hicache-size=300"), ("--set=--hicache-size=300",)])
def test_a_setting_may_be_spelled_as_the_engine_does(desk, words):
    code, body = desk.json(*GOLDEN, *words)
    assert (code, body["asked"]) == (Exit.REFUSED, 300)


def test_a_size_of_0_is_left_to_the_ratio_and_so_unproven(desk):
    code, body = desk.json(*GOLDEN, "--set", "hicache_size=0")
    assert (code, body["verdict"]) == (Exit.UNKNOWN, "unproven")
    assert "leaves the size to hicache_ratio" in body["unproven_because"][0]
    assert "--flag hicache_ratio with --device-tokens N" in body["unproven_because"][0]
    assert "its check" not in desk.call(*GOLDEN, "--set", "hicache_size=0")[1]


def test_a_type_that_nobody_knows_is_misuse(desk):
    code, stdout, stderr = desk.call(*GOLDEN, "--kv-dtype", "foo")
    assert (code, stdout) == (Exit.USAGE, "")
    assert "'foo' is no type that is known" in stderr
    assert "fp8_e4m3" in stderr
    assert desk.call(*GOLDEN, "--kv-dtype", "FP8_E4M3")[0] == Exit.FINE


def test_where_nothing_fits_that_is_all_that_is_said(desk):
    code, stdout, _ = desk.call(*GOLDEN, "--available", "10GB")
    assert code == Exit.REFUSED
    assert "10 GB available; nothing fits: 56 GB are needed before hicache_size takes anything" in stdout
    assert "its check" not in stdout
    assert "pass" not in stdout
    assert "?" not in stdout


def test_what_is_available_is_asked_for_by_its_option(desk):
    code, body = desk.json("--flag", "hicache_size", "--ranks", "8", "--set", "hicache_size=300")
    assert (code, body["next"]) == (Exit.UNKNOWN, "the same with --available BYTES")


# With a profile, and still no node.

INVENTORY = """\
nodes:
  node-174: {address: 127.0.0.1, profile: hicache300}
  node-175: {address: 127.0.0.2}
profiles:
  hicache300:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags: {page-size: 64, hicache-size: {value: 300, unit: GB, scope: per-rank}}
    host-memory: {reserve: 30 GB, floor: 15 GB}
  vllm-total:
    engine: vllm
    model: /models/example
    ranks: 8
    port: 8000
    flags: {kv-offloading-size: {value: 300, unit: GB, scope: per-rank}}
"""


@pytest.fixture
def fleet(desk):
    (desk.folder / "inventory").mkdir()
    (desk.folder / "inventory" / "fleet.yaml").write_text(INVENTORY)
    return desk


def test_a_profile_is_sized_without_asking_a_node(fleet):
    code, body = fleet.json(
        "--profile", "hicache300", "--available", "445e9", "--model-config", "config.json"
    )
    assert (code, body["profile"], body["host"]) == (Exit.REFUSED, "hicache300", None)
    assert (body["asked"], body["fits"], body["reserve_bytes"]) == (300, 50, 30 * 10**9)
    assert (body["host_tokens"], body["exact"]) == (4269184, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile", "hicache30"), "did you mean hicache300?"),
        (("--profile", "nothing-like-it"), "hicache300, vllm-total"),
        (("--profile", "hicache300", "--engine", "vllm", "--available", "1"), "vllm"),
        (("--profile", "vllm-total"), "no node's inventory names profile vllm-total"),
        (("node-175",), "names no profile for node-175"),
        (("--profile", "hicache300", "node-17"), "node-17"),
        (("--profile", "hicache300", "node-174", "--set", "hicach_size=3"), "did you mean hicache_size?"),
        (
            ("--profile", "hicache300", "--available", "1", "--set", "hicach_size=3"),
            "did you mean hicache_size?",
        ),
    ],
)
def test_misuse_with_an_inventory(fleet, words, said):
    code, stdout, stderr = fleet.call(*words, source="--engine" not in words)
    assert (code, stdout) == (Exit.USAGE, "")
    assert said in stderr


@pytest.mark.parametrize("option", ["--source", "--model-config", "--draft-config"])
@pytest.mark.parametrize("nothing", ["", " "])
def test_an_empty_path_is_not_the_folder_one_is_in(desk, option, nothing):
    code, stdout, stderr = desk.call(*GOLDEN, option, nothing, source=option != "--source")
    assert (code, stdout) == (Exit.USAGE, "")
    assert "empty" in stderr
