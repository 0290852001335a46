"""What the tests of sizing share: configurations of known models, and proofs as the tracer would give them."""

import json
from pathlib import Path
from typing import Any

from fleetops.model.fleet import Profile
from fleetops.model.proof import EngineCheck, Explanation, Pool
from fleetops.model.units import GB

MODELS = Path(__file__).parents[1] / "sizing" / "models"
KV_POOL = Pool(file="srt/mem_cache/memory_pool_host.py", line=159, name="HostKVCache")
ALONE = EngineCheck(
    file="srt/mem_cache/memory_pool_host.py",
    line=183,
    text="if requested_bytes > available_bytes:",
    sound=False,
    why="each rank alone against the whole node's free memory",
)
SHARED = EngineCheck(
    file="srt/mem_cache/pool_host/base.py",
    line=250,
    text="if requested_bytes > available_bytes:",
    sound=True,
    why="each rank against its part of the node's free memory",
)
THERE = 445 * GB


def model(name: str, **changes: Any) -> dict[str, Any]:
    """config.json of a known model; None takes a field out."""
    config = {**json.loads((MODELS / f"{name}.json").read_text()), **changes}
    return {key: value for key, value in config.items() if value is not None}


def proof(flag: str = "hicache_size", version: str = "0.5.9", **fields: Any) -> Explanation:
    """SGLang's host pool, as 0.5.9 has it, unless said otherwise."""
    return Explanation(
        **{
            "flag": flag, "engine": "sglang", "version": version, "verdict": "proven", "unit": "GB",
            "scope": "per-rank", "default": 0, "pools": (KV_POOL,), "simultaneous": 1, "check": ALONE, **fields,
        }
    )  # fmt: skip


def profile(name: str = "", ranks: int = 8, engine: str = "sglang", **fields: Any) -> Profile:
    """What would be launched."""
    return Profile(name=name, engine=engine, model="/models/example", ranks=ranks, port=30000, **fields)
