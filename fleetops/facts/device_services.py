"""The systemd services that hold or poll a machine's GPUs for the driver's sake, and the NVSwitches that it has.

A GPU is reset only while nobody has it open: persistence daemon, DCGM and exporters are stopped for it and started again
(facts/recovery.md A1). Units are asked for by name: an exporter has the device open only while it polls, and would come
in between.
"""

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.device_service import DEVICE_SERVICES, DeviceService, DeviceServices
from fleetops.model.fact import Fact

FABRIC_MANAGER = "nvidia-fabricmanager.service"
"""On Ampere's NVSwitch machines a reset needs it: it is never stopped."""

UNITS = (
    *("nvidia-persistenced.service", FABRIC_MANAGER, "nvidia-imex.service"),
    *("nvidia-dcgm.service", "dcgm.service", "nv-hostengine.service"),
    *("*dcgm*exporter*.service", "nvidia*exporter*.service", "nvsm*.service"),
)
"""Names and patterns of the drivers', DCGM's and the usual exporters' packages."""

SCRIPT = (
    PLAIN_TEXT
    + """\
for switch in /dev/nvidia-nvswitch[0-9]*; do
  if [ -e "$switch" ]; then echo "switch $switch"; fi
done
if command -v systemctl >/dev/null; then
  systemctl show --property=Id,ActiveState,MainPID -- "$@" || [ ! -d /run/systemd/system ] || exit
fi
echo end
"""
)

_STOPPED = frozenset({"inactive", "failed"})


def parse(outcome: Outcome) -> DeviceServices:
    """The units that are loaded and run, by name; none where the host has no systemd. Raises Unparsable."""
    found = finished_lines(outcome)
    services = []
    for block in "\n".join(found).split("\n\n"):
        told = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if told and told["ActiveState"] not in _STOPPED:
            services.append(DeviceService(unit=told["Id"], main_pid=int(told["MainPID"]) or None))
    return DeviceServices(
        services=tuple(sorted(services, key=lambda service: service.unit)),
        switches=sum(line.startswith("switch ") for line in found),
    )


FACT: Fact[DeviceServices] = Fact(DEVICE_SERVICES, shell(SCRIPT, *UNITS, deadline_s=15.0, root=True), parse)
