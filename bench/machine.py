"""What the figures were measured on: they mean something only side by side, and only together with this."""

import datetime as dt
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version

from bench.fleet import ROOT
from bench.tools import first_number, said
from fleetops import __version__


def describe() -> Mapping[str, str | int | float]:
    """Date, cores, load before the first run, and the releases of what everyone shares."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "cores": cores(),
        "load before": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}, {platform.machine()}",
        "Python": platform.python_version(),
        "OpenSSH": first_number(said("ssh", "-V")),
        "Paramiko": version("paramiko"),
        "fleetops": __version__,
        "commit": said("git", "-C", str(ROOT), "describe", "--always", "--dirty").strip(),
    }


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))
