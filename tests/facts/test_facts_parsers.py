"""No output, however broken, makes a parser raise anything but its own two words or give a value out of nothing."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recorded_case import load_cases

from fleetops.facts import build, holders, names, processes, segments
from fleetops.facts.nvidia_xml import short_bdf
from fleetops.facts.segments import creator_of
from fleetops.model.command import Outcome
from fleetops.model.fact import Gap, Missing

ARGUMENTS = {
    "guest": ("lxc", 174),
    "guest_agent": (181,),
    "pending": ("lxc", 174),
    "tasks": (174,),
    "engine_source": ("sglang", ""),
    "model_config": ("/models/example",),
    "attempts": ("node-174",),
    "ssh_answer": ("127.0.0.1", 22),
}
FACTS = [build(name, *ARGUMENTS.get(name, ())) for name in names()]
FACTS_BY_ID = pytest.mark.parametrize("fact", FACTS, ids=names())
RECORDED = [case for case in load_cases() if case.outcome.stdout]

texts = st.text(st.characters(codec="utf-8") | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF))


@FACTS_BY_ID
@settings(max_examples=60, deadline=None)
@given(stdout=texts, stderr=texts, status=st.sampled_from([0, 1, 2, 127, 137, 255]))
def test_garbage_is_never_read_as_a_value(fact, stdout, stderr, status):
    assume(not stdout.rstrip().endswith(("end", "[]")))  # that would be a whole, empty answer
    reading = fact.read(Outcome(status=status, stdout=stdout, stderr=stderr))
    assert isinstance(reading, Missing)
    assert reading.gap in {Gap.UNPARSABLE, Gap.ABSENT}
    assert reading.why


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_recording_broken_at_any_place_is_read_or_refused(data):
    case = data.draw(st.sampled_from(RECORDED))
    text = case.outcome.stdout
    at = data.draw(st.integers(0, len(text)))
    changed = text[:at] + data.draw(texts) + text[at + data.draw(st.integers(0, 20)) :]
    case.built.read(Outcome(status=case.outcome.status, stdout=changed))


@FACTS_BY_ID
def test_no_output_at_all_is_not_a_value(fact):
    assert isinstance(fact.read(Outcome(status=0)), Missing)


@pytest.mark.parametrize(
    ("text", "bdf"),
    [
        ("00000000:1A:00.0", "0000:1a:00.0"),
        ("0000:1a:00.0", "0000:1a:00.0"),
        ("00010000:1A:00.0", "10000:1a:00.0"),
        ("Unable to determine the device handle for GPU0000:07:00.0: Unknown Error", "0000:07:00.0"),
        ("nothing", ""),
    ],
)
def test_pci_addresses_have_one_form(text, bdf):
    assert short_bdf(text) == bdf


@pytest.mark.parametrize(
    ("name", "pid"),
    [
        ("sgl_shm_mm_4121_a1b2c3", 4121),
        ("sgl_shm_cuda_ipc_pool_77_0", 77),
        ("multi_tokenizer_args_4121", 4121),
        ("torch_4121_99182_0", 4121),
        ("psm_4f2a1b", None),
        ("nccl-abc123", None),
        ("sem.mp-12_34", None),
        ("sgl_shm_mm_x_1", None),
    ],
)
def test_a_segments_maker_is_told_only_by_names_that_hold_one(name, pid):
    assert creator_of(name) == pid


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0\x1f", codec="utf-8")), min_size=1, max_size=6))
def test_an_argv_comes_back_as_it_was(argv):
    """All but empty arguments at its end, which look like the room that a process title leaves."""
    stat = "9 (sh) S 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 3 0"
    own = "8 (sh) S 1 8 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 3 0"
    shown = "".join(f"/proc/9/cmdline:{line}\n" for line in ("\x1f".join(argv) + "\x1f").split("\n"))
    output = f"reader 8\npage 4096\n/proc/9/stat:{stat}\n/proc/8/stat:{own}\n{shown}end\n"
    (process,) = processes.parse(Outcome(status=0, stdout=output))
    while argv and not argv[-1]:
        argv.pop()
    assert process.cmdline == tuple(argv)


def test_a_process_that_vanished_between_two_reads_loses_only_itself():
    stat = "9 (sh) S 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 3 0"
    own = "8 (sh) S 1 8 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 3 0"
    output = f"reader 8\npage 4096\n/proc/9/stat:{stat}\n/proc/8/stat:{own}\n/proc/7/cgroup:0::/x\n/proc/6/cmdline:gone\nend\n"
    assert [process.pid for process in processes.parse(Outcome(status=0, stdout=output))] == [9]


def test_parents_that_go_in_a_circle_do_not_hold_the_reading_up():
    table = processes.FACT.read(Outcome(status=0, stdout=CIRCLE))
    assert isinstance(table, tuple), table


CIRCLE = (
    "reader 9\npage 4096\n"
    + "".join(
        f"/proc/{pid}/stat:{pid} (sh) S {ppid} 9 9 {'0 ' * 13}1 0 5 0 0\n"
        for pid, ppid in ((9, 8), (8, 7), (7, 8))
    )
    + "end\n"
)


def test_a_deleted_device_file_is_still_held():
    (holder,) = holders.device_holders(["/proc/9/fd/3 /dev/nvidia0 (deleted)"])
    assert holder.path == "/dev/nvidia0"


def test_a_segments_fact_without_its_clock_is_refused():
    assert segments.FACT.read(Outcome(status=0, stdout="end\n")).gap is Gap.UNPARSABLE
