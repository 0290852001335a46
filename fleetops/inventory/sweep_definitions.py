"""The inventory's keys that only sweeps look at: thresholds, and checks of the operator's own."""

from typing import get_args

from fleetops.inventory import forms
from fleetops.inventory.containers import ListOf, MapOf
from fleetops.inventory.kinds import Choice, Duration, Flip, Number, Text, Whole
from fleetops.inventory.record import Field, Reading, Record
from fleetops.inventory.thresholds import shipped_thresholds
from fleetops.model.own_check import ReadAs

# Where checks draw their lines
NUMBERS = Record(
    "thresholds",
    tuple(
        Field(one.name, Number(), f"{one.meaning} ({one.unit})", default=one.value)
        for one in shipped_thresholds()
    ),
    "Numbers, each in the unit that its name ends in.",
)
_GPU_WORD = Text("a word of the GPUs' name", rf"{forms.IN_A_LINE}+")
FOR_ALL = Field[Reading]("all", NUMBERS, "for every host")
BY_GPU = Field(
    "gpu-models", MapOf[Reading](NUMBERS, "thresholds", _GPU_WORD), "for hosts whose GPUs' name has that word"
)
BY_GROUP = Field("groups", MapOf[Reading](NUMBERS, "thresholds", forms.NAME), "for the hosts of a group")
THRESHOLDS = Record(
    "thresholds by host",
    (FOR_ALL, BY_GPU, BY_GROUP),
    "Where `sweep` draws its lines: a group's numbers before a GPU model's, those before `all`, these before the shipped.",
)

# Checks of the operator's own
CHECK_COMMAND = Field(
    "command",
    ListOf(forms.ARGUMENT, "words: a program and its arguments", minimum=1),
    "what is run; it must change nothing",
    required=True,
)
CHECK_HOSTS = Field(
    "hosts", ListOf(forms.PATTERN, "host patterns", minimum=1), "where it is run", otherwise="all nodes"
)
CHECK_ROOT = Field("root", Flip(), "it needs root", default=False)
CHECK_DEADLINE = Field("deadline", Duration(minimum=1), "how long it may take", default=10.0)
CHECK_READ = Field(
    "read",
    Choice(get_args(ReadAs)),
    "`status`: 0 is well; `number`: what it prints, or what `pattern` finds in it; `text`: `pattern` must be in it",
    default="status",
)
CHECK_PATTERN = Field(
    "pattern",
    forms.EXPRESSION,
    "what is looked for in its output",
)
ABOVE, BELOW = Field("above", Number(), "more than that"), Field("below", Number(), "less than that")
LINE = Record("a line", (ABOVE, BELOW), "From where on a number is one.")
CHECK_WARNING = Field[Reading]("warning", LINE, "a number that is a warning")
CHECK_CRITICAL = Field[Reading]("critical", LINE, "a number that is critical")
CHECK_SEVERITY = Field(
    "severity",
    Choice(("warning", "critical")),
    "of a status that is not 0, or a text that lacks the pattern",
    default="warning",
)
CHECK_SAYS = Field(
    "says", Text("a few words", rf"{forms.IN_A_LINE}{{1,60}}"), "what is wrong then", otherwise="its name"
)
CHECK_NEXT = Field(
    "next", Text("a command line", rf"{forms.IN_A_LINE}+"), "what to type then; `{host}` is the host"
)
OWN_CHECK = Record(
    "a check",
    (
        CHECK_COMMAND,
        CHECK_HOSTS,
        CHECK_ROOT,
        CHECK_DEADLINE,
        CHECK_READ,
        CHECK_PATTERN,
        CHECK_WARNING,
        CHECK_CRITICAL,
        CHECK_SEVERITY,
        CHECK_SAYS,
        CHECK_NEXT,
    ),
    "One more thing that every sweep looks at.",
)
CHECKS = Field("checks", MapOf[Reading](OWN_CHECK, "checks", forms.NAME), "checks of your own, by name")

THRESHOLDS_FIELD = Field[Reading](
    "thresholds", THRESHOLDS, "where `sweep` draws its lines, over the shipped ones"
)

# When a sweep may recover by itself
POLICY_FINDINGS = Field(
    "findings",
    ListOf(forms.ARGUMENT, "checks", minimum=1),
    "the checks whose firm, critical findings are a reason",
    required=True,
)
POLICY_NODES = Field(
    "nodes", ListOf(forms.PATTERN, "host patterns", minimum=1), "for which nodes", required=True
)
POLICY_RUNG = Field(
    "rung",
    Whole(1, 4),
    "the highest rung that it may take: 1 stop, 2 clear what is left, 3 reset the GPUs, 4 restart the guest",
    default=2,
)
POLICY_HOURS = Field("hours", forms.HOURS, "when, by the controller's clock", otherwise="at any time")
POLICY = Record(
    "a policy",
    (POLICY_FINDINGS, POLICY_NODES, POLICY_RUNG, POLICY_HOURS),
    "What `sweep --recover NAME` may do by itself; without being asked for by its name it does nothing.",
)
POLICIES = Field(
    "policies", MapOf[Reading](POLICY, "policies", forms.NAME), "what a sweep may recover by itself, by name"
)
