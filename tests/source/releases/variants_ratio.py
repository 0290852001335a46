"""A ratio of another pool, and a fraction of a machine's memory: told apart by what is multiplied, not by its name."""

from release_trees import Patch
from release_variants import SMALL, variant

POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
DEVICE = "srt/mem_cache/device_pool.py"
RATIO = "            self.size = int(device_pool.size * host_to_device_ratio)\n"
MAKE = "self.kv_buffer = self.init_kv_buffer()"
FLAG = "hicache_ratio"


def sized(patch: Patch, *lines: str) -> None:
    """Other lines in place of the one that makes the size."""
    patch.replace(POOL, RATIO, "".join(f"            {line}\n" for line in lines))


def device_pool(patch: Patch, *body: str) -> None:
    """A device pool that is never seen to be made, with one method."""
    lines = "".join(f"        {line}\n" for line in body)
    patch.add(DEVICE, f"import psutil\n\n\nclass DevicePool:\n    def buffers(self):\n{lines}")


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def ratio_of_a_pool(patch: Patch) -> None:
    patch.append(POOL, "# nothing else\n")


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def ratio_then_bytes(patch: Patch) -> None:
    """What it is multiplied by later is no memory, whatever it counts in."""
    patch.before(POOL, "def init_kv_buffer(self):", "def nothing(self):\n    return None\n")
    patch.replace(
        POOL,
        "(2, self.layer_num, self.size, self.head_num, self.head_dim),\n            dtype=torch.bfloat16,",
        "(self.size * self.bytes_per_token,),\n            dtype=torch.uint8,",
    )


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def ratio_of_a_tensor(patch: Patch) -> None:
    sized(
        patch,
        "device_total_bytes = device_pool.raw.nbytes",
        "self.size = int(device_total_bytes * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def ratio_of_what_a_pool_measures(patch: Patch) -> None:
    device_pool(patch, "return [self.raw.data_ptr()], [self.raw.numel()]")
    sized(
        patch,
        "regions = {(ptrs[0], lens[0]) for ptrs, lens in [one.buffers() for one in (device_pool,)]}",
        "device_total_bytes = next(iter(regions))[1]",
        "self.size = int(device_total_bytes * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def pool_gives_the_machines_memory(patch: Patch) -> None:
    device_pool(patch, "return [0], [psutil.virtual_memory().total]")
    sized(
        patch,
        "ptrs, lens = device_pool.buffers()",
        "device_total_bytes = lens[0]",
        "self.size = int(device_total_bytes * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def pool_gives_it_by_another_function(patch: Patch) -> None:
    device_pool(patch, "return [self.raw.data_ptr()], [self.raw.numel(), self.all_of_it()]")
    patch.append(DEVICE, "    def all_of_it(self):\n        return psutil.virtual_memory().total\n")
    sized(
        patch,
        "ptrs, lens = device_pool.buffers()",
        "device_total_bytes = lens[1]",
        "self.size = int(device_total_bytes * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="unproven")
def bytes_of_nobody_knows_what(patch: Patch) -> None:
    sized(
        patch,
        "self.size = int(device_pool.total_bytes() * host_to_device_ratio) // self.size_per_token",
    )
    patch.replace(POOL, "self.size_per_token\n        available", "1\n        available")


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def fraction_of_the_machine(patch: Patch) -> None:
    sized(
        patch,
        "self.size = int(psutil.virtual_memory().total * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def fraction_by_a_name_that_says_nothing(patch: Patch) -> None:
    sized(
        patch,
        "room = psutil.virtual_memory().total",
        "self.size = int(room * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def fraction_called_a_pools_bytes(patch: Patch) -> None:
    sized(
        patch,
        "device_total_bytes = torch.cuda.mem_get_info()[1]",
        "self.size = int(device_total_bytes * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def fraction_of_one_of_two(patch: Patch) -> None:
    sized(
        patch,
        "free, pool_size = torch.cuda.mem_get_info()",
        "self.size = int(pool_size * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def fraction_of_the_first_of_a_set(patch: Patch) -> None:
    sized(
        patch,
        "regions = {(0, psutil.virtual_memory().total)}",
        "pool_size = next(iter(regions))[1]",
        "self.size = int(pool_size * host_to_device_ratio) // self.size_per_token",
    )


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def fraction_by_a_helper(patch: Patch) -> None:
    patch.append(POOL, "def pool_size():\n    return psutil.virtual_memory().total\n")
    sized(patch, "self.size = int(pool_size() * host_to_device_ratio) // self.size_per_token")


@variant(SMALL, flag=FLAG, right="per-rank fraction | unproven")
def fraction_by_an_attribute(patch: Patch) -> None:
    patch.after(POOL, "self.page_size = page_size", "self.capacity = psutil.virtual_memory().total")
    sized(patch, "self.size = int(self.capacity * host_to_device_ratio) // self.size_per_token")


@variant(SMALL, flag=FLAG, right="per-rank fraction")
def fraction_less_what_is_used(patch: Patch) -> None:
    """The way of a backend that asks its own library, with a least number of tokens."""
    sized(
        patch,
        "limit = backend.device_info().get('max_recommended_working_set_size', backend.device_info().get('memory_size', 0))",
        "room = max(int(limit * host_to_device_ratio) - backend.used(), 0)",
        "self.size = max(room // self.size_per_token, 256)",
    )


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def pool_of_memory_is_no_machine(patch: Patch) -> None:
    sized(patch, "self.size = int(self.device_pool.memory_pool.size * host_to_device_ratio)")


@variant(SMALL, flag=FLAG, right="per-rank ratio")
def tokens_that_fit_in_memory_are_tokens(patch: Patch) -> None:
    sized(
        patch,
        "room = psutil.virtual_memory().total // self.size_per_token",
        "device_size = min(room, device_pool.size)",
        "self.size = int(device_size * host_to_device_ratio)",
    )


@variant(SMALL, flag=FLAG, right="unproven")
def the_same_pool_twice(patch: Patch) -> None:
    patch.replace(
        POOL,
        MAKE,
        f"for name in ('a', 'b'):\n            self.fill(name)\n\n    def fill(self, name):\n        {MAKE}",
    )


@variant(SMALL, flag=FLAG, right="per-rank ratio | unproven")
def one_for_each_with_its_own_bytes(patch: Patch) -> None:
    patch.replace(
        POOL,
        MAKE,
        "for region in device_pool.regions:\n            self.fill(item_bytes=region.item_bytes)\n\n"
        "    def fill(self, item_bytes):\n"
        "        self.buffers = torch.empty((self.size, item_bytes), dtype=torch.uint8)",
    )


@variant(SMALL, right="unproven")
def one_gigabyte_size_for_each_with_its_own_bytes(patch: Patch) -> None:
    one_for_each_with_its_own_bytes(patch)


@variant(SMALL, right="unproven")
def large_bound_in_a_loop(patch: Patch) -> None:
    patch.replace(
        POOL,
        MAKE,
        "for name in ('a', 'b'):\n            self.fill(name)\n\n    def fill(self, name):\n"
        "        self.buffers = torch.empty((min(self.size, 1 << 40), 8), dtype=torch.uint8)",
    )


@variant(SMALL, right="per-rank GB")
def few_pages_for_staging_in_a_loop(patch: Patch) -> None:
    patch.after(
        POOL,
        MAKE,
        "for name in ('a', 'b'):\n    self.stage(name)",
    )
    patch.before(
        POOL,
        "def init_kv_buffer(self):",
        "def stage(self, name):\n    self.staging = torch.empty((min(self.size, 64), 8), dtype=torch.uint8)\n",
    )


@variant(SMALL, right="per-rank GB")
def variable_of_the_pools_name(patch: Patch) -> None:
    """An attribute of an object that happens to be called as the pool is replaces nothing of it."""
    patch.add(
        "srt/other.py",
        "class Answer:\n    pass\n\n\ndef answer():\n    HostPool = Answer()\n    HostPool.size = 3\n    return HostPool\n",
    )


@variant(SMALL, right="unproven")
def variable_that_is_the_pool(patch: Patch) -> None:
    patch.add(
        "srt/other.py",
        "def replace(other, module):\n    HostPool = module.HostPool\n    HostPool.init_kv_buffer = other\n",
    )


@variant(SMALL, right="unproven")
def pool_imported_where_it_is_replaced(patch: Patch) -> None:
    patch.add(
        "srt/other.py",
        "class Answer:\n    pass\n\n\ndef replace(other):\n    HostPool = Answer()\n"
        "    from sglang.srt.mem_cache.host_pool import HostPool\n    HostPool.init_kv_buffer = other\n",
    )
