"""The NVIDIA GPUs on a machine's PCI bus, whether or not a driver has them: /sys/bus/pci/devices.

A container sees its host's bus, a VM its own. `vendor` 0x10de is NVIDIA's, `class` 0x0300xx a VGA and 0x0302xx a 3D
controller (pci_ids.h); an NVSwitch is a bridge, 0x0680xx. The width of a link says `current_link_width` and
`max_link_width`; of a device that has fallen off the bus it reads 0 or 63 (sysfs-bus-pci).
"""

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.gpu import GPU_PCI, PciGpu

SCRIPT = (
    PLAIN_TEXT
    + """\
cd "$1" 2>/dev/null || { echo none; echo end; exit; }
word() { read -r told < "$1" || told=; } 2>/dev/null
for device in $(grep -lx 0x10de ./*/vendor 2>/dev/null); do
  device=${device%/vendor}
  word "$device/class"; class=$told
  case $class in 0x0300* | 0x0302*) ;; *) continue ;; esac
  word "$device/device"; id=$told
  word "$device/current_link_width"; now=$told
  word "$device/max_link_width"; most=$told
  driver=$(readlink "$device/driver")
  echo "gpu ${device#./} device=$id driver=${driver##*/} width=$now max=$most"
done
echo end
"""
)
"""$1 the folder of the devices. Reads by the shell itself; of programs it starts one, and one for each GPU."""

DEVICES = "/sys/bus/pci/devices"

_NO_WIDTH = frozenset({0, 63, 255})


def parse(outcome: Outcome) -> tuple[PciGpu, ...]:
    """By address; none where the bus has none. Raises Absent where there is no PCI, Unparsable for other lines."""
    found = finished_lines(outcome)
    if found == ["none"]:
        raise Absent("this machine has no PCI bus")
    return tuple(sorted(map(_gpu, found), key=lambda gpu: gpu.bdf))


def _gpu(line: str) -> PciGpu:
    word, bdf, *told = line.split()
    if word != "gpu" or bdf.count(":") != 2:
        raise Unparsable(f"not a PCI device: {line}")
    fields = dict(pair.split("=", 1) for pair in told)
    return PciGpu(
        bdf=bdf.lower(),
        device=fields["device"].removeprefix("0x"),
        driver=fields["driver"],
        width=_width(fields["width"]),
        width_max=_width(fields["max"]),
    )


def _width(text: str) -> int | None:
    lanes = int(text) if text.isdecimal() else 0
    return None if lanes in _NO_WIDTH else lanes


FACT: Fact[tuple[PciGpu, ...]] = Fact(GPU_PCI, shell(SCRIPT, DEVICES), parse)
