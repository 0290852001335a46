"""A small host of real processes in namespaces of its own, for facts that read the kernel."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleetops.model.command import Outcome

UNSHARE = ("unshare", "-Urpfmin", "--uts", "--kill-child", "--mount-proc")


class SmallHost:
    """Starts scenes of small_host.py and reads facts there."""

    def __init__(self):
        argv = [*UNSHARE, sys.executable, "-S", str(Path(__file__).with_name("small_host.py"))]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._answer() == {"ready": True}

    def start(self, scene, **options):
        """The process's pid and what it said when it was ready."""
        answer = self._ask(do="start", name=scene, **options)
        return answer["pid"], answer["said"]

    def run(self, argv, **environment):
        answer = self._ask(do="run", argv=list(argv), environment=environment)
        return Outcome(**answer)

    def outcome(self, fact, **environment):
        return self.run(fact.command.argv, **environment)

    def read(self, fact, **environment):
        return fact.read(self.outcome(fact, **environment))

    def wait_for_state(self, pid, state):
        """The kernel gives no event for a leader's exit while its threads go on, so this looks until it shows."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            stat = self.run(["cat", f"/proc/{pid}/stat"]).stdout
            if stat.rpartition(")")[2].split()[0] == state:
                return
        pytest.fail(f"process {pid} never came to state {state}: {stat}")

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()

    def _ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        assert line, "the small host ended"
        return json.loads(line)


def can_unshare():
    return subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode == 0


@pytest.fixture
def host():
    if not can_unshare():
        pytest.skip(
            f"this machine forbids user namespaces to uid {os.getuid()} (kernel.unprivileged_userns_clone?)"
        )
    small = SmallHost()
    yield small
    small.close()
