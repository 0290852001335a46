"""A container whose first process is systemd, and whose server is a unit of it: stopped and started again through that."""

import pytest
from deep_node import changes

pytestmark = pytest.mark.timeout(300)


def shown(node, name):
    return node.sh(f"systemctl show --property={name} --value sglang.service").strip()


def is_up(node):
    return len(node.ranks()) == 2 and {one.state for one in node.ranks()} == {"S"}


@pytest.mark.matrix
def test_ranks_dead_under_a_unit_that_restarts_always(booted, cell):
    assert booted.sh("cat /proc/1/comm") == "systemd\n"
    booted.sh("systemctl enable --now --quiet sglang.service")
    booted.until(lambda: is_up(booted), lambda: booted.sh("systemctl status sglang.service", check=False))
    before = shown(booted, "MainPID")
    booted.kill(*(one.pid for one in booted.ranks()))
    assert "ranks-dead" in cell.finds(booted.findings())
    ran = booted.fleetops("recover", booted.name, "--yes", "--json", timeout=280)
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    stop, start, _ = (change for change in changes(ran.json) if "sglang.service" in change)
    assert stop[1:3] == ["systemctl", "stop"]
    assert "fleetops-start-unit" in start
    assert shown(booted, "ActiveState") == "active"
    assert shown(booted, "MainPID") != before
    assert shown(booted, "Restart") == "always"
    assert shown(booted, "UnitFileState") == "enabled"
    assert is_up(booted)
    cell.verified("stopped through its unit, started by it, Restart= and enablement as before")
