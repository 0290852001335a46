"""Reading the XML of `nvidia-smi -q -x`: the document, broken or not, and one GPU of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from fleetops.facts.nvidia_fields import Fields, bytes_of
from fleetops.facts.nvidia_health import health_of
from fleetops.model.fact import Unparsable
from fleetops.model.gpu import Gpu, GpuProcess

BDF = re.compile(r"([0-9a-f]{8}|[0-9a-f]{4})(:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
"""A PCI address; the driver writes the domain with eight digits, the kernel with four."""

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
    fields = Fields(element)
    bdf = short_bdf(fields.text("pci/pci_bus_id") or element.get("id") or "")
    before = sum(1 for other in lost if short_bdf(other) < bdf)
    total_bytes, used_bytes = fields.memory("total"), fields.memory("used")
    uuid, name = fields.needed("uuid"), fields.needed("product_name")
    health = health_of(fields)
    return Gpu(
        uuid=uuid,
        bdf=bdf,
        index=at + before,
        name=name,
        minor=fields.number("minor_number"),
        memory_total_bytes=total_bytes,
        memory_used_bytes=used_bytes,
        memory_reserved_bytes=bytes_of(fields.text("fb_memory_usage/reserved")) or 0,
        persistence=fields.switch("persistence_mode"),
        mig=fields.switch("mig_mode/current_mig"),
        ecc=fields.switch("ecc_mode/current_ecc"),
        ecc_uncorrected_aggregate=fields.uncorrected(),
        display_active=fields.switch("display_active"),
        recovery_action=fields.recovery_action(),
        architecture=fields.text("product_architecture") or "",
        fabric=fields.text("fabric/state") or "",
        processes=tuple(_process(one) for one in element.iterfind("processes/process_info")),
        health=health,
        failing=fields.failing(),
    )


def short_bdf(text: str) -> str:
    """A PCI address in the kernel's form: lower case, a domain of four digits (more where it needs them); "" for none."""
    match = BDF.search(text)
    return f"{int(match[1], 16):04x}{match[2].lower()}" if match else ""


def _process(element: Element) -> GpuProcess:
    fields = Fields(element)
    return GpuProcess(
        pid=fields.number("pid"),
        name=fields.raw("process_name"),
        used_bytes=bytes_of(fields.text("used_memory")),
    )


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
