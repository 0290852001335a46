"""Xids: how each kind of line is read, which of them still stand, and what the catalogue makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.checks.support.xid.action import FATAL, Action
from fleetops.checks.support.xid.catalogue import answered, catalogue, meaning, verdict
from fleetops.checks.support.xid.lines import XidEvent, sxids_of, xids_of
from fleetops.checks.support.xid.nvlink5 import link_event
from fleetops.model.kernel import KernelLine, KernelLog

LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.173.02  Release Build"
GSP = (
    "NVRM: Xid (PCI:0000:9b:00): 119, pid=20243, name=nvidia-smi, Timeout after 6s of waiting for RPC response"
    " from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4)."
)
OFF = "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
OFF_LINE = "NVRM: GPU 0000:05:00.0: GPU has fallen off the bus."
THREE_LINES = (
    "NVRM: The NVIDIA GPU 0000:b3:00.0",
    "NVRM: (PCI ID: 10de:26b5) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.",
)
TO_RESET = (
    "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
)
TO_NONE = (
    "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
)


def log(*texts):
    """One line every second."""
    return KernelLog(
        source="journal", lines=tuple(KernelLine(at=float(at), text=text) for at, text in enumerate(texts))
    )


def only(text):
    (event,) = xids_of(log(text))
    return event


def event(number, *, at=0.0, bdf="0000:9b:00.0", text="", cause=None):
    return XidEvent(at=at, bdf=bdf, number=number, text=text, cause=cause)


READ = [
    (OFF, ("0000:05:00.0", 79, None, "", "", None, "GPU has fallen off the bus.")),
    ("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", ("0000:01:00.0", 79, None, "", "", None, "GPU has fallen off the bus.")),
    ("NVRM: Xid (0000:03:00): 14, Channel 00000001", ("0000:03:00.0", 14, None, "", "", None, "Channel 00000001")),
    (OFF_LINE, ("0000:05:00.0", None, None, "", "", None, "fallen off the bus")),
    ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No", ("0000:01:00.0", 94, 7194, "", "GPU-I:05", None, "Contained: CE User Channel (0x9). RST: No, D-RST: No")),
    ("NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No", ("0000:01:00.0", 95, 7062, "", "", None, "Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No")),
    ("NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.", ("0000:10:1c.0", 63, 1896, "", "", None, "Row Remapper: New row marked for remapping, reset gpu to activate.")),
    ("NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)", ("0018:01:00.0", 149, None, "", "", None, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)")),
    ("NVRM: Xid (PCI:0000:C1:00): 45, pid=4242, name=python3, Ch 00000008 caused by previous Xid 149", ("0000:c1:00.0", 45, 4242, "python3", "", 149, "Ch 00000008")),
    ("NVRM: Xid (PCI:0000:C1:00): 43", ("0000:c1:00.0", 43, None, "", "", None, "")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_line_is_read_as_its_xid(text, expected):
    one = only(text)
    assert (one.bdf, one.number, one.pid, one.name, one.mig, one.cause, one.text) == expected


def test_the_name_and_the_message_of_an_xid_are_told_apart():
    one = only(GSP)
    assert (one.pid, one.name) == (20243, "nvidia-smi")
    assert one.text.startswith("Timeout after 6s")


def test_three_lines_without_a_number_are_one_fall_off_the_bus():
    (one,) = xids_of(log("something else", *THREE_LINES))
    assert (one.at, one.bdf, one.number) == (1.0, "0000:b3:00.0", None)
    assert meaning(one) == "GPU has fallen off the bus"
    assert verdict(one, ()) == (Action.RESTART_BM, Action.CONTACT_SUPPORT)


def test_a_fall_off_the_bus_that_is_told_twice_counts_once():
    assert [one.number for one in xids_of(log(OFF, OFF_LINE))] == [79]
    assert [one.number for one in xids_of(log(OFF_LINE, OFF))] == [79]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: GPU at PCI:0000:9b:00: GPU-0a1b",
        "NVRM: GPU4 RPC history (CPU -> GSP):",
        "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:9b:00 (printing 1 of every 30).",
        "NVRM: Xid (PCI:0000:66:00): abc, pid=2280636",
        "NVRM: The NVIDIA GPU 0000:b3:00.0",
        "NVRM: GPU :::.: GPU has fallen off the bus.",
        "NVRM: Xid (PCI:::): 79, GPU has fallen off the bus.",
        "",
        LOADED,
    ],
)
def test_other_lines_of_the_driver_are_no_xid(text):
    assert xids_of(log(text)) == ()


FRAGMENTS = (
    "NVRM: ", "Xid (", "PCI:", "0000:9b:00", ".0", " GPU-I:05", "): ", "119", "149", "154", "99999999999", ", ",
    "pid=", "'<unknown>'", "name=", "NETIR_LINK_EVT Fatal XC0 i0 Link ", "-1 (0x", "ffffffffffff", " 0x0)", "GPU ",
    "has fallen off the bus", "caused by previous Xid 79", "SXid (PCI:", "Fatal", "nvidia-nvswitch0: ", "\udc80", "\x00",
    "recovery action changed from 0x0 (None) to 0x", "loading NVIDIA UNIX", "nvidia ", ": reset done",
)  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join), max_size=6))
def test_no_line_breaks_the_reading(texts):
    events = xids_of(log(*texts))
    assert {action for one in events for action in verdict(one, events)} <= set(Action)
    assert all(meaning(one) for one in events)
    assert all(one.number >= 0 for one in sxids_of(log(*texts)))


# Which of them still stand.


def test_what_came_before_the_driver_was_loaded_again_does_not_count():
    assert [one.at for one in xids_of(log(GSP, LOADED, GSP))] == [2.0]


@pytest.mark.parametrize(
    "marker",
    [
        "nvidia 0000:9b:00.0: reset done",
        "vfio-pci 0000:9b:00.0: reset done",
        TO_NONE,
    ],
)
def test_what_came_before_a_reset_of_its_gpu_does_not_count(marker):
    assert [one.bdf for one in xids_of(log(GSP, TO_RESET, OFF, marker))] == ["0000:05:00.0"]


def test_what_an_earlier_look_has_seen_stands_until_its_gpu_is_reset():
    seen = xids_of(log(GSP))
    assert xids_of(log(), before=seen) == seen
    assert xids_of(log(GSP), before=seen) == seen
    assert xids_of(log("vfio-pci 0000:9b:00.0: reset done"), before=seen) == ()


def test_the_drivers_own_verdict_of_now_answers_what_it_asked_for():
    asked = xids_of(log(GSP, TO_RESET, GSP))
    assert [answered(one, asked, "None") for one in asked] == [True, True, False]
    assert not any(answered(one, asked, live) for one in asked for live in ("", "Reset"))
    assert not answered(only(GSP), xids_of(log(GSP)), "None")


# The catalogue.


def test_the_catalogue_is_whole():
    entries = catalogue()
    assert set(entries) == set(range(1, 173))
    assert all(entry.meaning for entry in entries.values())
    assert [entries[number].immediate for number in (13, 79, 119, 63, 151, 172)] == [
        Action.RESTART_APP, Action.RESTART_BM, Action.RESET_GPU, Action.IGNORE, Action.RESTART_VM, Action.NOT_STATED,
    ]  # fmt: skip


@pytest.mark.parametrize("number", [45, 48, 74, *range(144, 151), 154])
def test_no_workflow_is_left_to_the_reader_where_the_message_decides(number):
    immediate, _ = verdict(event(number), ())
    assert immediate in FATAL | {Action.RESTART_FM, Action.CONTACT_SUPPORT}


def test_an_xid_that_the_catalogue_does_not_have_is_not_taken_for_harmless():
    assert verdict(event(999), ())[0] is Action.NOT_STATED
    assert meaning(event(999)) == "not in the catalogue"


def test_a_45_is_a_consequence_where_another_came_or_is_blamed():
    assert verdict(event(45, cause=149), ())[0] is Action.IGNORE
    assert verdict(event(45, at=10.0), (event(31, at=9.0),))[0] is Action.IGNORE
    assert verdict(event(45), (event(45, at=1.0),))[0] is Action.RESTART_FM
    assert verdict(event(45, at=999.0), (event(31),))[0] is Action.RESTART_FM
    assert verdict(event(45), (event(31, bdf="0000:05:00.0"),))[0] is Action.RESTART_FM


def test_a_48_wants_a_reset_unless_its_error_was_contained():
    assert verdict(event(48), ())[0] is Action.RESET_GPU
    assert verdict(event(48), (event(94),))[0] is Action.RESTART_APP
    assert verdict(event(48), (event(94), event(95)))[0] is Action.RESET_GPU


@pytest.mark.parametrize(
    ("to", "action"),
    [
        ("0x1 (GPU Reset Required)", Action.RESET_GPU),
        ("0x1 (PF FLR)", Action.RESET_GPU),
        ("0x2 (Node Reboot Required)", Action.RESTART_BM),
        ("0x2 (OS Reboot)", Action.RESTART_BM),
        ("0x3 (Drain P2P)", Action.RESET_GPU),
        ("0x4 (Drain and Reset)", Action.RESET_GPU),
        ("0x6 (Bus Reset)", Action.CONTACT_SUPPORT),
    ],
)
def test_a_154_asks_for_what_its_text_says(to, action):
    text = f"NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to {to}"
    assert verdict(only(text), ())[0] is action


LINKS = [
    ("149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x0 0x0 0x0 0x0)", Action.RESET_GPU, Action.INVESTIGATE_PEER),
    ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)", Action.RESET_GPU, Action.INVESTIGATE_LINK_SI),
    ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x028505c6 0x00000000)", Action.IGNORE, Action.INVESTIGATE_HOST),
    ("149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)", Action.RESET_GPU, Action.CONTACT_SUPPORT),
    ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)", Action.IGNORE, Action.INVESTIGATE_LINK_SI),
    ("145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)", Action.IGNORE, Action.CONTACT_SUPPORT),
    ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008)", Action.IGNORE, Action.IGNORE),
    ("145, RLW_SRC_TRACK Fatal XC1 i0 Link 12 (0x040988e2 0x00000001)", Action.RESET_GPU, Action.CONTACT_SUPPORT),
    ("150, MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x00000000 0x00000000)", Action.RESET_GPU, Action.CONTACT_SUPPORT),
    ("147, of a form that nobody knows", Action.CONTACT_SUPPORT, Action.CONTACT_SUPPORT),
]  # fmt: skip


@pytest.mark.parametrize(("message", "immediate", "then"), LINKS)
def test_an_nvlink5_xid_is_judged_by_unit_severity_and_sub_code(message, immediate, then):
    assert verdict(only(f"NVRM: Xid (PCI:0009:01:00): {message}"), ()) == (immediate, then)


def test_the_sub_code_is_in_the_first_register():
    one = link_event("NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)")
    assert (one.unit, one.fatal, one.link, one.sub_code, one.status) == ("NETIR_LINK_EVT", True, 8, 4, 0)


# NVSwitches.


def test_an_sxid_is_read_and_its_lines_of_detail_are_not_counted():
    found = sxids_of(
        log(
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Severity 0 Engine instance 60 Sub-engine instance 00",
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Data {0x0000003c, 0x0000003c}",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
        )
    )
    assert [(one.switch, one.bdf, one.number, one.fatal) for one in found] == [
        ("nvidia-nvswitch3", "0000:05:00.0", 12028, False),
        ("nvidia-nvswitch0", "0000:c3:00.0", 24007, True),
    ]
    assert found[0].text == "Link 32 egress non-posted PRIV error (First)"


def test_sxids_before_the_driver_was_loaded_again_do_not_count():
    text = (
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)"
    )
    assert sxids_of(log(text, LOADED)) == ()
