"""Who allocates: an allocation that one rank makes alone is not one of each rank, however that is written."""

from release_trees import Patch
from release_variants import SMALL, variant

REAL = "srt/mem_cache/memory_pool_host.py"
HIRADIX = "srt/mem_cache/hiradix_cache.py"
DECODE = "srt/disaggregation/decode_kvcache_offload_manager.py"
SCHEDULER = "srt/managers/scheduler.py"
POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
BUILD = "self.tree_cache = HostCache(self.device_pool, server_args)"
ALLOCATE = "self.kv_buffer = self.init_kv_buffer()"

IMPORTED = "                from sglang.srt.mem_cache.hiradix_cache import HiRadixCache\n"

ONE_RANK = "total GB | unproven"
RANK = "torch.distributed.get_rank()"


@variant("sglang-0.5.9", right=ONE_RANK, often=True)
def one_rank_builds_the_caches(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        f"            elif self.enable_hierarchical_cache:\n{IMPORTED}",
        f"            elif self.enable_hierarchical_cache and self.tp_rank == 0:\n{IMPORTED}",
    )
    patch.replace(
        SCHEDULER,
        "            and server_args.disaggregation_decode_enable_offload_kvcache\n",
        "            and server_args.disaggregation_decode_enable_offload_kvcache\n            and self.tp_rank == 0\n",
    )


@variant("sglang-0.5.9", right="unproven")
def one_rank_builds_one_of_the_caches(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        f"            elif self.enable_hierarchical_cache:\n{IMPORTED}",
        f"            elif self.enable_hierarchical_cache and self.tp_rank == 0:\n{IMPORTED}",
    )


@variant("sglang-0.5.9", right=ONE_RANK)
def others_return_from_the_pool_early(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_rank\n\n",
    )
    patch.replace(
        REAL,
        "        self.kv_buffer = self.init_kv_buffer()\n",
        "        if get_tensor_model_parallel_rank() != 0:\n"
        "            self.kv_buffer = None\n"
        "            return\n"
        "        self.kv_buffer = self.init_kv_buffer()\n",
    )


@variant("sglang-0.5.9", right=ONE_RANK)
def others_return_before_the_arithmetic(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_rank\n\n",
    )
    patch.before(
        REAL,
        "if host_size > 0:",
        "is_rank0 = get_tensor_model_parallel_rank() == 0\nif not is_rank0:\n    return",
    )


@variant("sglang-0.5.9", right=ONE_RANK)
def one_rank_fills_the_buffer(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_rank\n\n",
    )
    patch.replace(
        REAL,
        "self.kv_buffer = self.init_kv_buffer()",
        "self.kv_buffer = self.init_kv_buffer() if get_tensor_model_parallel_rank() == 0 else None",
    )


@variant("sglang-0.5.9", right="per-rank GB")
def one_rank_logs(patch: Patch) -> None:
    patch.before(
        REAL,
        "class HostKVCache(abc.ABC):",
        "from sglang.srt.distributed import get_tensor_model_parallel_rank\n\n",
    )
    patch.before(
        REAL,
        "if host_size > 0:",
        'if get_tensor_model_parallel_rank() == 0:\n    logger.info("making %s GB", host_size)',
    )


@variant(SMALL, right=ONE_RANK)
def guard_around_the_cache(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if self.tp_rank == 0:\n            {BUILD}")


@variant(SMALL, right=ONE_RANK)
def guard_the_other_way_round(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        BUILD,
        f"if self.tp_rank > 0:\n            self.tree_cache = None\n        else:\n            {BUILD}",
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_truth(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if not self.tp_rank:\n            {BUILD}")


@variant(SMALL, right=ONE_RANK)
def guard_by_early_return(patch: Patch) -> None:
    patch.before(SCHEDULER, BUILD, "if self.tp_rank:\n    return")


@variant(SMALL, right=ONE_RANK)
def guard_around_the_call(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, "        self.init_cache()\n", "        if tp_rank == 0:\n            self.init_cache()\n"
    )


@variant(SMALL, right=ONE_RANK)
def guard_in_the_process(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "scheduler = Scheduler(server_args, gpu_id, tp_rank)",
        "if tp_rank != 0:\n    return run_without_a_cache()",
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_a_variable(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, f"is_first = self.tp_rank == 0\n        if is_first:\n            {BUILD}"
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_an_attribute(patch: Patch) -> None:
    patch.after(SCHEDULER, "self.tp_rank = tp_rank", "self.leads = tp_rank == 0")
    patch.replace(SCHEDULER, BUILD, f"if self.leads:\n            {BUILD}")


@variant(SMALL, right=ONE_RANK)
def guard_by_a_function(patch: Patch) -> None:
    patch.before(SCHEDULER, "class Scheduler:", "def is_first(rank):\n    return rank == 0\n\n\n")
    patch.replace(SCHEDULER, BUILD, f"if is_first(self.tp_rank):\n            {BUILD}")


@variant(SMALL, right=ONE_RANK)
def guard_by_a_property(patch: Patch) -> None:
    patch.before(
        SCHEDULER, "def event_loop(self):", "@property\ndef leads(self):\n    return self.tp_rank == 0\n"
    )
    patch.replace(SCHEDULER, BUILD, f"if self.leads:\n            {BUILD}")


@variant(SMALL, right=ONE_RANK)
def guard_by_a_match(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        BUILD,
        f"match self.tp_rank:\n            case 0:\n                {BUILD}\n            case _:\n                self.tree_cache = None",
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_short_circuit(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, "self.tree_cache = self.tp_rank == 0 and HostCache(self.device_pool, server_args)"
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_an_assertion(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        BUILD,
        "try:\n            assert self.tp_rank == 0\n"
        "            self.tree_cache = HostCache(self.device_pool, server_args)\n"
        "        except AssertionError:\n            self.tree_cache = None",
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_a_dispatch_table(patch: Patch) -> None:
    patch.before(
        SCHEDULER, "class Scheduler:", "class NoCache:\n    def __init__(self, *args):\n        pass\n\n\n"
    )
    patch.replace(
        SCHEDULER,
        BUILD,
        "self.tree_cache = {0: HostCache}.get(self.tp_rank, NoCache)(self.device_pool, server_args)",
    )


@variant(SMALL, right=ONE_RANK)
def guard_by_a_decorator(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "class Scheduler:",
        "def first_only(method):\n"
        "    def wrapped(self):\n"
        "        if self.tp_rank == 0:\n"
        "            return method(self)\n"
        "    return wrapped\n\n\n",
    )
    patch.before(SCHEDULER, "def init_cache(self):", "@first_only")


@variant(SMALL, right=ONE_RANK)
def others_are_given_nothing(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, "self.tree_cache = HostCache(self.device_pool, server_args, self.tp_rank)"
    )
    patch.replace(CACHE, "server_args: ServerArgs):", "server_args: ServerArgs, tp_rank: int):")
    patch.replace(CACHE, "server_args.hicache_size,", "server_args.hicache_size if tp_rank == 0 else 0,")


@variant(SMALL, right=ONE_RANK)
def others_multiply_by_zero(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, "self.tree_cache = HostCache(self.device_pool, server_args, self.tp_rank)"
    )
    patch.replace(CACHE, "server_args: ServerArgs):", "server_args: ServerArgs, tp_rank: int):")
    patch.replace(CACHE, "server_args.hicache_size,", "server_args.hicache_size * (tp_rank == 0),")


@variant(SMALL, right="unproven")
def every_other_rank(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if self.tp_rank % 2 == 0:\n            {BUILD}")


@variant(SMALL, right="per-node GB | unproven")
def first_rank_of_each_node(patch: Patch) -> None:
    patch.replace(SCHEDULER, "import logging\n", "import logging\nimport os\n")
    patch.replace(SCHEDULER, BUILD, f'if int(os.environ["LOCAL_RANK"]) == 0:\n            {BUILD}')


@variant(SMALL, right=ONE_RANK)
def guard_in_the_allocating_method(patch: Patch) -> None:
    patch.replace(
        POOL,
        "    def init_kv_buffer(self):\n",
        f"    def init_kv_buffer(self):\n        if {RANK} != 0:\n            return None\n",
    )


@variant(SMALL, right=ONE_RANK)
def guard_in_the_constructor(patch: Patch) -> None:
    patch.replace(POOL, ALLOCATE, f"if {RANK} == 0:\n            {ALLOCATE}")


@variant(SMALL, right=ONE_RANK)
def others_make_an_empty_buffer(patch: Patch) -> None:
    patch.before(POOL, ALLOCATE, f"if {RANK} != 0:\n    self.size = 0")


@variant(SMALL, right=ONE_RANK)
def only_one_process_is_started_with_it(patch: Patch) -> None:
    """The launcher hands all but the first rank a copy of the arguments without it."""
    patch.replace(
        "srt/entrypoints/engine.py",
        "import multiprocessing as mp\n",
        "import dataclasses\nimport multiprocessing as mp\n",
    )
    patch.replace(
        "srt/entrypoints/engine.py",
        "        process = mp.Process(\n",
        "        server_args = server_args if tp_rank == 0 else dataclasses.replace(server_args, hicache_size=0)\n"
        "        process = mp.Process(\n",
    )


@variant(SMALL, right="per-rank GB")
def a_comparison_of_ranks_beside_it(patch: Patch) -> None:
    patch.before(SCHEDULER, BUILD, "self.reports = self.tp_rank == 0")


@variant(SMALL, right="per-rank GB")
def every_rank_for_itself_in_both_arms(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, f"if self.tp_rank == 0:\n            {BUILD}\n        else:\n            {BUILD}"
    )


@variant(SMALL, right="per-rank GB")
def other_conditions_guard_it(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if server_args.page_size > 1:\n            {BUILD}")


@variant(SMALL, right="per-rank GB | unproven")
def several_ranks_are_needed(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if self.tp_size > 1:\n            {BUILD}")


@variant(SMALL, right="per-rank GB | unproven")
def the_first_rank_or_all(patch: Patch) -> None:
    patch.replace(
        SCHEDULER, BUILD, f"if self.tp_rank == 0 or server_args.page_size >= 1:\n            {BUILD}"
    )
