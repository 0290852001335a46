"""The most important edits in other releases and other engines."""

from release_trees import Patch
from release_variants import variant

OLD_POOL = "srt/mem_cache/memory_pool.py"
OLD_CACHE = "srt/mem_cache/hiradix_cache.py"
BASE = "srt/mem_cache/pool_host/base.py"
MAMBA_OLD = "srt/mem_cache/memory_pool_host.py"
MAMBA = "srt/mem_cache/pool_host/mamba.py"
UNIFIED = "srt/mem_cache/pool_host/unified.py"
ASSEMBLER = "srt/mem_cache/hybrid_cache/hybrid_pool_assembler.py"
REGISTRY = "srt/mem_cache/registry.py"
FIELDS = "srt/arg_groups/fields/memory.py"
WORLD = "from sglang.srt.distributed import get_tensor_model_parallel_world_size\n\n"
SHARE = "host_size / get_tensor_model_parallel_world_size() * 1e9 // "
EACH = "host_size * 1e9 // "


# -- SGLang 0.4.5.post3 -------------------------------------------------------------------------------------------------


@variant("sglang-0.4.5.post3", right="total GB")
def divided_in_the_first_release(patch: Patch) -> None:
    patch.before(OLD_POOL, "class HostKVCache(abc.ABC):", WORLD)
    patch.replace(OLD_POOL, EACH, SHARE)


@variant("sglang-0.4.5.post3", right="total GB")
def divided_by_the_first_scheduler(patch: Patch) -> None:
    patch.replace(
        "srt/managers/scheduler.py",
        "hicache_size=server_args.hicache_size,",
        "hicache_size=server_args.hicache_size / server_args.tp_size,",
    )


@variant("sglang-0.4.5.post3", right="per-rank GiB")
def binary_in_the_first_release(patch: Patch) -> None:
    patch.replace(OLD_POOL, EACH, "host_size * (1 << 30) // ")


@variant("sglang-0.4.5.post3", right="total GB | unproven")
def one_rank_in_the_first_release(patch: Patch) -> None:
    patch.replace(
        "srt/managers/scheduler.py",
        "            if self.enable_hierarchical_cache:\n                self.tree_cache = HiRadixCache(",
        "            if self.enable_hierarchical_cache and self.tp_rank == 0:\n                self.tree_cache = HiRadixCache(",
    )


@variant("sglang-0.4.5.post3", right="per-rank GB")
def renamed_in_the_first_release(patch: Patch) -> None:
    patch.word(OLD_CACHE, "hicache_size", "host_gigabytes")
    patch.replace("srt/managers/scheduler.py", "hicache_size=server_args", "host_gigabytes=server_args")


@variant("sglang-0.4.5.post3", right="unproven", names="hiradix_cache.py")
def opaque_in_the_first_release(patch: Patch) -> None:
    patch.replace(
        OLD_CACHE,
        "self.token_to_kv_pool_host = MHATokenToKVPoolHost(",
        "self.token_to_kv_pool_host = globals()[hicache_write_policy](",
    )


# -- SGLang 0.5.16: two files with the arithmetic, pools chosen by strategies ---------------------------------------------


@variant("sglang-0.5.16", right="total GB x3", often=True)
def divided_in_both_pools(patch: Patch) -> None:
    for file, before in (
        (BASE, "class HostKVCache(abc.ABC):"),
        (MAMBA_OLD, "class MambaPoolHost(HostKVCache):"),
    ):
        patch.before(file, before, WORLD)
        patch.replace(file, EACH, SHARE)


@variant("sglang-0.5.16", right="unproven")
def divided_in_the_mamba_pool_only(patch: Patch) -> None:
    patch.before(MAMBA_OLD, "class MambaPoolHost(HostKVCache):", WORLD)
    patch.replace(MAMBA_OLD, EACH, SHARE)


@variant("sglang-0.5.16", right="unproven", often=True)
def binary_in_the_mamba_pool_only(patch: Patch) -> None:
    patch.replace(MAMBA_OLD, EACH, "host_size * (1 << 30) // ")


@variant("sglang-0.5.16", right="per-rank GiB x3")
def binary_in_both_pools(patch: Patch) -> None:
    patch.replace(BASE, EACH, "host_size * (1 << 30) // ")
    patch.replace(MAMBA_OLD, EACH, "host_size * (1 << 30) // ")


@variant("sglang-0.5.16", right="total GB x3 | unproven")
def the_synchronising_helper_divides(patch: Patch) -> None:
    patch.replace(
        BASE,
        "    if host_size <= 0 or not torch.distributed.is_available():\n        return size\n",
        "    size = size // torch.distributed.get_world_size()\n"
        "    if host_size <= 0 or not torch.distributed.is_available():\n        return size\n",
    )


@variant("sglang-0.5.16", right="unproven", names="base.py")
def broken_base_of_the_pools(patch: Patch) -> None:
    patch.append(BASE, "def broken(:\n")


@variant("sglang-0.5.16", right="unproven", names="hybrid_pool_assembler.py")
def a_strategy_that_is_opaque(patch: Patch) -> None:
    patch.replace(
        ASSEMBLER,
        "        MLATokenToKVPoolHost if use_mla else get_mha_host_pool_cls(kv_pool)\n",
        "        MLATokenToKVPoolHost if use_mla else load_plugin(server_args.radix_cache_backend)\n",
    )


# -- SGLang 0.5.20: fields elsewhere, accessors, parts ----------------------------------------------------------------------


@variant("sglang-0.5.20", right="total GB", often=True)
def divided_where_it_is_read(patch: Patch) -> None:
    for file in (ASSEMBLER, OLD_CACHE):
        patch.edits[file] = patch.text(file).replace(
            "get_memory().hicache_size", "(get_memory().hicache_size / get_parallel().tp_size)"
        )
    patch.before(
        OLD_CACHE,
        "class HiRadixCache(RadixCache):",
        "from sglang.srt.runtime_context import get_parallel\n\n",
    )


@variant("sglang-0.5.20", right="per-rank GB")
def divided_in_a_class_that_is_dead_by_now(patch: Patch) -> None:
    """Nothing builds HiRadixCache any more since 0.5.19."""
    patch.edits[OLD_CACHE] = patch.text(OLD_CACHE).replace(
        "get_memory().hicache_size,", "get_memory().hicache_size / get_parallel().tp_size,"
    )


@variant("sglang-0.5.20", right="unproven")
def parts_that_sum_to_twice(patch: Patch) -> None:
    patch.replace(
        ASSEMBLER,
        "hicache_size * size_bytes / total_device_pool_size\n",
        "2 * hicache_size * size_bytes / total_device_pool_size\n",
    )


@variant("sglang-0.5.20", right="unproven", names="memory.py")
def broken_file_with_the_fields(patch: Patch) -> None:
    patch.append(FIELDS, "class :\n")


@variant("sglang-0.5.20", right="unproven")
def a_resolution_hook_overwrites_it(patch: Patch) -> None:
    patch.replace(
        "srt/arg_groups/hicache_hook.py",
        "            hicache_ratio=(\n",
        "            hicache_size=16,\n            hicache_ratio=(\n",
    )


# -- SGLang 0.5.23: the allocation in a method of its own, a list of sizes ---------------------------------------------------


@variant("sglang-0.5.23", right="per-rank GiB")
def binary_everywhere_in_the_newest(patch: Patch) -> None:
    for file, old in ((BASE, EACH), (MAMBA, EACH), (UNIFIED, "host_size * 1e9 * "), (ASSEMBLER, EACH)):
        patch.replace(file, old, old.replace("1e9", "(1 << 30)"))


@variant("sglang-0.5.23", right="unproven", often=True)
def binary_in_the_shared_backing_only(patch: Patch) -> None:
    patch.replace(UNIFIED, "host_size * 1e9 * ", "host_size * (1 << 30) * ")


@variant("sglang-0.5.23", right="total GB")
def divided_everywhere_in_the_newest(patch: Patch) -> None:
    for file, before in (
        (BASE, "class HostKVCache(abc.ABC):"),
        (MAMBA, "class MambaPoolHost(HostKVCache):"),
        (UNIFIED, "class _SharedPageEnvelopeHostBacking:"),
    ):
        patch.before(file, before, WORLD)
        patch.replace(file, "host_size * 1e9 ", "host_size / get_tensor_model_parallel_world_size() * 1e9 ")


@variant("sglang-0.5.23", right="unproven")
def divided_in_the_base_only(patch: Patch) -> None:
    patch.before(BASE, "class HostKVCache(abc.ABC):", WORLD)
    patch.replace(BASE, EACH, SHARE)


@variant("sglang-0.5.23", right="total GB | unproven")
def one_rank_allocates_in_the_newest(patch: Patch) -> None:
    one = "torch.distributed.get_rank() == 0"
    patch.replace(BASE, "        if not is_dummy:\n", f"        if not is_dummy and {one}:\n")
    patch.replace(
        REGISTRY,
        "        cache.init_hicache(server_args, params)\n",
        f"        if {one}:\n            cache.init_hicache(server_args, params)\n",
    )


@variant("sglang-0.5.23", right="per-rank GB | unproven")
def opaque_tree_cache_in_the_newest(patch: Patch) -> None:
    patch.replace(
        REGISTRY,
        "    cache = (cache_class or UnifiedRadixCache)(params)\n",
        "    cache = load_plugin(params)(params)\n",
    )
    patch.replace(
        "srt/mem_cache/unified_radix_cache.py",
        "            attach_hybrid_pool_to_unified_cache,\n",
        "            attach_hybrid_pool_to_unified_cache as attach_pool,\n",
    )
    patch.replace(
        "srt/mem_cache/unified_radix_cache.py",
        "        attach_hybrid_pool_to_unified_cache(\n",
        "        load_plugin(attach_pool)(\n",
    )


# -- vLLM ---------------------------------------------------------------------------------------------------------------------

VLLM = "kv_offloading_size"
CONFIG = "config/vllm.py"
SPEC = "v1/kv_offload/cpu/spec.py"
SIMPLE = "distributed/kv_transfer/kv_connector/v1/simple_cpu_offload_connector.py"


@variant("vllm-0.33.0", flag=VLLM, right="total GB")
def decimal_in_vllm(patch: Patch) -> None:
    patch.replace(CONFIG, "kv_offloading_size * (1 << 30)", "kv_offloading_size * 1e9")


@variant("vllm-0.33.0", flag=VLLM, right="unproven")
def each_worker_takes_all_of_it(patch: Patch) -> None:
    patch.replace(SPEC, "num_copies = 1 if self.replicated_layout else world_size", "num_copies = 1")


@variant("vllm-0.33.0", flag=VLLM, right="per-rank GiB | unproven")
def each_worker_takes_all_of_it_in_both_connectors(patch: Patch) -> None:
    patch.replace(SPEC, "num_copies = 1 if self.replicated_layout else world_size", "num_copies = 1")
    patch.replace(SIMPLE, "cpu_capacity_bytes // world_size", "cpu_capacity_bytes")


@variant("vllm-0.33.0", flag=VLLM, right="unproven", often=True)
def simple_connector_takes_all_of_it(patch: Patch) -> None:
    patch.replace(SIMPLE, "cpu_capacity_bytes // world_size", "cpu_capacity_bytes")


@variant("vllm-0.33.0", flag=VLLM, right="unproven", names="spec.py")
def broken_spec_in_vllm(patch: Patch) -> None:
    patch.append(SPEC, "def broken(:\n")


@variant("vllm-0.33.0", flag=VLLM, right="unproven")
def key_that_nothing_reads_in_vllm(patch: Patch) -> None:
    patch.replace(CONFIG, '{"cpu_bytes_to_use": kv_off', '{"bytes_for_the_host": kv_off')


@variant("vllm-0.14.0", flag=VLLM, right="per-rank GiB | unproven")
def each_worker_takes_all_of_it_in_0_14(patch: Patch) -> None:
    patch.replace(
        "v1/kv_offload/cpu.py",
        "            * vllm_config.parallel_config.world_size\n",
        "",
    )
    patch.replace(CONFIG, "kv_offloading_size / num_kv_ranks", "kv_offloading_size")


@variant("vllm-0.14.0", flag=VLLM, right="total GiB | unproven")
def only_one_backend_divides(patch: Patch) -> None:
    """The other one hands it to LMCache, another package."""
    patch.replace(CONFIG, "kv_offloading_size / num_kv_ranks", "kv_offloading_size")


@variant("vllm-0.14.0", flag=VLLM, right="total GiB")
def docstring_that_lies_in_vllm(patch: Patch) -> None:
    patch.edits["config/cache.py"] = patch.text("config/cache.py").replace(
        "offloading buffer in GiB", "offloading buffer in GB, for each rank"
    )


# -- LMCache ------------------------------------------------------------------------------------------------------------------

LMCACHE = "max_local_cpu_size"
LOCAL = "v1/storage_backend/local_cpu_backend.py"


@variant("lmcache-0.5.6", flag=LMCACHE, right="per-rank GB")
def decimal_in_lmcache(patch: Patch) -> None:
    patch.replace(LOCAL, "cpu_size_bytes = int(cpu_size * 1024**3)", "cpu_size_bytes = int(cpu_size * 10**9)")


@variant("lmcache-0.5.6", flag=LMCACHE, right="per-rank GiB")
def dead_builder_says_otherwise(patch: Patch) -> None:
    patch.replace(
        "v1/cache_engine.py",
        "int(max_local_cpu_size * 1024**3)",
        "int(max_local_cpu_size / metadata.world_size * 1e9)",
    )


@variant("lmcache-0.5.6", flag=LMCACHE, right="total GiB | unproven")
def workers_share_it_in_lmcache(patch: Patch) -> None:
    patch.replace(LOCAL, "int(cpu_size * 1024**3)", "int(cpu_size / metadata.world_size * 1024**3)")


@variant("lmcache-0.5.6", flag=LMCACHE, right="total GiB | unproven")
def first_worker_alone_in_lmcache(patch: Patch) -> None:
    patch.before(
        LOCAL, "cpu_size_bytes = int(cpu_size * 1024**3)", "if not metadata.is_first_rank():\n    return None"
    )


@variant("lmcache-0.5.6", flag=LMCACHE, right="unproven", names="local_cpu_backend.py")
def broken_backend_in_lmcache(patch: Patch) -> None:
    patch.append(LOCAL, "def broken(:\n")


# -- one rank alone, in the words of each release -----------------------------------------------------------------------------


@variant("sglang-0.5.16", right="total GB x3 | unproven")
def one_rank_by_the_parallel_state(patch: Patch) -> None:
    patch.replace(
        REGISTRY,
        "        cache.init_hicache(server_args, params)\n",
        "        if ctx.tp_rank == 0:\n            cache.init_hicache(server_args, params)\n",
    )
    patch.replace(
        REGISTRY,
        "            cache = HiRadixCache(params=params, server_args=server_args)\n",
        "            cache = HiRadixCache(params=params, server_args=server_args) if ctx.tp_rank == 0 else RadixCache(params)\n",
    )
    patch.replace(
        "srt/managers/scheduler.py",
        "            and self.server_args.disaggregation_decode_enable_offload_kvcache\n",
        "            and self.server_args.disaggregation_decode_enable_offload_kvcache\n            and self.ps.tp_rank == 0\n",
    )


@variant("sglang-0.5.20", right="total GB | unproven")
def one_rank_by_an_accessor(patch: Patch) -> None:
    patch.replace(
        ASSEMBLER,
        "        get_memory().hicache_size if host_size is None else host_size,\n",
        "        (get_memory().hicache_size if host_size is None else host_size) if get_parallel().tp_rank == 0 else 0,\n",
    )


@variant("sglang-0.5.23", right="total GB | unproven")
def one_rank_keeps_its_buffer(patch: Patch) -> None:
    patch.replace(
        BASE,
        "        self.kv_buffer = self.init_kv_buffer()\n",
        "        self.kv_buffer = self.init_kv_buffer() if get_parallel().attn_tp_rank == 0 else None\n",
    )


@variant("sglang-0.5.23", right="per-rank GB")
def first_rank_logs_in_the_newest(patch: Patch) -> None:
    patch.replace(
        BASE,
        "        self.kv_buffer = self.init_kv_buffer()\n",
        "        if get_parallel().attn_tp_rank == 0:\n            logger.info('making the host pool')\n"
        "        self.kv_buffer = self.init_kv_buffer()\n",
    )


@variant("sglang-0.5.23", right="per-rank GB")
def pool_files_moved_in_the_newest(patch: Patch) -> None:
    patch.add("srt/mem_cache/pool_host/foundation.py", patch.text(BASE))
    patch.edits[BASE] = None
    for file in patch.tree.mentioning("base"):
        text = patch.text(file).replace("mem_cache.pool_host.base ", "mem_cache.pool_host.foundation ")
        if text != patch.text(file):
            patch.edits[file] = text


@variant("sglang-0.5.23", right="per-rank GB")
def parameters_renamed_in_the_newest(patch: Patch) -> None:
    for file in (
        ASSEMBLER,
        BASE,
        MAMBA,
        UNIFIED,
        "srt/mem_cache/pool_host/mha.py",
        "srt/mem_cache/pool_host/mla.py",
    ):
        patch.word(file, "host_size", "gigabytes")
    for file in (
        "srt/mem_cache/pool_host/mha_mxfp8.py",
        "srt/mem_cache/pool_host/minimax_m3_nvfp4.py",
        "srt/managers/hisparse_coordinator.py",
    ):
        patch.edits[file] = patch.text(file).replace("host_size=", "gigabytes=")


@variant("vllm-0.33.0", flag="cpu_offload_gb", right="per-rank GB")
def decimal_offload_in_vllm(patch: Patch) -> None:
    patch.replace(
        "model_executor/offloader/base.py",
        "int(uva.cpu_offload_gb * 1024**3)",
        "int(uva.cpu_offload_gb * 1e9)",
    )


@variant("vllm-0.33.0", flag="cpu_offload_gb", right="total GiB | unproven")
def workers_share_the_offload_in_vllm(patch: Patch) -> None:
    patch.replace(
        "model_executor/offloader/base.py",
        "int(uva.cpu_offload_gb * 1024**3)",
        "int(uva.cpu_offload_gb / get_tensor_model_parallel_world_size() * 1024**3)",
    )
