"""The same few edits in every SGLang release that has the flag, wherever its arithmetic stands there."""

from release_trees import Patch
from release_truth import places, places_known, row
from release_variants import variant

FACTOR = "host_size * 1e9"
ALLOCATE = "self.kv_buffer = self.init_kv_buffer()"


def files(version: str) -> list[str]:
    """Those with the arithmetic."""
    known = places(version)
    assert known
    return list(dict.fromkeys(place.split(":")[0] for place in known.arithmetic.values()))


def everywhere(patch: Patch, old: str, new: str) -> None:
    changed = 0
    for file in files(patch.base.version):
        if old in patch.text(file):
            patch.edits[file] = patch.text(file).replace(old, new)
            changed += 1
    assert changed


def sweep_binary(patch: Patch) -> None:
    everywhere(patch, FACTOR, "host_size * (1 << 30)")


def sweep_divided(patch: Patch) -> None:
    everywhere(patch, FACTOR, "host_size / torch.distributed.get_world_size() * 1e9")


def sweep_one_rank(patch: Patch) -> None:
    everywhere(patch, ALLOCATE, f"if torch.distributed.get_rank() == 0:\n            {ALLOCATE}")


def sweep_broken(patch: Patch) -> None:
    known = places(patch.base.version)
    assert known
    patch.append(known.arithmetic["HostKVCache"].split(":")[0], "def broken(:\n")


for version in places_known():
    truth = row("sglang", "hicache_size", version)
    assert truth
    most = max(truth.said["at-once"])
    times = f" x{most}" if most > 1 else ""
    base = f"sglang-{version}"
    name = places(version).arithmetic["HostKVCache"].split(":")[0].rsplit("/", 1)[-1]
    variant(base, right=f"per-rank GiB{times}")(sweep_binary)
    variant(base, right=f"total GB{times}")(sweep_divided)
    variant(base, right=f"total GB{times} | unproven")(sweep_one_rank)
    variant(base, right="unproven", names=name)(sweep_broken)
