"""Model names, flags, environments and paths reach the program on a host exactly, whichever shell is there."""

import contextlib
import itertools
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from hostile_examples import examples
from hostile_shells import SHELLS, run_in
from hostile_text import ESCAPES, SPITEFUL
from hypothesis import example, given
from hypothesis import strategies as st

from fleetops.model.command import shell
from fleetops.model.errors import UsageError
from fleetops.ssh import quote
from fleetops.steps.support.detached import _SUBMIT, _WATCH, _WORK
from fleetops.steps.support.start_script import START

IN_ALL_SHELLS = pytest.mark.parametrize("sh", SHELLS)

_TELL = (
    "import json, os, sys, time\n"
    "told = {'argv': [os.fsencode(w).hex() for w in sys.argv[2:]],\n"
    "        'environment': {os.fsdecode(k): v.hex() for k, v in os.environb.items()}}\n"
    "open(sys.argv[1] + '.new', 'w').write(json.dumps(told))\n"
    "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
    "time.sleep(30)\n"
)

_ATTACKS = tuple(
    text.replace("\0", "") for text in (*SPITEFUL, *ESCAPES, "EOF", "BEGIN", "$FLEETOPS_LINE", "${x:?}", "\udcff", "%s%n", "-n", "a=b") if "\ud800" not in text
)  # fmt: skip
pieces = st.one_of(
    st.sampled_from(_ATTACKS),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5),
    st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF),
)
words = st.lists(pieces, max_size=4).map("".join).filter(lambda text: len(text) < 9000)
# An inventory is UTF-8, and takes no line break in a variable's value.
values = words.map(lambda text: re.sub("[\r\n\udc80-\udcff]", "", text))
names = st.sampled_from(
    ("A", "b_2", "HF_TOKEN", "log", "claim", "line", "IFS", "PS4", "CDPATH", "ENV", "LD_LIBRARY_PATH")
)
_count = itertools.count()


def _wait_for(path: Path) -> str:
    until = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < until, list(path.parent.iterdir())
        time.sleep(0.01)
    return path.read_text()


@IN_ALL_SHELLS
@given(arguments=st.lists(words, max_size=3), environment=st.dictionaries(names, values, max_size=3))
@example(arguments=["--served-model-name", "a'b\n$(touch ran)"], environment={"IFS": "0123", "A": "x y"})
@examples(8)
def test_a_service_gets_exactly_its_arguments_and_its_environment(sh, tmp_path, arguments, environment):
    folder = tmp_path / str(next(_count))
    folder.mkdir()
    told = folder / "told"
    head = (folder / "claim", folder / "log", folder / "record.json", "p", "r", "30000", "", "", "sglang")
    command = shell(
        START,
        *map(str, head),
        *(sys.executable, "-S", "-c", _TELL, str(told), *arguments),
        stdin="".join(f"{name}={value}\n" for name, value in environment.items()),
        changes=True,
        deadline_s=30,
    )
    status, out, err = run_in(sh, command, folder)
    assert status == 0, (out, err)
    pid = int(out.split()[0])
    try:
        got = json.loads(_wait_for(told))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert [bytes.fromhex(word) for word in got["argv"]] == [quote.encode(word) for word in arguments]
    seen = {name: bytes.fromhex(got["environment"].get(name, "")) for name in environment}
    assert seen == {name: quote.encode(value) for name, value in environment.items()}
    assert json.loads((folder / "record.json").read_text())["pid"] == pid
    assert not list(tmp_path.rglob("ran"))


@IN_ALL_SHELLS
@given(arguments=st.lists(words, max_size=3), note=values)
@example(arguments=["$(touch ran)", "-n", ""], note="$(touch ran) `touch ran`")
@examples(8)
def test_a_detached_change_gets_exactly_its_arguments(sh, tmp_path, arguments, note):
    folder = tmp_path / str(next(_count))
    folder.mkdir()
    claim = str(folder / "run" / "it's a step")
    submit = shell(_SUBMIT, claim, note, _WORK, "10", "1", "printf", "%s\\0", "first", *arguments)
    assert run_in(sh, submit, folder)[0] == 0
    _wait_for(Path(claim) / "status")
    _, out, _ = run_in(sh, shell(_WATCH, claim), folder)
    assert out == b"ended 0\n" + b"".join(quote.encode(word) + b"\0" for word in ("first", *arguments))
    assert (Path(claim) / "note").read_bytes() == quote.encode(note) + b"\n"
    assert not list(tmp_path.rglob("ran"))


@given(before=words, after=words)
@examples(30)
def test_nul_is_refused_wherever_it_stands(before, after):
    with pytest.raises(UsageError, match="NUL"):
        quote.command_line(shell("true", f"{before}\0{after}"), "n")
