"""Where checks draw their lines: shipped with a source, by GPU model, and the inventory's own before them."""

import pytest

from fleetops.inventory.load import InventoryInvalid, load_inventory
from fleetops.inventory.thresholds import shipped_thresholds, thresholds_for
from fleetops.model.thresholds import Threshold, ThresholdRules

FLEET = """\
nodes:
  node-1: {address: 127.0.0.1}
groups:
  rack-a: [node-1]
"""


def written(tmp_path, text):
    (tmp_path / "fleet.yaml").write_text(FLEET + text)
    return tmp_path


def test_every_shipped_one_says_what_it_means_and_where_it_is_from():
    names = [one.name for one in shipped_thresholds()]
    assert len(names) == len(set(names)) > 10
    for one in shipped_thresholds():
        assert one.meaning, one.name
        assert len(one.source) > 10, one.name
        assert one.name.endswith(("-s", "-c", "-bytes", "-percent", "-count", "-share")), one.name


def test_a_gpu_models_value_is_taken_where_the_name_has_the_word():
    one = Threshold(name="x-c", value=5, unit="C", meaning="m", source="s", gpu_models={"H200": 3})
    assert (one.of("NVIDIA H200 NVL"), one.of("NVIDIA A100"), one.of("")) == (3, 5, 5)


def test_the_narrower_says_over_the_wider():
    rules = ThresholdRules(
        all={"clock-skew-s": 10, "swap-used-bytes": 1},
        gpu_models={"H200": {"clock-skew-s": 20}},
        groups={"rack-a": {"clock-skew-s": 30}, "rack-b": {"clock-skew-s": 40}},
    )
    assert thresholds_for()["clock-skew-s"] == 5
    assert thresholds_for("NVIDIA H20", rules)["clock-skew-s"] == 10
    assert thresholds_for("NVIDIA H200", rules)["clock-skew-s"] == 20
    assert thresholds_for("NVIDIA H200", rules, ["rack-a"])["clock-skew-s"] == 30
    assert thresholds_for("NVIDIA H200", rules, ["rack-a"])["swap-used-bytes"] == 1


def test_the_inventorys_own_are_read(tmp_path):
    text = """\
thresholds:
  all: {clock-skew-s: 2.5}
  gpu-models: {H200: {gpu-temperature-margin-c: 3}}
  groups: {rack-a: {swap-used-bytes: 0}}
"""
    rules = load_inventory(written(tmp_path, text)).thresholds
    assert rules.all == {"clock-skew-s": 2.5}
    assert rules.gpu_models == {"H200": {"gpu-temperature-margin-c": 3}}
    assert rules.groups == {"rack-a": {"swap-used-bytes": 0}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("thresholds: {all: {clock-skw-s: 2}}", "did you mean `clock-skew-s`"),
        ("thresholds: {all: {clock-skew-s: soon}}", "a number from 0 up"),
        ("thresholds: {all: {clock-skew-s: -1}}", "a number from 0 up"),
        ("thresholds: {all: {clock-skew-s: '2'}}", "without quotes"),
        (
            "thresholds: {groups: {rack-b: {clock-skew-s: 2}}}",
            "there is no group `rack-b` (did you mean `rack-a`?)",
        ),
        ("thresholds: {al: {}}", "did you mean `all`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, says):
    with pytest.raises(InventoryInvalid) as invalid:
        load_inventory(written(tmp_path, text))
    told = "\n".join(map(str, invalid.value.problems))
    assert says in told
    assert "fleet.yaml:5:" in told
