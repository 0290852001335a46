"""Searching source on a node: one small constant shell script that finds, cuts and counts, and the parser of its answer.

The script needs what every GPU node has: a POSIX shell, awk, and GNU's or busybox's sort and xargs; grep is GNU's, so
that a pattern means what it means to an operator's own `grep -rn`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.fact import Unparsable
from fleetops.model.grep import SourceAnswer, SourceLine

Syntax = Literal["basic", "extended", "fixed"]

DEFAULT_LIMIT = 20
DEADLINE_S = 60.0  # a cold 123 MB tree on a slow disk takes tens of seconds; a warm one 0.4
LINE_BYTES = 400
ANSWER_BYTES = 4 * 2**20

_BAD_PATTERN, _NO_FOLDER, _OTHER_GREP = 64, 66, 69

# Sorting matched text would cost more than reading twice, so a first grep lists the files that match, and a second
# reads those in sorted order; the first leaves binaries out (-I), the second must not (-a), or a file would end at its
# first line that is not UTF-8. grep itself marks what matched (an escape sequence that no source has): only it knows.
_SCRIPT = r"""
folder=$1 matcher=$2 pattern=$3 context=$4 limit=$5 names=$6 cut=$7
shift 7
unset GREP_OPTIONS GREP_COLOR POSIXLY_CORRECT
LC_ALL=C.UTF-8 GREP_COLORS='ms=7;3;1;9:mc=:sl=:cx=:fn=:ln=:bn=:se=:ne'
export LC_ALL GREP_COLORS

grep "$matcher" -e "$pattern" </dev/null >/dev/null
[ $? -le 1 ] || { grep --version | grep -q GNU && exit 64; exit 69; }

case $folder in /*) ;; *) folder=./$folder ;; esac
start=.
[ -d "$folder" ] || { start=./${folder##*/} folder=${folder%/*}/; }
cd "$folder" && [ -e "$start" ] || exit 66

exec 3>&1
{ grep -rlZI "$matcher" "$@" -e "$pattern" "$start"; echo "searched $?" >&3; } |
  LC_ALL=C sort -z | LC_ALL=C tr '\n\000' '\001\n' | LC_ALL=C awk "$names" | tr '\n' '\000' |
  xargs -0r grep -nHZa --color=always "$matcher" -C "$context" -e "$pattern" -- |
  LC_ALL=C tr '\000' '\001' |
  LC_ALL=C awk -v limit="$limit" -v context="$context" "$cut"
"""

# A name with a line break (SOH by now) could pass for a line of the answer: such a file is named as not read.
_NAMES = r"""
!index($0, "\001") { print; next }
{ gsub(/[\001-\037]/, "?"); print "grep: " $0 ": control characters in its name" | "cat >&2" }
"""

# Reads path NUL(now SOH) number [:-] text; prints the first `limit` matches with their context, as
# path SOH number SOH [:-][<][>] SOH text, `<` and `>` where a long line was cut; counts and sums up everything.
_CUT = r"""
function cut(text,    at, from, flags) {
  if (length(text) <= WIDTH) return "\001" text
  at = index(text, "\033[7;3;1;9m")
  from = at > WIDTH / 2 ? at - int(WIDTH / 4) : 1
  flags = (from > 1 ? "<" : "") (length(text) >= from + WIDTH ? ">" : "")
  return flags "\001" substr(text, from, WIDTH)
}
BEGIN { printf "" | "cksum" }
!(soh = index($0, "\001")) { next }
{
  path = substr($0, 1, soh - 1); rest = substr($0, soh + 1)
  match(rest, /^[0-9]+/)
  line = substr(rest, 1, RLENGTH) + 0; kind = substr(rest, RLENGTH + 1, 1); text = substr(rest, RLENGTH + 2)
  if (kind == ":") {
    total++
    if (path != found_in) files++
    found_in = path; found_at = line
    wanted = total <= limit
  } else wanted = total < limit || (total == limit && path == found_in && line <= found_at + context)
  if (wanted && bytes >= ENOUGH) full = ENOUGH
  else if (wanted) {
    shown = path "\001" line "\001" kind cut(text)
    bytes += length(shown)
    print shown
  }
  gsub(/\033\[[0-9;]*m/, "")
  print | "cksum"
}
END { fflush(); close("cksum"); print "total", total + 0, files + 0, full + 0 }
""".replace("WIDTH", str(LINE_BYTES)).replace("ENOUGH", str(ANSWER_BYTES))

_MARK_ON, _MARK_OFF = "\x1b[7;3;1;9m", "\x1b[m"
_WARNING = "grep: warning: "
_SEARCHED = {"searched 0", "searched 1", "searched 2"}  # found, found nothing, something could not be read


class PatternRefused(UsageError):  # noqa: N818 - named for what the user reads
    """grep does not take the pattern."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is looked for. A pattern means what it means to grep; a newline in it separates alternatives.

    Attributes:
        context: lines shown before and after each match.
        include, exclude, exclude_dir: globs on names, as grep has them; what is excluded stays out.
        limit: matching lines shown of each node; 0 only counts.
    """

    pattern: str
    syntax: Syntax = "basic"
    ignore_case: bool = False
    context: int = 0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclude_dir: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        if any("\0" in text for text in (self.pattern, *self.include, *self.exclude, *self.exclude_dir)):
            raise UsageError(
                "a pattern cannot contain a NUL byte", hint="no line of a text file has one either"
            )


@dataclass(frozen=True, kw_only=True)
class Found:
    """One node's answer, and what its grep said about the pattern itself."""

    answer: SourceAnswer
    warnings: tuple[str, ...] = ()


def search_command(search: Search, folder: str) -> Command:
    """The one call that searches `folder` (or the one file it names); relative means: to the login's home."""
    if "\0" in folder:
        raise UsageError("a folder's name cannot contain a NUL byte")
    matcher = {"basic": "-G", "extended": "-E", "fixed": "-F"}[search.syntax] + "i" * search.ignore_case
    numbers = str(search.context), str(search.limit)
    programs = _NAMES, _CUT
    return shell(
        _SCRIPT,
        folder,
        matcher,
        search.pattern,
        *numbers,
        *programs,
        *_selection(search),
        deadline_s=DEADLINE_S,
    )


def _selection(search: Search) -> list[str]:
    """The options that say which files to read. Of contradicting ones its last wins, so what is left out stands last."""
    never = ("*.pyc", "*.pyo")
    caches = ("__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache")
    return [
        *(f"--include={glob}" for glob in search.include),
        *(f"--exclude={glob}" for glob in (*search.exclude, *never)),
        *(f"--exclude-dir={glob}" for glob in (*search.exclude_dir, *caches)),
    ]


def parse_search(outcome: Outcome, folder: str) -> Found:
    """What the node found in `folder`.

    Raises:
        PatternRefused: in grep's own words.
        FleetopsError: the folder is not there, or the search did not come to its end.
    """
    if outcome.timed_out:
        raise FleetopsError(f"the search in {folder} did not end within {DEADLINE_S:g} s")
    check_pattern(outcome)
    if outcome.status == _NO_FOLDER:
        raise FleetopsError(f"cannot search {folder}: no such file or folder")
    if outcome.status == _OTHER_GREP:
        raise FleetopsError(f"the search needs GNU grep, and there is another or none: {outcome.said}")
    try:
        answer = _answer(outcome.stdout)
    except (Unparsable, ValueError) as error:
        raise FleetopsError(f"the search in {folder} failed: {outcome.said}") from error
    said = dict.fromkeys(line for line in outcome.stderr.splitlines() if line.strip())
    words = [line for line in said if "setlocale" not in line]  # bash's own, on a host without C.UTF-8
    return Found(
        answer=SourceAnswer(
            total=answer.total,
            files=answer.files,
            lines=answer.lines,
            cut_at_bytes=answer.cut_at_bytes,
            digest=answer.digest,
            unread=tuple(word.removeprefix("grep: ") for word in words if not word.startswith(_WARNING)),
        ),
        warnings=tuple(word.removeprefix(_WARNING) for word in words if word.startswith(_WARNING)),
    )


def check_pattern(outcome: Outcome) -> None:
    """Raises PatternRefused, in grep's own words, where this outcome of a search says that grep refuses the pattern."""
    if outcome.status == _BAD_PATTERN:
        raise PatternRefused(
            f"grep refuses the pattern: {outcome.said.removeprefix('grep: ')}",
            hint="-F takes it as plain text, -E as an extended regular expression",
        )


def _answer(printed: str) -> SourceAnswer:
    head, *lines, digest, trailer, end = printed.split("\n")
    counts = trailer.split(" ")
    if head not in _SEARCHED or counts[0] != "total" or len(counts) != 4 or end:
        raise Unparsable("the answer has not its beginning or its end")
    return SourceAnswer(
        total=int(counts[1]),
        files=int(counts[2]),
        lines=tuple(map(_line, lines)),
        cut_at_bytes=int(counts[3]),
        digest=digest,
    )


def _line(printed: str) -> SourceLine:
    file, number, kind, marked = printed.split("\x01", 3)
    text, spans = _unmark(_mend(marked, cut_before="<" in kind, cut_after=">" in kind))
    return SourceLine(
        file=file.removeprefix("./"), line=int(number), text=text, spans=spans, is_match=kind[0] == ":"
    )


def _mend(marked: str, *, cut_before: bool, cut_after: bool) -> str:
    """The line with `…` where it was cut; half a character or half a mark at a cut goes (the node cuts bytes)."""
    if cut_before:
        marked = "…" + re.sub(r"^[\udc80-\udcbf]+", "", marked)
    if cut_after:
        marked = re.sub(r"(\x1b(\[[0-9;]*)?|[\udc80-\udcff]+)$", "", marked)
        unclosed = marked.count(_MARK_ON) > marked.count(_MARK_OFF)
        marked += _MARK_OFF * unclosed + "…"
    return marked


def _unmark(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text without grep's marks, and where they were."""
    text, spans = "", []
    first, *pieces = marked.split(_MARK_ON)
    text = first
    for piece in pieces:
        matched, _, after = piece.partition(_MARK_OFF)
        spans.append((len(text), len(text) + len(matched)))
        text += matched + after
    return text, tuple(spans)
