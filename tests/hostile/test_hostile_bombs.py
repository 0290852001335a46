"""Small files that would grow without end, and large ones: refused, or read, in little time and memory."""

import sys

import pytest
from hostile_terminal import measured

MOST_S = 30.0
MOST_MIB = 300

NODES = "nodes:\n" + "".join(f"  n{number}: {{address: 10.0.0.{number}}}\n" for number in range(1, 4))


def _aliases() -> str:
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(40))
    return f"l0: &l0 [x, x, x]\n{levels}"


def _group_chain(count: int, width: int) -> str:
    members = (", ".join([f'"@g{number + 1}"'] * width) for number in range(count))
    chain = "".join(f"  g{number}: [{each}]\n" for number, each in enumerate(members))
    return f"{NODES}groups:\n{chain}  g{count}: [n1]\n"


BOMBS = {
    "aliases": (_aliases(), "alias"),
    "self-alias": ("nodes: &a {x: *a}\n", "alias"),
    "merges": (
        "nodes: &a {n: {address: a}}\n" + "".join(f"k{n}:\n  <<: *a\n" for n in range(500)),
        "merge key",
    ),
    "deep-flow": ("nodes: " + "[" * 50_000, "nested too deeply"),
    "deep-mapping": ("nodes: " + "{a: " * 50_000, "nested too deeply"),
    "deep-block": ("nodes:\n" + "".join(" " * (n + 1) + "a:\n" for n in range(1500)), "nested too deeply"),
    "deep-dashes": ("nodes:\n  " + "- " * 20_000 + "x\n", "nested too deeply"),
    "long-scalar": (f"nodes: {'x' * 500_000}\n", "expected"),
    "long-key": (f"{'k' * 1000}: x\n", "unknown key"),
    "huge-number": (f"nodes: {{n: {{address: a, port: {'9' * 100_000}}}}}\n", "port"),
    "huge-range": (f'{NODES}groups: {{g: ["n[0-99999999999]"]}}\n', "more than 65,536 names"),
    "ranges-multiplied": (f'{NODES}groups: {{g: ["{"[0-99]" * 20}"]}}\n', "more than 65,536 names"),
    "groups-doubled": (_group_chain(30, 2), ""),
    "groups-chained": (_group_chain(500, 1), "more than 32 deep"),
    "stars": (f'{NODES}groups: {{g: ["{"n*" * 30}x"]}}\n', "no host matches"),
    "wrong-names": (
        "nodes:\n" + "".join(f"  node-{n}x{n}: {{address: h{n}, profile: profil-{n}}}\n" for n in range(800)),
        "no profile",
    ),
    "far-too-large": ("# a comment\n" * 500_000, "larger than 4 MiB"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_defused_in_little_time_and_memory(tmp_path, name):
    text, said = BOMBS[name]
    (tmp_path / "fleet.yaml").write_text(text)
    argv = [sys.executable, "-m", "fleetops", "inventory", "check", "--inventory", str(tmp_path)]
    found = measured(argv, tmp_path)
    assert found.status == (2 if said else 0), found.written[-500:]
    assert said in found.written
    assert "defect" not in found.written
    assert found.took_s < MOST_S
    assert 0 < found.most_mib < MOST_MIB
