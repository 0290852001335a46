"""Where an engine's package lies on a node and which release it is, without importing it.

A folder that the inventory names is taken at its word. Without one, in this order: what the running server itself
would import (its working folder, PYTHONPATH, virtual environment and interpreter), the login's own python3, and the
places where installations are usually found. A server in a container is looked into through its own root,
/proc/PID/root, by its folders alone: nothing that lies in a container is ever run outside of it. `importlib.util.find_spec` of a top-level name looks the package up,
editable installs included, and runs none of its code.
"""

import re
from functools import partial

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.fact import Absent, Fact, Unparsable

SCRIPT = (
    PLAIN_TEXT
    + """\
package=$1
folder=$2
is_package() { [ -d "$1" ] && { [ -f "$1/__init__.py" ] || [ -f "$1/version.py" ]; }; }
found() {
  echo "folder $1"
  for info in "${1%/*}/$package"-*.dist-info; do
    if [ -d "$info" ]; then echo "installed ${info##*/}"; fi
  done
  for file in "$1/_version.py" "$1/version.py"; do
    if [ -r "$file" ]; then grep -E '^(__version__|version)( *:[^=]*)? *=' "$file" | sed 's/^/literal /'; fi
  done
  echo end
  exit 0
}
try() { if is_package "$1/$package"; then found "$1/$package"; fi; }
root=
ask() {
  place=$(cd / && timeout 5 "$1" -c '
import importlib.util, os, sys
sys.path[:] = [entry for entry in sys.path if entry]
spec = importlib.util.find_spec(sys.argv[1])
if spec and spec.origin:
    print(os.path.dirname(spec.origin))' "$package" 2>/dev/null)
  if [ -n "$place" ] && is_package "$place"; then found "$place"; fi
}
environment() { { timeout 1 tr '\\000' '\\n' < "/proc/$1/environ"; } 2>/dev/null | sed -n "s/^$2=//p"; }
elsewhere() { [ -e "/proc/$1/root/" ] && ! [ "/proc/$1/root/" -ef / ]; }
server() {
  first=$({ timeout 1 tr '\\000' '\\n' < "/proc/$1/cmdline"; } 2>/dev/null | head -n 1)
  case ${first##*/} in python*) ;; *) return ;; esac
  if elsewhere "$1"; then root=/proc/$1/root; fi
  working=$(readlink "/proc/$1/cwd")
  if [ -n "$working" ]; then try "$root${working%/}"; fi
  IFS=:
  for entry in $(environment "$1" PYTHONPATH); do try "$root${entry%/}"; done
  unset IFS
  venv=$(environment "$1" VIRTUAL_ENV)
  if [ -n "$root" ]; then
    program=$(readlink "/proc/$1/exe")
    for place in "$root$venv"/lib/python3*/site-packages "$root${program%/bin/*}"/lib/python3*/*-packages; do try "$place"; done
    usual
    root=
    return
  fi
  if [ -n "$venv" ]; then ask "$venv/bin/python3"; fi
  case $first in /*) ask "$first" ;; esac
  ask "$(readlink "/proc/$1/exe")"
}
usual() {
  for place in "$root/root/$package/python" "$root/root/$package" "$root/sgl-workspace/$package/python" "$root/opt/$package/python" \\
      "$root"/opt/*/lib/python3*/site-packages "$root"/root/*/lib/python3*/site-packages "$root"/root/.venv/lib/python3*/site-packages \\
      "$root"/home/*/*/lib/python3*/site-packages "$root"/usr/local/lib/python3*/*-packages "$root"/usr/lib/python3*/dist-packages; do
    try "$place"
  done
}
servers() {
  for command in $(timeout 3 grep -slaF -e "$package" /proc/[0-9]*/cmdline); do
    pid=${command#/proc/}
    pid=${pid%/cmdline}
    if [ "$pid" != "$$" ]; then "$1" "$pid"; fi
  done
}
named() {
  elsewhere "$1" || return
  try "/proc/$1/root$folder"
  if is_package "/proc/$1/root$folder"; then found "/proc/$1/root$folder"; fi
}
if [ -n "$folder" ]; then
  folder=${folder%/}
  try "$folder"
  if is_package "$folder"; then found "$folder"; fi
  servers named
  echo "nothing $folder"
  echo end
  exit 0
fi
servers server
ask python3
usual
echo nothing
echo end
"""
)

_INSTALLED = re.compile(r"[^-]+-(.+)\.dist-info")
_LITERAL = re.compile(r"""(?:__version__|version)\b.*=\s*["']([^"']+)["']""")


def fact(engine: str, folder: str) -> Fact[EngineSource]:
    """Of the engine whose package has this name, in `folder` (the package or its parent) or, where that is empty, found."""
    return Fact(ENGINE_SOURCE, shell(SCRIPT, engine, folder, deadline_s=30.0), partial(parse, engine=engine))


def parse(outcome: Outcome, engine: str) -> EngineSource:
    """Raises Absent where the package is not found; a release that nothing tells is an empty version."""
    found = finished_lines(outcome)
    folder = next((line.removeprefix("folder ") for line in found if line.startswith("folder ")), "")
    if not folder:
        asked = next((line for line in found if line.startswith("nothing")), None)
        if asked is None:
            raise Unparsable(f"no source folder told: {outcome.said}")
        place = asked.removeprefix("nothing").strip()
        raise Absent(
            f"no package {engine} in {place}" if place else f"no package {engine} was found on this host"
        )
    return EngineSource(engine=engine, version=_version(found), folder=folder)


def _version(found: list[str]) -> str:
    """The installation's own record where it is unambiguous, else what the package itself says."""
    installed = [
        match[1] for line in found if (match := _INSTALLED.fullmatch(line.removeprefix("installed ")))
    ]
    literals = [match[1] for line in found if (match := _LITERAL.search(line.removeprefix("literal ")))]
    if len(installed) == 1 or not literals:
        return installed[-1] if installed else ""
    return literals[0]
