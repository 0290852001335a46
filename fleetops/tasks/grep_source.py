"""`fab grep-source`: the engine's own source on every node, equal answers said once."""

from collections.abc import Sequence
from typing import Any

from fleetops.source.search import DEFAULT_LIMIT
from fleetops.tasks.face import HOSTS_HELP, call, flag, hosts_of, task, value, values, where


@task(
    name="grep-source",
    iterable=["hosts", "include", "exclude", "exclude_dir"],
    help={
        "pattern": "what grep takes: a basic regular expression",
        "hosts": HOSTS_HELP,
        "extended": "the pattern is an extended regular expression (grep -E)",
        "fixed": "the pattern is plain text (grep -F)",
        "ignore-case": "upper and lower case are the same (grep -i)",
        "context": "lines shown around each match (grep -C)",
        "include": "search only files of such names; repeatable",
        "exclude": "leave out files of such names; repeatable",
        "exclude-dir": "leave out folders of such names; repeatable",
        "path": "search this folder or file instead of the engine's source",
        "limit": "lines shown of each node, the rest is counted",
    },
)
def grep_source(
    connection: Any,
    pattern: str,
    *,
    hosts: Sequence[str] | None = None,
    extended: bool = False,
    fixed: bool = False,
    ignore_case: bool = False,
    context: int = 0,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    exclude_dir: Sequence[str] | None = None,
    path: str = "",
    limit: int = DEFAULT_LIMIT,
    inventory: str = "",
    lab: bool = False,
    json: bool = False,
) -> None:
    """Search the engine's own source on the nodes, equal answers folded."""
    options = [
        *where(inventory=inventory, lab=lab, json=json),
        *(["-E"] if extended else []),
        *(["-F"] if fixed else []),
        *flag("ignore-case", ignore_case),
        *value("context", context),
        *values("include", include),
        *values("exclude", exclude),
        *values("exclude-dir", exclude_dir),
        *value("path", path),
        *value("limit", limit),
    ]
    call("grep-source", options, pattern, *hosts_of(connection, hosts))
