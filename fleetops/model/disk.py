"""File systems as a host tells of them."""

from dataclasses import dataclass

from fleetops.model.fact import Key

SHM = "/dev/shm"  # noqa: S108 - where engines keep what their processes share


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """A mounted file system. `inodes` None: it has no fixed number of them (btrfs, ZFS).

    Attributes:
        available_bytes: what a user without privileges may still write; what is reserved for root is left out.
    """

    mount: str
    source: str
    size_bytes: int
    used_bytes: int
    available_bytes: int
    inodes: int | None = None
    inodes_free: int | None = None

    @property
    def used_percent(self) -> float:
        """As df counts it: of what users may have at all."""
        return _percent(self.used_bytes, self.used_bytes + max(0, self.available_bytes))

    @property
    def inodes_used_percent(self) -> float | None:
        """None where it has no fixed number of them."""
        if not self.inodes or self.inodes_free is None:
            return None
        return _percent(self.inodes - self.inodes_free, self.inodes)


@dataclass(frozen=True, kw_only=True)
class FileSystems:
    """The local ones that can be written to, and /dev/shm, by mount point. `unread`: those that df failed on."""

    mounted: tuple[FileSystem, ...] = ()
    unread: tuple[str, ...] = ()


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole > 0 else 0.0


FILE_SYSTEMS: Key[FileSystems] = Key("file-systems")
