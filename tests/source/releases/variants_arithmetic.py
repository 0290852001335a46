"""More arithmetic: the same number by other means, and numbers that only resemble it."""

from release_trees import Patch
from release_variants import SMALL, variant

POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
ARGS = "srt/server_args.py"
NOW = "host_size * 1e9 // self.size_per_token"
MAKE = "self.host_pool = HostPool("
PASSED = "            server_args.hicache_size,\n"
ROUNDED = "self.size = self.size - (self.size % self.page_size)"

TOTAL = "total GB | unproven"
OR_LOST = "per-rank GB | unproven"


def passed(patch: Patch, new: str) -> None:
    """What the pool is given in the place of the flag's value."""
    patch.replace(CACHE, PASSED, f"            {new},\n")


# -- units --------------------------------------------------------------------------------------------------------------


@variant(SMALL, right=OR_LOST)
def factor_from_a_string(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", 'host_size * float("1e9")')


@variant(SMALL, right=OR_LOST)
def factor_appended_as_text(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", 'float(f"{host_size}e9")')


@variant(SMALL, right=OR_LOST)
def parsed_as_text_with_a_unit(patch: Patch) -> None:
    patch.replace(POOL, "import psutil\n", "import humanfriendly\nimport psutil\n")
    patch.replace(POOL, "host_size * 1e9", 'humanfriendly.parse_size(f"{host_size}GB")')


@variant(SMALL, right="per-rank GB")
def factor_in_two_parts(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * 1e3 * 10**6")


@variant(SMALL, right="unproven")
def binary_with_a_margin(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * 2**30 * 0.93")


@variant(SMALL, right="unproven")
def shifted_down_again(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "(int(host_size * 1e9) >> 3)")


@variant(SMALL, right="unproven")
def tokens_halved(patch: Patch) -> None:
    patch.replace(POOL, NOW, f"{NOW} // 2")


@variant(SMALL, right="unproven")
def tried_in_two_units(patch: Patch) -> None:
    patch.replace(
        POOL,
        f"            self.size = int({NOW})\n",
        "            try:\n"
        f"                self.size = int({NOW})\n"
        "            except TypeError:\n"
        "                self.size = int(host_size * 2**30 // self.size_per_token)\n",
    )


@variant(SMALL, right="unproven")
def command_line_converts_it(patch: Patch) -> None:
    patch.replace(
        ARGS,
        '            "--hicache-size",\n            type=int,\n',
        '            "--hicache-size",\n            type=lambda text: int(text) * 1.073741824,\n',
    )


@variant(SMALL, right="unproven")
def command_line_converts_it_in_a_function(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "\n\n@dataclasses.dataclass",
        "\n\ndef from_gib(text):\n    return int(text) * 1.073741824\n\n\n@dataclasses.dataclass",
    )
    patch.replace(
        ARGS,
        '            "--hicache-size",\n            type=int,\n',
        '            "--hicache-size",\n            type=from_gib,\n',
    )


@variant(SMALL, right="per-rank GB")
def default_from_the_environment(patch: Patch) -> None:
    patch.replace(ARGS, "import dataclasses\n", "import dataclasses\nimport os\n")
    patch.replace(ARGS, "hicache_size: int = 0", 'hicache_size: int = int(os.environ.get("HOST_GB", 0))')


@variant(SMALL, right="per-rank GB")
def default_in_a_field(patch: Patch) -> None:
    patch.replace(ARGS, "hicache_size: int = 0", "hicache_size: int = dataclasses.field(default=0)")


# -- bounds ---------------------------------------------------------------------------------------------------------------


@variant(SMALL, right=OR_LOST)
def no_more_than_four_device_pools(patch: Patch) -> None:
    patch.replace(POOL, ROUNDED, "self.size = min(self.size, device_pool.size * 4)")


@variant(SMALL, right="unproven")
def no_less_than_the_device_pool(patch: Patch) -> None:
    patch.replace(POOL, ROUNDED, "self.size = max(self.size, device_pool.size)")


@variant(SMALL, right="unproven")
def no_less_than_the_device_pool_by_a_branch(patch: Patch) -> None:
    patch.replace(POOL, ROUNDED, "if self.size < device_pool.size:\n            self.size = device_pool.size")


@variant(SMALL, right=OR_LOST)
def made_smaller_until_it_fits(patch: Patch) -> None:
    patch.before(
        POOL,
        "if host_size > 0:",
        "while host_size * 1e9 > psutil.virtual_memory().available:\n    host_size = host_size - 1",
    )


@variant(SMALL, right="unproven")
def doubled_until_it_is_enough(patch: Patch) -> None:
    patch.before(
        POOL,
        "if host_size > 0:",
        "while host_size * 1e9 < device_pool.nbytes:\n    host_size = host_size * 2",
    )


@variant(SMALL, right="unproven")
def an_attribute_is_doubled(patch: Patch) -> None:
    patch.before(POOL, "if host_size > 0:", "self.host_size = host_size\nself.host_size *= 2")
    patch.replace(POOL, "int(host_size * 1e9", "int(self.host_size * 1e9")


@variant(SMALL, right="unproven | total GB")
def an_inner_function_divides_it(patch: Patch) -> None:
    patch.before(
        POOL,
        "if host_size > 0:",
        "def share():\n    nonlocal host_size\n    host_size = host_size / torch.distributed.get_world_size()\n\nshare()",
    )


@variant(SMALL, right="unproven")
def two_variables_change_places(patch: Patch) -> None:
    patch.before(POOL, "if host_size > 0:", "host_size, page_size = page_size, host_size")


@variant(SMALL, right="unproven")
def a_loop_takes_its_name(patch: Patch) -> None:
    patch.before(POOL, "if host_size > 0:", "for host_size in (1, 2):\n    logger.debug(host_size)")


@variant(SMALL, right="per-rank GB")
def a_comprehension_has_a_variable_of_that_name(patch: Patch) -> None:
    patch.before(POOL, "if host_size > 0:", "self.sizes = [host_size for host_size in (1, 2)]")


# -- divisions ------------------------------------------------------------------------------------------------------------


@variant(SMALL, right="unproven")
def divided_by_twice_the_ranks(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / (2 * server_args.tp_size)")


@variant(SMALL, right="unproven")
def divided_by_one_rank_more(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / (server_args.tp_size + 1)")


@variant(SMALL, right="unproven")
def divided_by_the_square(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / server_args.tp_size**2")


@variant(SMALL, right="unproven")
def divided_by_the_ranks_of_a_replica(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / (server_args.tp_size // server_args.dp_size)")


@variant(SMALL, right="unproven")
def divided_by_experts(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / server_args.ep_size")


@variant(SMALL, right=TOTAL)
def divided_by_at_least_one(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / max(server_args.tp_size, 1)")


@variant(SMALL, right=TOTAL)
def divided_by_one_where_unset(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size / (server_args.tp_size or 1)")


@variant(SMALL, right=TOTAL)
def divided_and_rounded_up(patch: Patch) -> None:
    passed(patch, "-(-server_args.hicache_size // server_args.tp_size)")


@variant(SMALL, right=TOTAL)
def divided_by_divmod(patch: Patch) -> None:
    passed(patch, "divmod(server_args.hicache_size, server_args.tp_size)[0]")


@variant(SMALL, right=TOTAL)
def divided_by_an_operator_function(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang.srt.mem_cache", "import operator\n\nfrom sglang.srt.mem_cache")
    passed(patch, "operator.truediv(server_args.hicache_size, server_args.tp_size)")


@variant(SMALL, right=TOTAL)
def divided_by_its_own_method(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size.__truediv__(server_args.tp_size)")


@variant(SMALL, right=TOTAL)
def divided_by_a_library(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang.srt.mem_cache", "import numpy as np\n\nfrom sglang.srt.mem_cache")
    passed(patch, "np.floor_divide(server_args.hicache_size, server_args.tp_size)")


@variant(SMALL, right=TOTAL)
def divided_as_a_fraction(patch: Patch) -> None:
    patch.replace(
        CACHE, "from sglang.srt.mem_cache", "from fractions import Fraction\n\nfrom sglang.srt.mem_cache"
    )
    passed(patch, "Fraction(server_args.hicache_size, server_args.tp_size)")


@variant(SMALL, right=TOTAL)
def divided_as_a_tensor(patch: Patch) -> None:
    patch.replace(CACHE, "from sglang.srt.mem_cache", "import torch\n\nfrom sglang.srt.mem_cache")
    passed(patch, "(torch.tensor(server_args.hicache_size) / server_args.tp_size).item()")


@variant(SMALL, right=TOTAL)
def divided_in_a_list_of_shares(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "shares = [server_args.hicache_size / server_args.tp_size for _ in range(server_args.tp_size)]",
    )
    passed(patch, "shares[kv_cache.index]")


@variant(SMALL, right="unproven")
def weighted_by_rank(patch: Patch) -> None:
    passed(patch, "server_args.hicache_size * kv_cache.weights[kv_cache.rank]")


@variant(SMALL, right="unproven | total GB")
def subtracted_until_shared(patch: Patch) -> None:
    patch.before(
        CACHE,
        MAKE,
        "size = server_args.hicache_size\nfor _ in range(server_args.tp_size - 1):\n    size -= server_args.hicache_size / server_args.tp_size",
    )
    passed(patch, "size")


@variant(SMALL, right=TOTAL)
def averaged_over_the_ranks(patch: Patch) -> None:
    """An all-reduce that averages what only the first rank has."""
    patch.replace(CACHE, "from sglang.srt.mem_cache", "import torch\n\nfrom sglang.srt.mem_cache")
    patch.before(
        CACHE,
        MAKE,
        "size = torch.tensor(float(server_args.hicache_size if kv_cache.rank == 0 else 0))\n"
        "torch.distributed.all_reduce(size, op=torch.distributed.ReduceOp.AVG)",
    )
    passed(patch, "size.item()")
