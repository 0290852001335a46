"""Reading the XML of `nvidia-smi -q -x`: the document, broken or not, and one GPU of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from fleetops.model.fact import Unparsable
from fleetops.model.gpu import Gpu, GpuProcess
from fleetops.model.units import GIB, KIB, MIB

BDF = re.compile(r"([0-9a-f]{8}|[0-9a-f]{4})(:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
"""A PCI address; the driver writes the domain with eight digits, the kernel with four."""

_FAILING = re.compile(r"\[?(unknown error|err!|gpu requires reset|gpu is lost.*)\]?|\[.*\]", re.IGNORECASE)

_NOT_TOLD = re.compile(
    r"\[?(n/?a|none|not supported|not available|insufficient permissions|not found|)\]?"
    r"|requested functionality has been deprecated",
    re.IGNORECASE,
)
_SWITCH = {"enabled": True, "yes": True, "disabled": False, "no": False}
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_SKIPPED = frozenset({"processes", "accounted_processes", "supported_clocks", "mig_devices"})
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"(<process_name>)(.*?)(</process_name>)", re.DOTALL)
_BARE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


@dataclass(frozen=True)
class Report:
    """The document as far as it goes: its root (None where none began), its whole GPUs, and the lines beside it."""

    root: Element | None
    gpus: tuple[Element, ...]
    beside: tuple[str, ...]
    broken: bool


def is_failing(text: str) -> bool:
    """A text in place of a value that means a failing GPU (nvidia_gpu_exporter's tests; NVML's error strings).

    A placeholder that is not known counts as one: a GPU is not taken for well because nobody knows the word.
    """
    return bool(_FAILING.fullmatch(text)) and not _NOT_TOLD.fullmatch(text)


def read_report(text: str) -> Report:
    """Finds the document among other lines. A document that breaks off keeps the GPUs that came whole."""
    begin, end = text.find("<?xml"), text.rfind("</nvidia_smi_log>")
    if begin < 0:
        begin = text.find("<nvidia_smi_log")
    if begin < 0:
        return Report(None, (), _told(text), broken=False)
    stop = end + len("</nvidia_smi_log>") if end >= begin else len(text)
    document = text[begin:stop]
    if "<!ENTITY" in document:
        raise Unparsable("an XML document that defines entities is not nvidia-smi's")
    root, gpus, broken = _elements(_NAME.sub(_escaped, _FORBIDDEN.sub("\ufffd", document)))
    return Report(root, gpus, _told(text[:begin]) + _told(text[stop:]), broken)


def gpu_of(element: Element, at: int, lost: Sequence[str]) -> Gpu:
    """One GPU. `at` is its place in the report; `lost` are the addresses of GPUs that the report leaves out.

    The report does not number its GPUs; the driver numbers them by PCI address, those left out included.
    """
    fields = _Fields(element)
    bdf = short_bdf(fields.text("pci/pci_bus_id") or element.get("id") or "")
    before = sum(1 for other in lost if short_bdf(other) < bdf)
    total_bytes, used_bytes = fields.memory("total"), fields.memory("used")
    uuid, name = fields.needed("uuid"), fields.needed("product_name")
    return Gpu(
        uuid=uuid,
        bdf=bdf,
        index=at + before,
        name=name,
        minor=fields.number("minor_number"),
        memory_total_bytes=total_bytes,
        memory_used_bytes=used_bytes,
        memory_reserved_bytes=_bytes(fields.text("fb_memory_usage/reserved")) or 0,
        persistence=fields.switch("persistence_mode"),
        mig=fields.switch("mig_mode/current_mig"),
        ecc=fields.switch("ecc_mode/current_ecc"),
        ecc_uncorrected_aggregate=fields.uncorrected(),
        display_active=fields.switch("display_active"),
        recovery_action=fields.recovery_action(),
        architecture=fields.text("product_architecture") or "",
        fabric=fields.text("fabric/state") or "",
        processes=tuple(_process(one) for one in element.iterfind("processes/process_info")),
        failing=fields.failing(),
    )


def short_bdf(text: str) -> str:
    """A PCI address in the kernel's form: lower case, a domain of four digits (more where it needs them); "" for none."""
    match = BDF.search(text)
    return f"{int(match[1], 16):04x}{match[2].lower()}" if match else ""


class _Fields:
    """The fields of one GPU by path. Remembers those that it needed and that were not told."""

    def __init__(self, element: Element) -> None:
        self._element = element
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
        size_bytes = _bytes(self.text(path))
        if size_bytes is None:
            self._unreadable[path] = self.raw(path) or "missing"
        return size_bytes or 0

    def number(self, path: str) -> int | None:
        told = self.text(path)
        return int(told) if told and told.isdecimal() else None

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


def _process(element: Element) -> GpuProcess:
    fields = _Fields(element)
    return GpuProcess(
        pid=fields.number("pid"),
        name=fields.raw("process_name"),
        used_bytes=_bytes(fields.text("used_memory")),
    )


def _bytes(text: str | None) -> int | None:
    """`123 MiB` in bytes; None for anything else."""
    number, _, unit = (text or "").partition(" ")
    return int(number) * _UNITS[unit] if number.isdecimal() and unit in _UNITS else None


def _elements(document: str) -> tuple[Element | None, tuple[Element, ...], bool]:
    """The root as far as it was read, the whole `gpu` elements, and whether the document breaks off."""
    reader: XMLPullParser[Any] = XMLPullParser(("start", "end"))
    root: Element | None = None
    gpus: list[Element] = []
    broken = False
    try:
        reader.feed(document)
        reader.close()
    except ParseError:
        broken = True
    try:
        events: Iterator[Any] = reader.read_events()
        for event, element in events:
            if isinstance(element, Element):
                root = element if root is None else root
                gpus += [element] if event == "end" and element.tag == "gpu" else []
    except ParseError:
        broken = True
    return root, tuple(gpus), broken


def _escaped(match: re.Match[str]) -> str:
    """A process may be called anything, and nvidia-smi does not escape it."""
    return match[1] + _BARE.sub("&amp;", match[2]).replace("<", "&lt;") + match[3]


def _told(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
