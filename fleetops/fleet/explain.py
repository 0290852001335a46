"""What a flag means in the source in a folder of this machine."""

from dataclasses import replace

from fleetops.fleet.local_tree import LocalTree
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit
from fleetops.model.proof import Explanation
from fleetops.source import trace
from fleetops.source.packages import package
from fleetops.source.transport import ProofCache, with_gaps, with_nearest

EXIT_CODES = {"proven": Exit.FINE, "unproven": Exit.UNKNOWN, "no-such-flag": Exit.FINDINGS}
"""A verdict's exit code."""

_LONGEST = 80


def flag_name(text: str) -> str:
    """`--hicache-size`, `hicache-size` and `hicache_size` as the last. Raises UsageError for what names no flag."""
    name = text.strip().lstrip("-").replace("-", "_")
    if not (name.isascii() and name.isidentifier()) or len(name) > _LONGEST:
        raise UsageError(
            f"{text[:_LONGEST]!r}{f'... ({len(text):,} characters)' if len(text) > _LONGEST else ''} names no flag",
            hint="write it as the engine does: --hicache-size, or hicache_size",
        )
    return name


def explain_tree(tree: LocalTree, flag: str, proofs: ProofCache) -> Explanation:
    """What `flag` (with underscores) means in this tree; at once where it was proven before."""
    kept = None if tree.gaps else proofs.get(tree.package, flag, tree.digest)
    if kept is not None:
        return replace(kept, version=tree.version)
    known = package(tree.package)
    explained = replace(trace.explain(flag, tree, known), tree_sha256=tree.digest)
    if explained.verdict == "no-such-flag":
        explained = with_nearest(explained, trace.declared_flags(tree, known, flag))
    if tree.gaps:
        return with_gaps(explained, tree.gaps)
    proofs.put(explained)
    return explained
