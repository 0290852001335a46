"""GPUs as `nvidia-smi -q -x` reports them.

The XML is read by element name, so that a driver that knows more or fewer fields loses nothing else (DTD v11 of
driver 515, v12 of 535 and 575, v13 of 595: see the recordings). What stands before, after or instead of the XML is
kept as `problems`: one GPU that cannot be reached must neither hide the others nor make a short list look whole.

A driver that hangs takes nvidia-smi with it into state D, where no signal reaches it, and every further one beside it.
So none is started while one hangs, and nobody waits for one that cannot end (facts/recovery.md C; gpud PR#117).
"""

import re
from typing import Any

from fleetops.facts.nvidia_xml import BDF, Report, gpu_of, read_report, short_bdf
from fleetops.facts.output import require_tool
from fleetops.model.command import Command, Outcome, shell
from fleetops.model.fact import Absent, Fact, Unanswered, Unparsable
from fleetops.model.gpu import DRIVER_MISMATCH, DRIVER_UNRESPONSIVE, GPUS, Gpu, Gpus, LostGpu

NO_DRIVER = 9
NO_LIBRARY = 12
"""Exit statuses of nvidia-smi: the driver is not loaded; libnvidia-ml is missing (nvidia-smi manual, RETURN VALUE)."""

HANGS_S = 20
"""From which age on an nvidia-smi in state D hangs: a driver that loads its GPUs first keeps one there for seconds."""

DEADLINE_S = 25.0

SCRIPT = """\
old_s=$1
shift
in_d() { grep -qs '^State:[[:space:]]*D' "/proc/$1/status" "/proc/$1"/task/*/status; }
started() {
  { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return
  set -- ${stat##*) }
  echo "${20}"
}
age() {
  theirs=$(started "$1") now=$(started self)
  echo "$(((${now:-0} - ${theirs:-0}) / 100))"
}
hangs() {
  looks=0
  while [ -z "$late" ] && in_d "$1"; do
    looks=$((looks + 1)) age_s=$(age "$1")
    if [ "$looks" -ge 3 ] && [ "$age_s" -ge "$old_s" ]; then return; fi
    sleep 0.5
  done
  return 1
}
tell() {
  echo "fleetops: nvidia-smi (pid $1) in D for $(age "$1") s"
  exit 75
}
ask() {
  if [ -n "$late" ]; then exit 143; fi
  nvidia-smi "$@" &
  wait $!
  status=$?
  if [ -n "$late" ]; then
    sleep 0.5
    if in_d $!; then tell $!; fi
    exit 143
  fi
}
late=
trap 'late=1' TERM
for comm in $(grep -slx nvidia-smi /proc/[0-9]*/comm); do
  pid=${comm#/proc/} pid=${pid%/comm}
  if hangs "$pid"; then tell "$pid"; fi
done
ask "$@"
case $status in 15 | 255) ask -L ;; esac
exit "$status"
"""
"""$1 the age from which on one in D hangs; the rest are nvidia-smi's options.

An age is the difference of two processes' start times: in a container /proc/uptime is the container's own, the start
times are the host's. At the deadline `timeout` sends TERM to this shell and to nvidia-smi alike: one that is still in
D a moment later hangs, and stays where it is: it is what the next look finds. Where nvidia-smi stopped at a GPU that it cannot reach, `-L` names the others (NordicHPC/sonar#72).
"""

_HANGS = re.compile(r"^fleetops: (nvidia-smi \(pid \d+\) in D for \d+ s)$", re.MULTILINE)
_NO_DRIVER_TEXT = re.compile(
    r"couldn't communicate with the NVIDIA driver|couldn't find libnvidia-ml", re.IGNORECASE
)
_MISMATCH = re.compile(r"Driver/library version mismatch", re.IGNORECASE)
_NO_GPU_TEXT = re.compile(r"No devices were found", re.IGNORECASE)
_LOST = re.compile(r"device handle for GPU|fallen off the bus|GPU is lost", re.IGNORECASE)
_LISTED = re.compile(r"GPU \d+: .*\(UUID: .*\)")


def ask(*options: str, old_s: int = HANGS_S, **about: Any) -> Command:
    """nvidia-smi with these options, unless one hangs already; `about` are the Command's other fields."""
    return shell(
        SCRIPT, str(old_s), *options, name="fleetops-nvidia-smi", **({"deadline_s": DEADLINE_S} | about)
    )


def parse(outcome: Outcome) -> Gpus:
    """The GPUs of the report, in the driver's order.

    Raises:
        Absent: there is no nvidia-smi, or no driver is loaded.
        Unanswered: the driver hangs.
        Unparsable: the driver could not be asked (library mismatch, access refused), or this is no such report.
    """
    late(outcome)
    require_tool(outcome, "nvidia-smi")
    report = read_report(outcome.stdout)
    told = (*report.beside, *filter(None, map(str.strip, outcome.stderr.splitlines())))
    listed = [line for line in told if _LISTED.fullmatch(line)]
    told = tuple(dict.fromkeys(line for line in told if line not in listed))
    lost = tuple(_lost(line) for line in told if _LOST.search(line))
    if report.root is None:
        problems = _without_report(outcome, told, lost)
        return Gpus(driver_version="", gpus=(), problems=problems, lost=lost, listed=len(listed))
    away = [one.bdf for one in lost]
    gpus = tuple(gpu_of(element, at, away) for at, element in enumerate(report.gpus))
    return Gpus(
        driver_version=(report.root.findtext("driver_version") or "").strip(),
        gpus=gpus,
        problems=(*told, *_shortfalls(outcome, report, lost)),
        lost=(*lost, *_lost_in_report(gpus)),
    )


def late(outcome: Outcome) -> None:
    """Raises Unanswered where nvidia-smi was seen to hang, whoever has started it."""
    if hangs := _HANGS.search(outcome.stdout):
        raise Unanswered(
            f"driver unresponsive: {hangs[1]}; no other is started beside it", DRIVER_UNRESPONSIVE
        )


def _lost(line: str) -> LostGpu:
    address = BDF.search(line)
    return LostGpu(bdf=short_bdf(address[0]) if address else "", said=line)


def _lost_in_report(gpus: tuple[Gpu, ...]) -> tuple[LostGpu, ...]:
    """Those that are reported, with the word in place of a value."""
    return tuple(
        LostGpu(bdf=gpu.bdf, said=text)
        for gpu in gpus
        for text in [next((text for _, text in gpu.failing if _LOST.search(text)), "")]
        if text
    )


def _without_report(outcome: Outcome, told: tuple[str, ...], lost: tuple[LostGpu, ...]) -> tuple[str, ...]:
    """What was said instead of a report, where that tells of GPUs that are not there."""
    said = " ".join(told)
    if outcome.status in (NO_DRIVER, NO_LIBRARY) or _NO_DRIVER_TEXT.search(said):
        raise Absent(f"no NVIDIA driver is loaded: {outcome.said}")
    if lost or _NO_GPU_TEXT.search(said):
        return told
    reason = DRIVER_MISMATCH if _MISMATCH.search(said) else ""
    message = f"nvidia-smi could not ask the driver (status {outcome.status}): {said or 'no output'}"
    raise Unparsable(message, reason)


def _shortfalls(outcome: Outcome, report: Report, lost: tuple[LostGpu, ...]) -> tuple[str, ...]:
    """What makes the report less than whole, in words; what lost GPUs explain is told of them already."""
    problems = []
    if outcome.truncated or report.broken:
        problems.append(f"the report breaks off after {len(report.gpus)} GPUs")
    attached = (report.root.findtext("attached_gpus") or "").strip() if report.root is not None else ""
    here = len(report.gpus)
    if attached.isdecimal() and int(attached) not in {here, here + len(lost)}:
        problems.append(f"{attached} GPUs are attached, {here} are reported")
    if outcome.status != 0 and not lost:
        problems.append(f"nvidia-smi ended with status {outcome.status}")
    return tuple(problems)


FACT: Fact[Gpus] = Fact(GPUS, ask("-q", "-x"), parse, late)
