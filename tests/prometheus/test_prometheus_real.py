"""Debian's own Prometheus and Alertmanager: an alert of the shipped rules fires, arrives with the command to type, clears."""

import json
import re
import shutil
import time

import pytest
from real_prometheus import PROGRAMS, ROOT, eventually, monitored
from sweep_scenes import host, latest_of, sweep, tracked

from fleetops.cli._exporter import serving
from fleetops.cli._publishing import registry_of
from fleetops.model.finding import Severity

MISSING = [program for program in PROGRAMS if not shutil.which(program)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}, from Debian's package prometheus")
RULES = ROOT / "docs/monitoring/alerts.yaml"


def now(*found, **more):
    return sweep(*found, at=time.time(), **more)


@pytest.fixture(scope="module")
def latest():
    return latest_of(now(), every_s=1.0, clock=time.time)


@pytest.fixture(scope="module")
def watched(tmp_path_factory, latest):
    """Prometheus and Alertmanager over an exporter of ours."""
    folder = tmp_path_factory.mktemp("prometheus")
    with (
        serving(("127.0.0.1", 0), registry_of(latest)) as url,
        monitored(folder, url.removeprefix("http://"), RULES) as both,
    ):
        prometheus, _ = both
        eventually(lambda: prometheus.query("fleetops_host_up"), "the exporter is scraped")
        yield both


def test_a_finding_fires_arrives_and_clears(watched, latest):
    prometheus, alertmanager = watched
    assert prometheus.firing() == []

    latest.sweep = now(tracked(check="gpu-lost", subject="GPU lost"))
    eventually(lambda: prometheus.firing() == ["FleetopsGpuLost"], "the rule fires, and no other")
    (alert,) = eventually(alertmanager.alerts, "it arrives")
    assert alert["labels"] == {
        "alertname": "FleetopsGpuLost",
        "severity": "critical",
        "host": "node-174",
        "kind": "node",
        "check": "gpu-lost",
    }
    assert alert["annotations"]["command"] == "fleetops recover node-174 --dry-run"
    (told,) = eventually(lambda: alertmanager.messages("firing", "FleetopsGpuLost"), "somebody is told")
    assert told["annotations"]["summary"] == "node-174 has lost a GPU (gpu-lost)"

    latest.sweep = now()
    eventually(lambda: prometheus.firing() == [], "the rule is quiet")
    eventually(lambda: alertmanager.alerts() == [], "the alert is gone")
    eventually(
        lambda: alertmanager.messages("resolved", "FleetopsGpuLost"), "somebody is told that it is over"
    )
    assert prometheus.query('fleetops_findings{host="node-174"}') == []


def test_a_stuck_sweeper_is_seen_though_its_exporter_answers(watched, latest):
    prometheus, _ = watched
    latest.sweep = sweep(at=time.time() - 3600)
    eventually(lambda: prometheus.firing() == ["FleetopsSweepStale"], "the rule fires, and no other")
    latest.sweep = now()
    eventually(lambda: prometheus.firing() == [], "the rule is quiet")


def test_every_query_of_the_dashboard_is_answered(watched, latest):
    """With something of everything there, so that a name that nobody tells would give nothing."""
    prometheus, _ = watched
    warning = tracked(check="swap-used", severity=Severity.WARNING, firm=False)
    silent = tracked(host="pve-01", check="unreachable", severity=Severity.UNKNOWN)
    latest.sweep = now(tracked(), warning, silent)
    eventually(lambda: prometheus.query('fleetops_findings{severity="warning"}'), "the sweep is scraped")
    board = json.loads((ROOT / "docs/monitoring/dashboard.json").read_text())
    queries = [
        target["expr"].replace("$host", ".*") for panel in board["panels"] for target in panel["targets"]
    ]
    assert len(queries) > 15
    assert not [query for query in queries if not prometheus.query(query)]
    shown = {word: prometheus.query(_counting(queries, word))[0]["value"][1] for word in ("ok", "critical")}
    assert shown == {"ok": "1", "critical": "1"}


def _counting(queries, word):
    return next(query for query in queries if re.match(rf'count\(.*severity="{word}"', query))


def test_of_many_hosts_each_has_an_alert_of_its_own(watched, latest):
    prometheus, alertmanager = watched
    names = [f"node-{number}" for number in range(20)]
    found = [tracked(host=name, check="memory-low") for name in names]
    latest.sweep = now(*found, hosts=[host(name, found) for name in names])
    eventually(lambda: prometheus.firing() == ["FleetopsCritical"] * 20, "twenty alerts fire")
    eventually(lambda: {one["labels"]["host"] for one in alertmanager.alerts()} == set(names), "all arrive")
    latest.sweep = now()
    eventually(lambda: prometheus.firing() == [], "all clear")
