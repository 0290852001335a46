"""Tests around the allocation: many ways to ask for a rank, and many that ask for something else."""

from collections.abc import Callable

from release_trees import Patch
from release_variants import SMALL, variant

SCHEDULER = "srt/managers/scheduler.py"
POOL = "srt/mem_cache/host_pool.py"
BUILD = "self.tree_cache = HostCache(self.device_pool, server_args)"
ALLOCATE = "self.kv_buffer = self.init_kv_buffer()"

RANKS = {
    "attribute": "self.tp_rank == 0",
    "turned_around": "0 == self.tp_rank",
    "less": "self.tp_rank < 1",
    "not_more": "not self.tp_rank > 0",
    "in_a_tuple": "self.tp_rank in (0,)",
    "not_in_a_range": "self.tp_rank not in range(1, self.tp_size)",
    "last": "self.tp_rank == self.tp_size - 1",
    "chained": "0 <= self.tp_rank < 1",
    "as_text": 'str(self.tp_rank) == "0"',
    "as_a_sum": "self.tp_rank + server_args.pp_size * self.gpu_id == 0",
    "function": "get_tensor_model_parallel_rank() == 0",
    "of_the_world": "torch.distributed.get_rank() == 0",
    "of_a_group": "torch.distributed.get_rank(group=self.cpu_group) == 0",
    "in_group": "get_tp_group().rank_in_group == 0",
    "first_in_group": "get_tp_group().is_first_rank",
    "accessor": "get_parallel().tp_rank == 0",
    "state": "self.ps.attn_tp_rank == 0",
    "pipeline": "self.pp_group.is_first_rank",
    "data": "server_args.dp_rank == 0",
    "driver": "self.is_driver_worker",
    "main_process": "is_main_process()",
    "environment": 'int(os.getenv("LOCAL_RANK", "0")) == 0',
    "every_second": "self.tp_rank & 1 == 0",
    "named_in_both": "(first := self.tp_rank == 0) and first",
    "with_others": "server_args.page_size > 1 and self.tp_rank == 0 and self.tp_size > 1",
    "any_of": "any(rank == self.tp_rank for rank in (0,))",
    "nested": "(self.tp_rank == 0 if server_args.page_size > 1 else self.tp_rank == 1)",
}
OTHERS = {
    "size_of_a_page": "server_args.page_size == 0",
    "platform": "torch.cuda.is_available()",
    "logging": "logger.isEnabledFor(logging.DEBUG)",
    "device_kind": 'server_args.device == "cuda"',
    "feature": "server_args.enable_hierarchical_cache",
    "environment": 'os.getenv("HOST_CACHE", "1") == "1"',
    "kind": "isinstance(self.device_pool, list)",
    "nothing": "self.device_pool is not None",
    "its_own_value": "server_args.hicache_size > 0",
    "two_of_them": "server_args.page_size == 1 or server_args.hicache_size > 0",
}
# A word with `rank` in it is not always the rank of a process; doubt is allowed.
SOUNDING = {
    "lora": "server_args.max_lora_rank == 0",
    "ranking": "server_args.enable_reranking",
    "nodes": "server_args.nnodes == 1",
    "single": "self.tp_size == 1",
    "all": "self.tp_rank >= 0",
    "all_listed": "self.tp_rank in range(self.tp_size)",
}


def around(test: str) -> Callable[[Patch], None]:
    def build(patch: Patch) -> None:
        patch.replace(SCHEDULER, BUILD, f"if {test}:\n            {BUILD}")

    return build


def against(test: str) -> Callable[[Patch], None]:
    def build(patch: Patch) -> None:
        patch.before(SCHEDULER, BUILD, f"if not ({test}):\n    return")

    return build


def within(test: str) -> Callable[[Patch], None]:
    def build(patch: Patch) -> None:
        patch.replace(POOL, ALLOCATE, f"if {test}:\n            {ALLOCATE}")

    return build


for kind, tests, right in (
    ("rank", RANKS, "total GB | per-node GB | unproven"),
    ("other", OTHERS, "per-rank GB"),
    ("sounding", SOUNDING, "per-rank GB | unproven"),
):
    for name, test in tests.items():
        for place in (around, against, within):
            built = place(test)
            built.__name__ = f"{kind}_{name}_{place.__name__}"
            variant(SMALL, right=right)(built)
