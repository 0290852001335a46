"""The lab's kernel log as a sweep reads it."""

import sys

from fleetops.facts import kernel_log
from fleetops.lab.kernel_log import log_kernel, out_of_memory
from fleetops.lab.tools import dmesg


def test_the_labs_dmesg_has_the_form_that_the_fact_reads(tmp_path, monkeypatch, capsys):
    log_kernel(tmp_path, *out_of_memory(4130, "sglang::schedul", 50_000_000))
    monkeypatch.setattr(dmesg, "DRIVER_FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["dmesg", "-r"])
    assert dmesg.main() == 0
    told = [kernel_log._of_ring(raw, 1000.0) for raw in capsys.readouterr().out.splitlines()]
    assert told[0].at == 1000.0
    assert told[-1].text.startswith("Out of memory: Killed process 4130 (sglang::schedul)")
    assert told[-1].at > 1000.0
