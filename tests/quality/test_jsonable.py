"""The model as JSON: nothing is lost that matters, nothing secret gets out."""

import json
from dataclasses import dataclass
from pathlib import PurePosixPath

import pytest

from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Severity
from fleetops.model.jsonable import jsonable
from fleetops.model.machine import Process


@dataclass(frozen=True)
class Sample:
    path: PurePosixPath
    severity: Severity
    readings: dict[str, object]
    numbers: tuple[int, ...]


def test_dataclasses_become_objects_all_the_way_down() -> None:
    sample = Sample(
        PurePosixPath("/a"), Severity.CRITICAL, {"memory": Missing(Gap.ABSENT, "no file")}, (1, 2)
    )
    assert jsonable(sample) == {
        "path": "/a",
        "severity": "critical",
        "readings": {"memory": {"missing": "absent", "why": "no file"}},
        "numbers": [1, 2],
    }


def test_a_secret_in_a_command_line_or_a_setting_is_masked() -> None:
    argv = ("python3", "-m", "sglang.launch_server", "--api-key", "sk-123", "--max-total-tokens", "9")
    process = Process(
        pid=1, ppid=0, pgid=1, sid=1, state="S", threads=1, comm="python3", start_ticks=1, cmdline=argv
    )
    text = json.dumps(jsonable([process, {"HF_TOKEN": "hf_abc", "tokens": 5}]))
    assert "sk-123" not in text
    assert "hf_abc" not in text
    assert '"9"' in text
    assert '"tokens": 5' in text


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        jsonable(object())
