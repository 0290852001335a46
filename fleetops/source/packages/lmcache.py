"""LMCache: a library that each rank's worker loads; its engine is built once per worker (v1/cache_engine.py)."""

from fleetops.source.packages.base import Package

PACKAGE = Package(
    name="lmcache",
    title="LMCache",
    per_rank=("LMCacheEngineBuilder.get_or_create", "LMCacheConnectorV1Impl", "LMCacheManager"),
    has_options=False,
    per_server=("run_cache_server",),
)
