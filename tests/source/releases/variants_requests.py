"""Tables for as many requests as the pool lets in are no pool of their own; whatever takes its items once more is."""

from release_trees import Patch
from release_variants import SMALL, variant

POOL = "srt/mem_cache/host_pool.py"
MAKE = "self.kv_buffer = self.init_kv_buffer()"
INDEX = "torch.int32"
REQUESTS = "min(device_pool.max_running_requests, self.size // 2)"


def table(
    patch: Patch, *, rows: str = REQUESTS, given: str = "rows", columns: str = "4", dtype: str = INDEX
) -> None:
    """A table in each module of the model, made where the pool is."""
    patch.after(POOL, MAKE, f"rows = {rows}\nfor module in device_pool.modules():\n    self.note({given})")
    patch.before(
        POOL,
        "def init_kv_buffer(self):",
        f"def note(self, rows):\n    self.ids = torch.zeros([rows, {columns}], dtype={dtype})\n",
    )


@variant(SMALL, right="per-rank GB")
def table_of_requests_in_each_module(patch: Patch) -> None:
    table(patch)


@variant(SMALL, right="per-rank GB")
def table_of_each_ranks_requests_or_of_a_chunk(patch: Patch) -> None:
    """The way of a layer that numbers what one step looks at."""
    table(
        patch,
        rows="min(device_pool.max_num_reqs // device_pool.dp_size, self.size // 2)",
        given="max(device_pool.chunk, rows)",
    )


@variant(SMALL, right="unproven", names="host_pool.py")
def table_of_tokens_in_each_module(patch: Patch) -> None:
    table(patch, rows="self.size // 2")


@variant(SMALL, right="unproven", names="host_pool.py")
def tokens_at_most_in_each_module(patch: Patch) -> None:
    table(patch, rows="min(device_pool.max_total_tokens, self.size // 2)")


@variant(SMALL, right="unproven", names="host_pool.py")
def rows_of_requests_are_no_whole_numbers(patch: Patch) -> None:
    table(patch, columns="device_pool.context_len * self.head_dim", dtype="torch.bfloat16")


@variant(SMALL, right="unproven", names="host_pool.py")
def rows_of_requests_are_bytes(patch: Patch) -> None:
    table(patch, columns="device_pool.bytes_per_request", dtype="torch.uint8")


@variant(SMALL, right="unproven", names="host_pool.py")
def rows_of_requests_have_no_type(patch: Patch) -> None:
    table(patch, dtype="device_pool.dtype")


@variant(SMALL, right="unproven", names="host_pool.py")
def tokens_of_each_request(patch: Patch) -> None:
    table(patch, given="rows * device_pool.context_len")


@variant(SMALL, right="unproven", names="host_pool.py")
def tokens_that_so_many_requests_take(patch: Patch) -> None:
    table(patch, rows="min(device_pool.max_num_reqs * device_pool.context_len, self.size)")


@variant(SMALL, right="unproven", names="host_pool.py")
def bytes_of_requests_bound_it(patch: Patch) -> None:
    table(patch, rows="min(device_pool.max_request_bytes, self.size)")


@variant(SMALL, right="unproven", names="host_pool.py")
def tokens_of_requests_bound_it(patch: Patch) -> None:
    table(patch, rows="min(device_pool.max_tokens_of_requests, self.size)")


@variant(SMALL, right="unproven", names="host_pool.py")
def as_many_as_requests_or_more(patch: Patch) -> None:
    table(patch, rows="max(device_pool.max_running_requests, self.size // 2)")


@variant(SMALL, right="unproven", names="host_pool.py")
def a_pool_in_each_module_beside_its_table(patch: Patch) -> None:
    table(patch)
    patch.replace(
        POOL, "    self.note(rows)", "    self.note(rows)\n            self.copy = self.init_kv_buffer()"
    )
