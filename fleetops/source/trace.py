"""What a flag means, from the package's own source: the tracer's one door.

The value is followed through the syntax trees from where the flag is declared to the allocations that take it, across
files, parameters, attributes, dictionaries, helpers and constructors. Unit and scope come from what the code does with
it; nothing here knows a release or a flag.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from fleetops.model.proof import Explanation
from fleetops.source.packages import Package
from fleetops.source.tracing.conclude import Conclusion
from fleetops.source.tracing.declared import declarations, names_declared
from fleetops.source.tracing.follow import Follower
from fleetops.source.tracing.machine import Machine
from fleetops.source.tracing.program import Program
from fleetops.source.tracing.reach import Reach
from fleetops.source.tree import Tree


def spelled(flag: str) -> str:
    """A flag's name as the source has it: `--hicache-size` is `hicache_size`."""
    return flag.strip().lstrip("-").replace("-", "_")


def explain(flag: str, tree: Tree, package: Package) -> Explanation:
    """What `flag` means in this tree. Never raises for odd source: what cannot be followed makes it unproven."""
    with _no_garbage_collected():
        return _explained(spelled(flag), tree, package)


def _explained(name: str, tree: Tree, package: Package) -> Explanation:
    program = Program(tree, package)
    declared = declarations(name, program) if name.isidentifier() else []
    if not declared:
        return _not_declared(name, tree, program)
    machine = Machine(program, name)
    reach = Reach(program)
    Follower(machine, reach).follow(declared)
    return Conclusion(machine, reach, declared).explanation()


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Syntax trees are millions of objects that all stay: looking for garbage among them takes a third of the time.

    Nor is it looked for at once afterwards: freezing and thawing makes everything one of the oldest generation.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def _not_declared(name: str, tree: Tree, program: Program) -> Explanation:
    """No such flag, unless a file that names it could not be read."""
    broken = [why for file, why in program.broken.items() if file in program.files_mentioning(name)]
    return Explanation(
        flag=name,
        engine=tree.package,
        version=tree.version,
        verdict="unproven" if broken else "no-such-flag",
        unproven_because=broken[0] if broken else None,
        tree_sha256=tree.digest,
    )


def declared_flags(tree: Tree, package: Package, near: str) -> tuple[str, ...]:
    """Names that the package declares beside those that resemble `near`: for a hint after a typing mistake."""
    return tuple(names_declared(Program(tree, package), spelled(near)))
