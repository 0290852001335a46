"""The lab's kernel log as a sweep reads it."""

from fleetops.facts import kernel_log
from fleetops.lab.kernel_log import forget_lines, kernel_lines, log_kernel, out_of_memory
from fleetops.lab.tools import dmesg


def test_the_labs_dmesg_has_the_form_that_the_fact_reads(tmp_path, monkeypatch, capsys):
    log_kernel(tmp_path, *out_of_memory(4130, "sglang::schedul", 50_000_000))
    monkeypatch.setattr(dmesg, "DRIVER_FOLDER", tmp_path)
    assert dmesg.main(["-r"]) == 0
    told = [kernel_log._of_ring(raw, 1000.0) for raw in capsys.readouterr().out.splitlines()]
    assert told[0].at == 1000.0
    assert told[-1].text.startswith("Out of memory: Killed process 4130 (sglang::schedul)")
    assert told[-1].at > 1000.0


def test_what_is_cleared_of_one_guest_leaves_the_others_lines(tmp_path):
    log_kernel(tmp_path, "of the host")
    log_kernel(tmp_path, "of 174", "of 174 too", about="174")
    log_kernel(tmp_path, "of 175", about="175")
    assert forget_lines(tmp_path, "174") == ["of 174", "of 174 too"]
    assert [text for _, text in kernel_lines(tmp_path)] == ["of the host", "of 175"]
    assert forget_lines(tmp_path, "174") == []


def test_a_container_at_its_own_limit_is_told_with_both_cgroups():
    told = out_of_memory(4130, "python3", 61_000_000, guest="174", at_limit=True)
    assert "oom_memcg=/lxc/174,task_memcg=/lxc/174/ns" in told[1]
    assert told[2].startswith("Memory cgroup out of memory: Killed process 4130 (python3)")
