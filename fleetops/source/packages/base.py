"""What the tracer has to be told of a package, because its source alone does not say it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Package:
    """Hints for one package. None of them says anything about a flag.

    Attributes:
        name: the import name; title: as a person writes it.
        per_rank: what runs once in each rank's process, where its process begins: a function or a class (its
            constructor) by name, `Class.method`, or `Class.*` where others call its methods by their names.
        per_server: those that run once per server (or per node), outside the ranks' processes.
        parallel_sizes: names of parallel sizes, beyond those that end in `_parallel_size` or `world_size`.
        has_options: its flags are options of a command line; without, the fields of its configuration.
        left_out: folders of other programs inside the package that the server never runs.
    """

    name: str
    title: str
    per_rank: tuple[str, ...]
    per_server: tuple[str, ...] = ()
    parallel_sizes: tuple[str, ...] = ()
    has_options: bool = True
    left_out: tuple[str, ...] = ("test", "tests", "benchmark", "benchmarks")

    def leaves_out(self, file: str) -> bool:
        """Whether it is in one of those folders, or a test beside what it tests."""
        *folders, name = file.split("/")
        return (
            name.startswith(("test_", "bench_"))
            or name == "unit_test.py"
            or not set(self.left_out).isdisjoint(folders)
        )
