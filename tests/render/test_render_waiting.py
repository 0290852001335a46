"""Whom a command still waits for is said on a terminal's stderr, and only there."""

import io

from fleetops.render.output import Output
from fleetops.render.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_missing_hosts_are_named_folded() -> None:
    out, err = io.StringIO(), Terminal()
    output = Output(out, err, environ={"TERM": "xterm"})
    with waiting(output) as on_answer:
        on_answer({"node-171", "node-172", "node-181"})
    assert "waiting for node-[171-172,181]" in err.getvalue()
    assert out.getvalue() == ""


def test_piped_nothing_is_said() -> None:
    out, err = io.StringIO(), io.StringIO()
    with waiting(Output(out, err, environ={})) as on_answer:
        on_answer({"node-171"})
        on_answer(set())
    assert (out.getvalue(), err.getvalue()) == ("", "")
