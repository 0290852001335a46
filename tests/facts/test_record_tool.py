"""The recorder keeps what a parser needs and replaces what tells whose machine it was."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fleetops.model.command import Outcome

TOOL = Path(__file__).parents[2] / "tools" / "record.py"


@pytest.fixture(scope="module")
def record():
    spec = importlib.util.spec_from_file_location("record", TOOL)
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_identities_are_replaced_the_same_by_the_same(record):
    uuid = "529b3263-c96d-b557-bc75-697f04917eda"
    text = (
        f"GPU-{uuid} <serial>1652820000001</serial> bc:24:11:92:ff:84 10.1.230.174 gpu-box {uuid} 127.0.0.1"
    )
    scrubbed = record.scrubbed(Outcome(status=0, stdout=text, stderr=uuid), {"gpu-box": "node-174"})
    kept = scrubbed.stdout + scrubbed.stderr
    for gone in (uuid, "1652820000001", "bc:24:11", "10.1.230.174", "gpu-box"):
        assert gone not in kept
    assert kept.count("00000000-0000-0000-0000-000000000001") == 3
    assert "node-174" in kept
    assert "127.0.0.1" in kept


def test_an_address_of_the_kernels_socket_table_is_no_machine_id(record):
    row = "   1: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A"
    assert record.scrubbed(Outcome(status=0, stdout=row), {}).stdout == row


def test_a_case_is_written_whole(record, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["record.py", "memory", "healthy-here", "--source", "this test's own machine"]
    )
    record.main()
    case = tmp_path / "memory" / "healthy-here"
    assert {path.name for path in case.iterdir()} == {"stdout", "stderr", "status", "source", "expected.json"}
    assert json.loads((case / "expected.json").read_text())["total_bytes"] > 0
    assert "check expected.json" in capsys.readouterr().out


def test_the_tool_runs_by_itself():
    done = subprocess.run([sys.executable, str(TOOL), "--help"], capture_output=True, text=True, check=True)
    assert "healthy-NAME" in done.stdout
