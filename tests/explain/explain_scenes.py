"""What the tests of `explain` share: the package, its wheel, proofs that remember what they were asked."""

import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from fleetops.lab import wheel as lab_wheel
from fleetops.model.proof import EngineCheck, Explanation, Place, Pool


def write_engine(folder: Path) -> None:
    """The lab's stand-in for SGLang 0.5.9: files of this project with the real way from flag to allocation."""
    folder.mkdir(parents=True, exist_ok=True)
    lab_wheel._write_stand_in(folder)


def write_wheel(
    folder: Path,
    *,
    version: str = "0.5.9",
    tags: str = "py3-none-any",
    extra: dict[str, str] | None = None,
    name: str = "sglang",
) -> Path:
    """A wheel of the package, as an index would hand it out, with things in it that nobody wants to keep."""
    tree = folder / f"tree-{version}-{tags}"
    write_engine(tree)
    (tree / "sglang/srt/kernel.so").write_bytes(b"\x7fELF" * 1000)
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-{tags}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((tree / "sglang").rglob("*")):
            if file.is_file():
                archive.write(file, f"{name}/{file.relative_to(tree / 'sglang')}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n")
        archive.writestr(f"{info}/RECORD", "")
        for filename, text in (extra or {}).items():
            archive.writestr(filename, text)
    return path


@dataclass
class Kept:
    """Proofs in memory, and what was asked of them."""

    proofs: dict[tuple[str, str, str], Explanation] = field(default_factory=dict)

    def get(self, package: str, flag: str, digest: str) -> Explanation | None:
        return self.proofs.get((package, flag, digest))

    def put(self, explanation: Explanation) -> None:
        self.proofs[explanation.engine, explanation.flag, explanation.tree_sha256] = explanation


def places(*steps: tuple[str, int, str, str, str]) -> tuple[Place, ...]:
    return tuple(
        Place(file=file, line=line, text=text, role=role, note=note, sha256="ab" * 32)  # type: ignore[arg-type]
        for file, line, text, role, note in steps
    )


def proven(**other: object) -> Explanation:
    """The incident's flag, as its release has it."""
    told: dict[str, object] = {
        "flag": "hicache_size",
        "engine": "sglang",
        "version": "0.5.9",
        "verdict": "proven",
        "unit": "GB",
        "scope": "per-rank",
        "default": 0,
        "pools": (Pool(file="srt/mem_cache/memory_pool_host.py", line=159, name="HostKVCache"),),
        "simultaneous": 1,
        "proof": places(
            ("srt/server_args.py", 530, "hicache_size: int = 0", "declaration", ""),
            ("srt/mem_cache/hiradix_cache.py", 73, "server_args.hicache_size,", "read", ""),
            ("srt/mem_cache/memory_pool_host.py", 140, "host_size", "argument", ""),
            (
                "srt/mem_cache/memory_pool_host.py",
                159,
                "int(host_size * 1e9 // self.size_per_token)",
                "arithmetic",
                "x 1e9: GB",
            ),
        ),
        "scope_why": "built inside each scheduler process, one per rank (srt/managers/scheduler.py:2890); "
        "nothing on the way divides by a parallel size",
        "check": EngineCheck(
            file="srt/mem_cache/memory_pool_host.py",
            line=171,
            text="if requested_bytes > available_bytes:",
            sound=False,
            why="each rank alone is compared with the whole node's free memory",
        ),
        "tree_sha256": "cd" * 32,
    }
    return Explanation(**(told | other))  # type: ignore[arg-type]
