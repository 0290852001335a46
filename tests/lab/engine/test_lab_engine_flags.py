"""The command line is that of the source on the node."""

from pathlib import Path

import pytest

from fleetops.lab import wheel
from fleetops.lab.engine import flags

SOURCE = """
CHOICES = ["lru", "lfu"]

class ServerArgs:
    model_path: str
    tp_size: int = 1
    policy: str = "lru"
    size: int = 0
    capacity: int = 10 * 1000
    urls: list = field(default_factory=list)

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--policy", type=str, choices=CHOICES, default=ServerArgs.policy)
        parser.add_argument("--size", type=int, default=ServerArgs.size, help="100% of it")
        parser.add_argument("--capacity", type=int, default=ServerArgs.capacity)
        parser.add_argument("--urls", nargs="+", type=str, default=[])
        parser.add_argument("--fast", action="store_true")
        parser.add_argument("--computed", choices=list(parsers.keys()), type=str)
        parser.add_argument("--old", action=DeprecatedAction, help="gone")
"""


def test_options_defaults_and_choices_are_read_from_the_source() -> None:
    declared = flags.declarations(SOURCE)
    args = flags.parse(["--model", "/m", "--tp", "8", "--size", "3", "--urls", "a", "b"], declared)
    assert args == {
        "model_path": "/m",
        "tp_size": 8,
        "policy": "lru",
        "size": 3,
        "capacity": 10000,
        "urls": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--model", "m", "--hicache-sice", "3"], "unrecognized arguments: --hicache-sice 3"),
        (["--model", "m", "--size", "3.5"], "argument --size: invalid int value: '3.5'"),
        (["--model", "m", "--policy", "best"], "argument --policy: invalid choice: 'best'"),
        ([], "the following arguments are required: --model-path/--model"),
    ],
)
def test_a_bad_command_line_ends_as_argparse_ends_it(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        flags.parse(argv, flags.declarations(SOURCE))
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_the_engines_folder_is_found_where_python_would_import_it(tmp_path: Path) -> None:
    wheel._write_stand_in(tmp_path / "b")
    assert flags.engine_folder([str(tmp_path / "a"), str(tmp_path / "b")]) == tmp_path / "b/sglang"
    assert flags.engine_folder([str(tmp_path / "a")]) is None


def test_the_stand_in_tree_declares_what_the_lab_uses(tmp_path: Path) -> None:
    wheel._write_stand_in(tmp_path)
    declared = flags.declarations((tmp_path / "sglang/srt/server_args.py").read_text())
    args = flags.parse(["--model", "m", "--enable-hierarchical-cache", "--hicache-size", "48"], declared)
    assert (args["hicache_size"], args["hicache_ratio"], args["enable_hierarchical_cache"]) == (48, 2.0, True)
