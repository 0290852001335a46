"""Shell fragments that several steps' scripts share. Constant; data reaches a script as `$1`, `$2`, ... only."""

START_OF = r"""
start_of() { set -f; set -- ${1##*) }; printf %s "${20}"; }
"""
"""`$(start_of "$stat")`: the start time in the text of a /proc/PID/stat, its field 22. The name in field 2 may hold
anything, so fields are counted from the last `)`."""

HEARD_OR_NOT = "trap '' PIPE\n"
"""For a script that makes several changes and says so in between: where nobody hears it any more, it goes on all the same."""
