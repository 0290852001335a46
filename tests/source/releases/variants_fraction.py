"""A share of the GPU's memory, as it is made into pools of rows: what stays that share, and what is no share of it."""

from release_trees import Patch
from release_variants import SMALL, variant

FLAG = "mem_fraction_static"
ARGUMENTS = "srt/server_args.py"
SCHEDULER = "srt/managers/scheduler.py"
RUNNER = "srt/model_executor/model_runner.py"
REST = "rest = available - total * (1 - self.mem_fraction_static)"
ROWS = "rows = int(rest * (1 << 30)) // self.cell_size"
STORE = "self.max_total_num_tokens = rows"
TABLE = "self.req_to_token = torch.zeros((rows // 8, 4096), dtype=torch.int32)"
POOL = "self.pool = KVPool(self.max_total_num_tokens, self.heads, self.layers)"
BUFFER = "self.buffers = [torch.zeros((size, heads, 64), dtype=torch.bfloat16) for _ in range(layers)]"

SOURCE = f"""\
import torch


class KVPool:
    def __init__(self, size: int, heads: int, layers: int):
        self.size = size
        {BUFFER}


class ModelRunner:
    def __init__(self, mem_fraction_static: float, gpu_id: int, tp_rank: int, tp_size: int):
        self.mem_fraction_static = mem_fraction_static
        self.tp_rank = tp_rank
        self.tp_size = tp_size
        self.heads, self.layers = 8, 64
        self.cell_size = self.heads * 64 * self.layers * 2 * torch._utils._element_size(torch.bfloat16)
        self.init_memory_pool(get_available_gpu_memory(gpu_id))

    def init_memory_pool(self, total: float):
        available = get_available_gpu_memory(self.tp_rank)
        {REST}
        {ROWS}
        {STORE}
        {TABLE}
        {POOL}


def get_available_gpu_memory(gpu_id: int) -> float:
    free, _ = torch.cuda.mem_get_info(gpu_id)
    return free / (1 << 30)
"""


def runner(patch: Patch, old: str = "", new: str = "") -> None:
    """A scheduler with a model runner that takes a share of its GPU's memory; one line of it another."""
    patch.after(ARGUMENTS, "nnodes: int = 1", "mem_fraction_static: float = None")
    option = (
        'parser.add_argument("--mem-fraction-static", type=float, default=ServerArgs.mem_fraction_static)'
    )
    patch.before(ARGUMENTS, 'parser.add_argument("--tp-size", type=int, default=ServerArgs.tp_size)', option)
    patch.replace(
        SCHEDULER,
        "import logging\n",
        "import logging\n\nfrom sglang.srt.model_executor.model_runner import ModelRunner\n",
    )
    patch.after(
        SCHEDULER,
        "self.tp_size = server_args.tp_size",
        "self.runner = ModelRunner(server_args.mem_fraction_static, gpu_id, tp_rank, self.tp_size)",
    )
    patch.add(RUNNER, SOURCE)
    if old:
        indent = next(line for line in SOURCE.splitlines() if line.strip() == old)
        indent = indent[: len(indent) - len(indent.lstrip())]
        patch.replace(RUNNER, f"{indent}{old}\n", "".join(f"{indent}{line}\n" for line in new.splitlines()))


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def share_of_the_ranks_own_gpu(patch: Patch) -> None:
    runner(patch)


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def share_in_several_pools_by_one_of_many_ways(patch: Patch) -> None:
    """What one row takes is found in one of several ways; it is the same share by all of them."""
    runner(
        patch,
        STORE,
        "if self.tp_size > 4:\n"
        "    rows = int(rest * (1 << 30)) // (self.cell_size + 8)\n"
        "elif self.layers > 60:\n"
        "    rows = min(rows, self.limit) // self.page_size * self.page_size\n"
        "self.full = self.max_total_num_tokens = rows\n"
        "self.window = self.full // 4 + 128\n"
        "self.window_pool = KVPool(self.window, self.heads, self.layers)",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def tables_of_rows_in_each_layer(patch: Patch) -> None:
    """Whole numbers for each row, once for each layer: no share of the memory."""
    runner(patch, POOL, f"{POOL}\nfor layer in range(self.layers):\n    self.number(rows)")
    patch.before(
        RUNNER,
        "def init_memory_pool(self, total: float):",
        "def number(self, rows):\n    self.ids = torch.zeros([rows, 4], dtype=torch.int32)\n",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def rows_of_a_pool_for_each_layer(patch: Patch) -> None:
    """What a row takes counts all of its layers."""
    runner(patch, POOL, "self.pools = [self.pool(rows) for _ in range(self.layers)]")
    patch.before(
        RUNNER,
        "def init_memory_pool(self, total: float):",
        "def pool(self, rows):\n    return KVPool(rows, self.heads, 1)\n",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def pool_by_the_rank_of_a_matrix(patch: Patch) -> None:
    runner(patch, POOL, f"if self.kv_lora_rank % 128 == 0:\n    {POOL}")


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def another_share_for_some_models(patch: Patch) -> None:
    runner(patch)
    patch.before(
        ARGUMENTS, "if self.page_size < 1:", "if self.is_sparse():\n    self.mem_fraction_static = 0.8"
    )


@variant(SMALL, flag=FLAG, right="unproven", names="overwritten")
def another_share_for_all_models(patch: Patch) -> None:
    runner(patch)
    patch.before(ARGUMENTS, "if self.page_size < 1:", "self.mem_fraction_static = 0.8")


@variant(SMALL, flag=FLAG, right="unproven", names="overwritten")
def no_share_for_some_models(patch: Patch) -> None:
    runner(patch)
    patch.before(
        ARGUMENTS, "if self.page_size < 1:", "if self.is_sparse():\n    self.mem_fraction_static = 24.0"
    )


@variant(SMALL, flag=FLAG, right="unproven")
def pool_on_the_first_rank_only(patch: Patch) -> None:
    """The tables are everywhere, what the share is for is not."""
    runner(patch, POOL, f"if self.tp_rank == 0:\n    {POOL}")


@variant(SMALL, flag=FLAG, right="total fraction | unproven")
def share_divided_among_the_ranks(patch: Patch) -> None:
    runner(patch, REST, "rest = available - total * (1 - self.mem_fraction_static / self.tp_size)")


@variant(SMALL, flag=FLAG, right="per-rank GiB | unproven")
def no_share_but_gibibytes(patch: Patch) -> None:
    runner(patch, REST, "rest = self.mem_fraction_static")


@variant(SMALL, flag=FLAG, right="unproven")
def pool_that_nothing_makes(patch: Patch) -> None:
    """Nothing but the tables is left: what the share is of is not known."""
    runner(patch, POOL, "self.pool = self.make(rows)")


@variant(SMALL, flag=FLAG, right="unproven", names="model_runner.py")
def another_number_before_it_is_a_share(patch: Patch) -> None:
    runner(patch, REST, "rest = available - total * (1 - (self.mem_fraction_static + self.spare))")


@variant(SMALL, flag=FLAG, right="unproven", names="model_runner.py")
def runner_does_not_parse(patch: Patch) -> None:
    runner(patch, POOL, "self.pool = KVPool(")
