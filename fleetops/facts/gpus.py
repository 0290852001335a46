"""GPUs as `nvidia-smi -q -x` reports them.

The XML is read by element name, so that a driver that knows more or fewer fields loses nothing else (DTD v11 of
driver 515, v12 of 535 and 575, v13 of 595: see the recordings). What stands before, after or instead of the XML is
kept as `problems`: one GPU that cannot be reached must neither hide the others nor make a short list look whole.
"""

import re

from fleetops.facts.nvidia_xml import BDF, Report, gpu_of, read_report
from fleetops.facts.output import require_tool
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.gpu import GPUS, Gpus

NO_DRIVER = 9
NO_LIBRARY = 12
"""Exit statuses of nvidia-smi: the driver is not loaded; libnvidia-ml is missing (nvidia-smi manual, RETURN VALUE)."""

_NO_DRIVER_TEXT = re.compile(
    r"couldn't communicate with the NVIDIA driver|couldn't find libnvidia-ml", re.IGNORECASE
)
_NO_GPU_TEXT = re.compile(r"Unable to determine the device handle|No devices were found", re.IGNORECASE)


def parse(outcome: Outcome) -> Gpus:
    """The GPUs of the report, in the driver's order.

    Raises:
        Absent: there is no nvidia-smi, or no driver is loaded.
        Unparsable: the driver could not be asked (library mismatch, access refused), or this is no such report.
    """
    require_tool(outcome, "nvidia-smi")
    report = read_report(outcome.stdout)
    told = (*report.beside, *filter(None, map(str.strip, outcome.stderr.splitlines())))
    if report.root is None:
        return Gpus(driver_version="", gpus=(), problems=_without_report(outcome, told))
    lost = [match[0] for line in told for match in BDF.finditer(line)]
    return Gpus(
        driver_version=(report.root.findtext("driver_version") or "").strip(),
        gpus=tuple(gpu_of(element, at, lost) for at, element in enumerate(report.gpus)),
        problems=(*told, *_shortfalls(outcome, report)),
    )


def _without_report(outcome: Outcome, told: tuple[str, ...]) -> tuple[str, ...]:
    """What was said instead of a report, where that tells of GPUs that are not there."""
    said = " ".join(told)
    if outcome.status in (NO_DRIVER, NO_LIBRARY) or _NO_DRIVER_TEXT.search(said):
        raise Absent(f"no NVIDIA driver is loaded: {outcome.said}")
    if _NO_GPU_TEXT.search(said):
        return told
    raise Unparsable(f"nvidia-smi could not ask the driver (status {outcome.status}): {said or 'no output'}")


def _shortfalls(outcome: Outcome, report: Report) -> tuple[str, ...]:
    """What makes the report less than whole, in words."""
    problems = []
    if outcome.truncated or report.broken:
        problems.append(f"the report breaks off after {len(report.gpus)} GPUs")
    attached = report.root.findtext("attached_gpus") if report.root is not None else None
    if attached and attached.strip().isdecimal() and int(attached) != len(report.gpus):
        problems.append(f"{attached.strip()} GPUs are attached, {len(report.gpus)} are reported")
    if outcome.status != 0:
        problems.append(f"nvidia-smi ended with status {outcome.status}")
    return tuple(problems)


FACT: Fact[Gpus] = Fact(GPUS, Command(argv=("nvidia-smi", "-q", "-x"), deadline_s=20.0), parse)
