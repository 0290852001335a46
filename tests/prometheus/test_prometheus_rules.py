"""The shipped rules and the dashboard: sound, and about things that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from sweep_scenes import AT, latest_of, scraped, sweep, tracked

from fleetops.checks import all_checks, hypervisor_checks
from fleetops.cli.program import subcommands
from fleetops.render.prometheus import STATES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/monitoring"
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
BOARD = json.loads((FOLDER / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
NAME = re.compile(r"fleetops_\w+")

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="needs promtool, from Debian's package prometheus"
)


def promtool(*argv):
    done = subprocess.run(
        ["promtool", *argv], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_promtool
def test_the_rules_are_sound():
    assert f"{len(RULES)} rules found" in promtool("check", "rules", str(FOLDER / "alerts.yaml"))


@needs_promtool
def test_each_rule_fires_when_it_should_and_only_then():
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yaml")


def test_each_rule_is_seen_to_fire():
    tests = yaml.safe_load((Path(__file__).parent / "alerts_test.yaml").read_text())["tests"]
    fired = {one["alertname"] for test in tests for one in test["alert_rule_test"] if one["exp_alerts"]}
    assert fired == {rule["alert"] for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_rule_has_a_severity_and_names_the_command_to_type(rule):
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description", "command"}
    program, command, *_ = rule["annotations"]["command"].split()
    assert program == "fleetops"
    assert command in {one.NAME for one in subcommands()}


@pytest.mark.parametrize("query", [*(rule["expr"] for rule in RULES), *QUERIES])
def test_every_series_that_is_asked_for_is_one_that_is_told(query):
    told = {name for name, _ in scraped(latest_of(sweep(tracked()), every_s=60.0, clock=lambda: AT))}
    assert NAME.findall(query)
    assert set(NAME.findall(query)) <= told


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_check_and_state_that_is_asked_for_exists(rule):
    checks = {check.name for check in (*all_checks(), *hypervisor_checks())}
    asked = [name for text in re.findall(r'check[!=]~?"([^"]+)"', rule["expr"]) for name in text.split("|")]
    assert set(asked) <= checks
    states = re.findall(r'state="([^"]+)"', rule["expr"])
    assert set(states) <= set(STATES)
    assert ("fleetops_findings" in rule["expr"]) == bool(states)


def test_the_rule_for_the_rest_leaves_out_just_what_the_others_have():
    asked = {rule["alert"]: set(re.findall(r'check=~?"([^"]+)"', rule["expr"])) for rule in RULES}
    others = {name for texts in asked.values() for text in texts for name in text.split("|")}
    (rest,) = [rule["expr"] for rule in RULES if rule["alert"] == "FleetopsCritical"]
    (left_out,) = re.findall(r'check!~"([^"]+)"', rest)
    assert set(left_out.split("|")) == others


def test_the_dashboard_is_one_that_grafana_10_takes():
    assert BOARD["schemaVersion"] >= 38
    assert "id" not in BOARD  # Grafana gives it
    assert {panel["type"] for panel in BOARD["panels"]} == {"stat", "table", "timeseries"}
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert all(
        one["datasource"]["uid"] == "${datasource}" for panel in BOARD["panels"] for one in panel["targets"]
    )
    assert {one["name"] for one in BOARD["templating"]["list"]} == {"datasource", "host"}


def test_no_panel_of_the_dashboard_lies_over_another():
    taken = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
