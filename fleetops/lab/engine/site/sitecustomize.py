"""Put the lab's stand-ins in the place of SGLang and vLLM, and only there: where one of their servers is started.

For every other Python program they lie here as editable installations: their source folders are on the path. Where a
virtual environment has the engine itself, nothing is put in its place.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_ENGINE_SOURCES = ("/root/sglang/python", "/root/vllm")
_LIBRARY = "/opt/fleetops-lab/lib"
_MODULES = ("sglang.launch_server", "vllm.entrypoints.cli.main", "vllm.entrypoints.openai.api_server")
_SCRIPTS = ("sglang", "vllm")


class _Redirect(MetaPathFinder):
    """Answers for one package with its stand-in."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, fullname: str, _path: object = None, _target: object = None, /) -> ModuleSpec | None:
        if fullname != self._package:
            return None
        folder = Path(__file__).resolve().parent / f"_{fullname}"
        return spec_from_file_location(
            fullname, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )


def _started_engine(argv: list[str]) -> str:
    """The package whose server this command line starts; "" where it starts none."""
    if "-m" in argv[:-1] and (module := argv[argv.index("-m") + 1]) in _MODULES:
        return module.partition(".")[0]
    is_script = len(argv) > 2 and Path(argv[1]).name in _SCRIPTS and argv[2] == "serve"
    return Path(argv[1]).name if is_script else ""


def _has_its_own(package: str) -> bool:
    is_virtual = sys.prefix != sys.base_prefix
    return is_virtual and any(Path(sys.prefix).glob(f"lib/python3*/site-packages/{package}"))


def _add_to_path(folder: str) -> None:
    if Path(folder).is_dir():
        sys.path.append(folder)


for _source in _ENGINE_SOURCES:
    _add_to_path(_source)
_engine = _started_engine(sys.orig_argv)
if _engine and not _has_its_own(_engine):
    _add_to_path(_LIBRARY)
    sys.meta_path.insert(0, _Redirect(_engine))
