"""The fields of one GPU in nvidia-smi's XML: read by path, with what stands there in place of a value."""

import re
from xml.etree.ElementTree import Element

from fleetops.model.units import GIB, KIB, MIB

_FAILING = re.compile(r"\[?(unknown error|err!|gpu requires reset|gpu is lost.*)\]?|\[.*\]", re.IGNORECASE)

_NOT_TOLD = re.compile(
    r"\[?(n/?a|none|not supported|not available|insufficient permissions|not found|)\]?"
    r"|requested functionality has been deprecated",
    re.IGNORECASE,
)
_SWITCH = {"enabled": True, "yes": True, "disabled": False, "no": False}
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_SKIPPED = frozenset({"processes", "accounted_processes", "supported_clocks", "mig_devices"})


def is_failing(text: str) -> bool:
    """A text in place of a value that means a failing GPU (nvidia_gpu_exporter's tests; NVML's error strings).

    A placeholder that is not known counts as one: a GPU is not taken for well because nobody knows the word.
    """
    return bool(_FAILING.fullmatch(text)) and not _NOT_TOLD.fullmatch(text)


class Fields:
    """The fields of one GPU by path. Remembers those that it needed and that were not told.

    `unread`: what is told of its health and not understood, by path.
    """

    def __init__(self, element: Element) -> None:
        self._element = element
        self.unread: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}

    def raw(self, path: str) -> str:
        return (self._element.findtext(path) or "").strip()

    def text(self, path: str) -> str | None:
        """None where the driver does not know the field, or could not read it."""
        raw = self.raw(path)
        return None if _NOT_TOLD.fullmatch(raw) or is_failing(raw) else raw

    def needed(self, path: str) -> str:
        """A field that every GPU has: without it the GPU counts as failing."""
        told = self.text(path)
        if told is None:
            self._unreadable[path.rpartition("/")[2]] = self.raw(path) or "missing"
        return told or ""

    def memory(self, name: str) -> int:
        """Bytes of the frame buffer. Unread memory must not look like none: then the field counts as failing."""
        path = f"fb_memory_usage/{name}"
        size_bytes = bytes_of(self.text(path))
        if size_bytes is None:
            self._unreadable[path] = self.raw(path) or "missing"
        return size_bytes or 0

    def number(self, path: str) -> int | None:
        told = self.text(path)
        return int(told) if told and told.isdecimal() else None

    def amount(self, path: str, unit: str) -> int | None:
        """The whole number before that unit (`38 C`, `16x`, `0 us`), with its sign; None where it is not told."""
        told = self.text(path)
        match = re.fullmatch(rf"(-?\d+)(?:\.\d+)?\s*{unit}", told or "")
        if told is not None and match is None:
            self.unread[path] = told
        return int(match[1]) if match else None

    def flag(self, path: str) -> bool | None:
        """Yes or No; None where it is not told. Another word is kept as not understood: it fails no GPU by itself."""
        told = self.text(path)
        if told and told.lower() not in _SWITCH:
            self.unread[path] = told
        return _SWITCH.get((told or "").lower())

    def told(self, path: str) -> tuple[tuple[str, str], ...]:
        """What stands below a path: tag and text, those left out that the driver does not know or could not read."""
        tags = [one.tag for one in self._element.iterfind(f"{path}/*")]
        texts = ((tag, self.text(f"{path}/{tag}")) for tag in tags)
        return tuple((tag, text) for tag, text in texts if text is not None)

    def switch(self, path: str) -> bool | None:
        """None where the driver does not know the field; another word than its own two counts as failing."""
        told = self.text(path)
        if told and told.lower() not in _SWITCH:
            self._unreadable[path] = told
        return _SWITCH.get((told or "").lower())

    def uncorrected(self) -> int | None:
        """Uncorrectable errors since the GPU was made: the kinds of memory that the driver tells of, together."""
        kinds = [
            one.tag for one in self._element.iterfind("ecc_errors/aggregate/*") if "uncorrectable" in one.tag
        ]
        paths = [f"ecc_errors/aggregate/{kind}" for kind in kinds] or [
            "ecc_errors/aggregate/double_bit/total"
        ]
        told = [count for count in map(self.number, paths) if count is not None]
        return sum(told) if told else None

    def recovery_action(self) -> str:
        """`gpu_recovery_action` where the driver has it (since about 565); before, two flags said part of it."""
        raw = self.raw("gpu_recovery_action")
        if raw and (raw == "None" or self.text("gpu_recovery_action")):
            return raw
        if self.switch("gpu_reset_status/reset_required"):
            return "Reset"
        return "Drain and Reset" if self.switch("gpu_reset_status/drain_and_reset_recommended") else ""

    def failing(self) -> tuple[tuple[str, str], ...]:
        """All fields that hold a failure text, and those needed ones that could not be read."""
        found = dict(_leaves(self._element, ""))
        failing = {path: text for path, text in found.items() if is_failing(text)}
        return tuple((failing | self._unreadable).items())


def _leaves(element: Element, path: str) -> list[tuple[str, str]]:
    if not len(element):
        return [(path, (element.text or "").strip())]
    children = (child for child in element if child.tag not in _SKIPPED)
    return [leaf for child in children for leaf in _leaves(child, f"{path}/{child.tag}".lstrip("/"))]


def bytes_of(text: str | None) -> int | None:
    """`123 MiB` in bytes; None for anything else."""
    number, _, unit = (text or "").partition(" ")
    return int(number) * _UNITS[unit] if number.isdecimal() and unit in _UNITS else None
