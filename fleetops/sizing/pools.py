"""Host pools in whole pages, to the token, as SGLang rounds them; vLLM counts whole blocks."""

from fleetops.model.kv import HostPool
from fleetops.model.units import GB
from fleetops.sizing.releases import is_at_least

# From this release on the pool is one page larger than the floor, also when the floor is exact.
ONE_PAGE_MORE_FROM = "0.5.5.post3"


def host_pool(gigabytes: float, bytes_per_token: int, *, page: int, version: str) -> HostPool:
    """The pool that `--hicache-size` of so many GB (10^9 bytes) gives on one rank, to the token."""
    return pool_of(gigabytes * GB, bytes_per_token, page=page, version=version)


def pool_of(size_bytes: float, bytes_per_token: int, *, page: int, version: str) -> HostPool:
    """The pool that so many bytes give on one rank."""
    return _in_pages(int(size_bytes // bytes_per_token), bytes_per_token, page=page, version=version)


def host_pool_by_ratio(
    ratio: float, device_tokens: int, bytes_per_token: int, *, page: int, version: str
) -> HostPool:
    """The pool that `--hicache-ratio` gives on one rank."""
    return _in_pages(int(device_tokens * ratio), bytes_per_token, page=page, version=version)


def block_pool(size_bytes: float, bytes_per_token: int, *, block: int, ranks: int) -> HostPool:
    """One rank's part of vLLM's offloading pool of so many bytes in all: whole blocks, each over every rank.

    vllm/v1/kv_offload/cpu.py (0.14.0), v1/kv_offload/cpu/spec.py (0.33.0).
    """
    blocks = int(size_bytes) // (bytes_per_token * block * ranks)
    return HostPool(tokens=blocks * block, size_bytes=blocks * block * bytes_per_token)


def _in_pages(tokens: int, bytes_per_token: int, *, page: int, version: str) -> HostPool:
    pages = tokens // page + (1 if is_at_least(version, ONE_PAGE_MORE_FROM) else 0)
    return HostPool(tokens=pages * page, size_bytes=pages * page * bytes_per_token)
