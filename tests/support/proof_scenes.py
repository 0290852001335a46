"""Proofs as the tracer would give them, and the situation of a launch that rests on them."""

from typing import Any

from node_scenes import NODE, observe, profile

from fleetops.model.fleet import Flag, Inventory, Profile
from fleetops.model.proof import Explanation, Place, Pool
from fleetops.steps.support.base import Situation

ARITHMETIC = "int(host_size * 1e9 // self.size_per_token)"
PLACES = (
    Place(file="srt/server_args.py", line=530, text="hicache_size: int = 0", role="declaration"),
    Place(
        file="srt/mem_cache/hiradix_cache.py", line=73, text="server_args.hicache_size,", role="argument"
    ),
    Place(
        file="srt/mem_cache/memory_pool_host.py", line=159, text=ARITHMETIC, role="arithmetic", note="x 1e9: GB"
    ),
)  # fmt: skip
POOL = Pool(file="srt/mem_cache/memory_pool_host.py", line=159, name="HostKVCache")


def proven(flag: str = "hicache_size", **fields: Any) -> Explanation:
    """hicache_size as SGLang 0.5.9 has it: GB per rank."""
    settled = {
        "engine": "sglang", "version": "0.5.9", "verdict": "proven", "unit": "GB", "scope": "per-rank", "default": 0,
        "pools": (POOL,), "simultaneous": 1, "proof": PLACES, "tree_sha256": "a" * 64,
        "scope_why": "built inside each scheduler process, one per rank", **fields,
    }  # fmt: skip
    return Explanation(flag=flag, **settled)


def unproven(
    flag: str = "hicache_size", because: str = "srt/pools.py:12 calls what cannot be followed", **fields: Any
) -> Explanation:
    """The trail was lost."""
    settled = {"engine": "sglang", "version": "0.5.9", "proof": PLACES[:1], "tree_sha256": "b" * 64, **fields}
    return Explanation(flag=flag, verdict="unproven", unproven_because=because, **settled)


def asking(value: Any = 48, unit: Any = "GB", scope: Any = "per-rank", **fields: Any) -> Profile:
    """A profile whose host pool is stated like this."""
    flags = (
        Flag(name="enable_hierarchical_cache", value=True),
        Flag(name="hicache_size", value=value, unit=unit, scope=scope),
    )
    return profile(**{"flags": flags, **fields})


def launching(asked: Profile, *proofs: Explanation, **fields: Any) -> Situation:
    """The incident's node, idle, about to launch this."""
    observation = observe(profile=asked, facts=fields.pop("facts", {}), node=fields.pop("node", NODE))
    settled = {"findings": (), "proofs": {proof.flag: proof for proof in proofs}, **fields}
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),  # type: ignore[arg-type]
        observation=observation,
        before=observation,
        run_id="run",
        **settled,
    )
