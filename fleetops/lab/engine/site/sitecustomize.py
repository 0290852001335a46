"""Put the lab's stand-in in the place of SGLang, and only there: `python3 -m sglang.launch_server`, `sglang serve`.

For every other Python program SGLang lies here as an editable installation: its source folder is on the path.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_ENGINE_SOURCE = "/root/sglang/python"
_LIBRARY = "/opt/fleetops-lab/lib"


class _Redirect(MetaPathFinder):
    """Answers for the package `sglang` with the stand-in's."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None, /) -> ModuleSpec | None:
        if fullname != "sglang":
            return None
        folder = Path(__file__).resolve().parent / "_sglang"
        return spec_from_file_location(
            fullname, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )


def _starts_engine(argv: list[str]) -> bool:
    if "-m" in argv[:-1] and argv[argv.index("-m") + 1] == "sglang.launch_server":
        return True
    return len(argv) > 2 and Path(argv[1]).name == "sglang" and argv[2] == "serve"


def _add_to_path(folder: str) -> None:
    if Path(folder).is_dir():
        sys.path.append(folder)


_add_to_path(_ENGINE_SOURCE)
if _starts_engine(sys.orig_argv):
    _add_to_path(_LIBRARY)
    sys.meta_path.insert(0, _Redirect())
