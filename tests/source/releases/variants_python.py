"""What Python allows: decorators, descriptors, classes that change, odd files, and expressions that never end."""

from release_trees import Patch
from release_variants import SMALL, variant

POOL = "srt/mem_cache/host_pool.py"
CACHE = "srt/mem_cache/host_cache.py"
ARGS = "srt/server_args.py"
SCHEDULER = "srt/managers/scheduler.py"
NOW = "int(host_size * 1e9 // self.size_per_token)"
BUILD = "self.tree_cache = HostCache(self.device_pool, server_args)"
WORLD = "torch.distributed.get_world_size()"
SIGNATURE = (
    "    def __init__(self, device_pool, host_to_device_ratio: float, host_size: int, page_size: int):\n"
)

SAME = "per-rank GB"
OR_LOST = "per-rank GB | unproven"
TOTAL = "total GB | unproven"


# -- classes that are not what their statement says ---------------------------------------------------------------------


@variant(SMALL, right=TOTAL)
def constructor_with_a_decorator_that_divides(patch: Patch) -> None:
    patch.before(
        POOL,
        "class HostPool:",
        "def shared(init):\n"
        "    def wrapped(self, device_pool, ratio, host_size, page_size):\n"
        f"        return init(self, device_pool, ratio, host_size / {WORLD}, page_size)\n"
        "    return wrapped\n\n\n",
    )
    patch.replace(POOL, SIGNATURE, f"    @shared\n{SIGNATURE}")


@variant(SMALL, right=OR_LOST)
def constructor_with_a_decorator_that_logs(patch: Patch) -> None:
    patch.before(
        POOL,
        "class HostPool:",
        "def logged(init):\n"
        "    def wrapped(*args, **kwargs):\n"
        "        logger.info('making a pool')\n"
        "        return init(*args, **kwargs)\n"
        "    return wrapped\n\n\n",
    )
    patch.replace(POOL, SIGNATURE, f"    @logged\n{SIGNATURE}")


@variant(SMALL, right=TOTAL)
def class_with_a_decorator_that_replaces_it(patch: Patch) -> None:
    patch.before(
        POOL,
        "class HostPool:",
        "def shared(pool):\n"
        "    class Shared(pool):\n"
        "        def __init__(self, device_pool, ratio, host_size, page_size):\n"
        f"            super().__init__(device_pool, ratio, host_size / {WORLD}, page_size)\n"
        "    return Shared\n\n\n",
    )
    patch.replace(POOL, "class HostPool:\n", "@shared\nclass HostPool:\n")


@variant(SMALL, right=TOTAL)
def class_rebound_at_the_end(patch: Patch) -> None:
    patch.append(
        POOL,
        "\ndef shared(pool):\n"
        "    def make(device_pool, ratio, host_size, page_size):\n"
        f"        return pool(device_pool, ratio, host_size / {WORLD}, page_size)\n"
        "    return make\n\n\nHostPool = shared(HostPool)\n",
    )


@variant(SMALL, right="unproven")
def another_class_from_new(patch: Patch) -> None:
    patch.replace(
        POOL,
        SIGNATURE,
        "    def __new__(cls, *args):\n        return make_native_pool(*args)\n\n" + SIGNATURE,
    )


@variant(SMALL, right=TOTAL)
def mixin_that_divides(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass Sharing:\n"
        "    def __init__(self, device_pool, ratio, host_size, page_size):\n"
        f"        super().__init__(device_pool, ratio, host_size / {WORLD}, page_size)\n\n\n"
        "class SharedPool(Sharing, HostPool):\n    pass\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import SharedPool as HostPool\n")


@variant(SMALL, right=SAME)
def mixin_without_a_constructor(patch: Patch) -> None:
    patch.append(
        POOL,
        "\nclass Named:\n    def name(self):\n        return type(self).__name__\n\n\n"
        "class NamedPool(Named, HostPool):\n    pass\n",
    )
    patch.replace(CACHE, "import HostPool\n", "import NamedPool as HostPool\n")


@variant(SMALL, right=TOTAL)
def arguments_that_divide_when_they_are_asked(patch: Patch) -> None:
    patch.before(
        ARGS,
        "def check(self):",
        "def __getattribute__(self, name):\n"
        "    value = super().__getattribute__(name)\n"
        '    return value / self.tp_size if name == "hicache_size" else value\n',
    )


@variant(SMALL, right=TOTAL)
def set_behind_a_frozen_class_s_back(patch: Patch) -> None:
    patch.replace(
        ARGS,
        "        self.check()\n",
        '        self.check()\n        object.__setattr__(self, "hicache_size", self.hicache_size / self.tp_size)\n',
    )


@variant(SMALL, right="unproven")
def set_by_an_update_of_its_dict(patch: Patch) -> None:
    patch.before(SCHEDULER, BUILD, "vars(server_args).update(hicache_size=7)")


@variant(SMALL, right="unproven")
def set_by_names_in_a_loop(patch: Patch) -> None:
    patch.before(
        SCHEDULER, BUILD, 'for name in ("page_size", "hicache_size"):\n    setattr(server_args, name, 7)'
    )


@variant(SMALL, right=TOTAL)
def attribute_that_is_a_descriptor(patch: Patch) -> None:
    patch.replace(
        CACHE,
        "\n\nclass HostCache:",
        "\n\nclass Share:\n    def __get__(self, owner, kind):\n"
        "        return owner.server_args.hicache_size / owner.server_args.tp_size\n\n\nclass HostCache:\n    gigabytes = Share()\n",
    )
    patch.replace(
        CACHE,
        "        self.page_size = server_args",
        "        self.server_args = server_args\n        self.page_size = server_args",
    )
    patch.replace(CACHE, "            server_args.hicache_size,\n", "            self.gigabytes,\n")


# -- who runs it ------------------------------------------------------------------------------------------------------------


@variant(SMALL, right="unproven")
def a_return_before_it_is_built(patch: Patch) -> None:
    patch.before(SCHEDULER, BUILD, "self.tree_cache = None\nreturn")


@variant(SMALL, right="unproven")
def only_a_registry_that_nobody_reads_has_it(patch: Patch) -> None:
    patch.before(SCHEDULER, "class Scheduler:", 'CACHES = {"host": HostCache}\n\n\n')
    patch.replace(SCHEDULER, BUILD, "self.tree_cache = None")


@variant(SMALL, right="unproven")
def only_an_annotation_names_it(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, "self.tree_cache: HostCache | None = None")


@variant(SMALL, right=OR_LOST)
def built_in_a_thread(patch: Patch) -> None:
    patch.replace(SCHEDULER, "import logging\n", "import logging\nimport threading\n")
    patch.replace(
        SCHEDULER, "        self.init_cache()\n", "        threading.Thread(target=self.init_cache).start()\n"
    )


@variant(SMALL, right=OR_LOST)
def built_by_a_callback(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        "        self.init_cache()\n",
        "        self.steps = [self.make_device_pool, self.init_cache]\n        for step in self.steps:\n            step()\n",
    )


@variant(SMALL, right=OR_LOST)
def process_begins_under_another_name(patch: Patch) -> None:
    patch.everywhere("run_scheduler_process", "run_rank")


@variant(SMALL, right=SAME)
def arguments_under_another_name(patch: Patch) -> None:
    patch.everywhere("ServerArgs", "EngineConfig")


@variant(SMALL, right=TOTAL)
def first_rank_makes_memory_that_the_others_attach_to(patch: Patch) -> None:
    patch.replace(
        POOL, "import psutil\n", "from multiprocessing.shared_memory import SharedMemory\n\nimport psutil\n"
    )
    patch.replace(
        POOL,
        "self.kv_buffer = self.init_kv_buffer()",
        'self.kv_buffer = SharedMemory("pool", create=torch.distributed.get_rank() == 0, size=self.size * self.size_per_token)',
    )


@variant(SMALL, right=TOTAL)
def rank_of_a_group(patch: Patch) -> None:
    patch.replace(SCHEDULER, BUILD, f"if server_args.group.rank() == 0:\n            {BUILD}")


@variant(SMALL, right=TOTAL)
def rank_from_the_launcher_s_environment(patch: Patch) -> None:
    patch.replace(SCHEDULER, "import logging\n", "import logging\nimport os\n")
    patch.replace(SCHEDULER, BUILD, f'if os.environ.get("RANK", "0") == "0":\n            {BUILD}')


@variant(SMALL, right=TOTAL)
def rank_by_the_device(patch: Patch) -> None:
    """gpu_id is a rank under another name."""
    patch.replace(SCHEDULER, BUILD, f"if self.gpu_id == 0:\n            {BUILD}")


@variant(SMALL, right=TOTAL)
def leader_set_in_a_base_class(patch: Patch) -> None:
    patch.before(
        SCHEDULER,
        "class Scheduler:",
        "class Member:\n    def join(self, tp_rank):\n        self.leads = tp_rank == 0\n\n\n",
    )
    patch.replace(SCHEDULER, "class Scheduler:", "class Scheduler(Member):")
    patch.after(SCHEDULER, "self.tp_rank = tp_rank", "self.join(tp_rank)")
    patch.replace(SCHEDULER, BUILD, f"if self.leads:\n            {BUILD}")


@variant(SMALL, right=OR_LOST)
def each_rank_finds_itself_in_a_loop(patch: Patch) -> None:
    patch.replace(
        SCHEDULER,
        BUILD,
        f"for rank in range(self.tp_size):\n            if rank != self.tp_rank:\n                continue\n            {BUILD}",
    )


@variant(SMALL, right=TOTAL)
def the_others_raise(patch: Patch) -> None:
    patch.before(
        SCHEDULER, BUILD, "if self.tp_rank != 0:\n    raise NotImplementedError('one rank has the cache')"
    )


# -- files and expressions ------------------------------------------------------------------------------------------------------


@variant(SMALL, right=SAME)
def lines_end_as_on_windows(patch: Patch) -> None:
    patch.edits[POOL] = patch.text(POOL).replace("\n", "\r\n")


@variant(SMALL, right=SAME)
def form_feeds_that_end_no_line(patch: Patch) -> None:
    for file in (POOL, CACHE, SCHEDULER):
        patch.edits[file] = "# Its first page." + 40 * "\f" + "\n" + patch.text(file)


@variant(SMALL, right=SAME)
def indented_with_tabs(patch: Patch) -> None:
    patch.edits[POOL] = patch.text(POOL).replace("    ", "\t")


@variant(SMALL, right=OR_LOST)
def newer_syntax_than_this_python_may_know(patch: Patch) -> None:
    patch.append(POOL, "\ntype Size = int\n\n\ndef first[T](items: list[T]) -> T:\n    return items[0]\n")


@variant(SMALL, right="unproven", names="host_pool.py")
def older_syntax_than_any_python_knows(patch: Patch) -> None:
    patch.append(POOL, "\nexec 'print 1' in {}\n")


@variant(SMALL, right=OR_LOST)
def an_expression_nested_too_deeply(patch: Patch) -> None:
    patch.append(POOL, f"\nDEEP = {'(' * 90}1{')' * 90}\nSUM = {' + '.join(['1'] * 3000)}\n")


@variant(SMALL, right="unproven")
def a_shift_that_no_memory_holds(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * (1 << (1 << 40))")


@variant(SMALL, right="unproven")
def a_power_that_no_memory_holds(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * 10**10**10")


@variant(SMALL, right="unproven")
def a_number_that_is_none(patch: Patch) -> None:
    patch.replace(POOL, "host_size * 1e9", "host_size * 1e999")


@variant(SMALL, right=OR_LOST)
def functions_that_call_each_other_for_ever(patch: Patch) -> None:
    patch.before(
        POOL,
        "class HostPool:",
        "def ping(size):\n    return pong(size) if size > 1e12 else size\n\n\n"
        "def pong(size):\n    return ping(size)\n\n\n",
    )
    patch.before(POOL, "if host_size > 0:", "host_size = ping(host_size)")


@variant(SMALL, right="unproven")
def a_recursion_that_halves(patch: Patch) -> None:
    patch.before(
        POOL, "class HostPool:", "def fit(size):\n    return fit(size / 2) if size > 100 else size\n\n\n"
    )
    patch.before(POOL, "if host_size > 0:", "host_size = fit(host_size)")


@variant(SMALL, right=OR_LOST)
def a_generator_gives_it(patch: Patch) -> None:
    patch.before(POOL, "class HostPool:", "def sizes(size):\n    yield size * 1e9\n\n\n")
    patch.replace(POOL, NOW, "int(next(sizes(host_size)) // self.size_per_token)")


@variant(SMALL, right=OR_LOST)
def a_context_manager_gives_it(patch: Patch) -> None:
    patch.replace(POOL, "import logging\n", "import contextlib\nimport logging\n")
    patch.before(POOL, "class HostPool:", "@contextlib.contextmanager\ndef room(size):\n    yield size\n\n\n")
    patch.replace(
        POOL,
        f"            self.size = {NOW}",
        f"            with room(host_size) as size:\n                self.size = {NOW.replace('host_size', 'size')}",
    )
