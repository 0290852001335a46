"""The process that holds a lab: starts its hosts, serves their SSH ports, and takes all of it along when it ends.

Started by `lab up` as `python -m fleetops.lab.supervisor FOLDER [DESCRIPTOR]`; the lab also ends when the other end
of that pipe is closed, that is when whoever holds it has ended. It gives up root, makes namespaces of its own
(user, mount, pid), and leaves there a first process whose only work is to reap, and the supervisor proper. When
either dies, in whatever way, the kernel ends everything that was ever started in the lab.
"""

import json
import logging
import os
import select
import sys
import uuid
from pathlib import Path

from fleetops.lab import linux
from fleetops.lab.paths import Layout
from fleetops.lab.privilege import LabUnavailable, explain_refusal, give_up_root
from fleetops.lab.process import PROCESS, REFUSAL, start_ticks

_WATCH_S = 0.05


def main() -> int:
    """Set the lab's own world up, then hold it."""
    folder = Path(sys.argv[1])
    lifeline = int(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        give_up_root(folder)
        linux.become_root_of_own_namespace(linux.NEWNS | linux.NEWPID)
        linux.stop_mount_propagation()
    except LabUnavailable as refusal:
        return _refuse(folder, refusal)
    except OSError as error:
        return _refuse(folder, explain_refusal(error))
    go, known = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(known)
        os.read(go, 1)  # until this process's pid, as the outside sees it, is on record
        os.close(go)
        return _hold(folder, lifeline)
    (folder / PROCESS).write_text(json.dumps({"pid": first, "start_ticks": start_ticks(first)}))
    os.close(known)
    return 0


def _refuse(folder: Path, refusal: LabUnavailable) -> int:
    (folder / REFUSAL).write_text(json.dumps({"message": refusal.message, "hint": refusal.hint}))
    return refusal.exit_code


def _hold(folder: Path, lifeline: int | None) -> int:
    """As the first process of the lab's pid namespace: reap until the supervisor has ended."""
    try:
        linux.mount_proc("/proc")
    except OSError as error:
        return _refuse(folder, explain_refusal(error))
    supervisor = os.fork()
    if supervisor == 0:
        linux.die_with_parent()
        _supervise(Layout(folder), lifeline)
        return 0
    while os.wait()[0] != supervisor:
        pass
    return 1


def _supervise(layout: Layout, lifeline: int | None) -> None:
    """Build the fleet, serve it, and follow its comings and goings, for ever or as long as the lifeline holds."""
    from fleetops.lab.fleet import FLEET  # noqa: PLC0415 - after the fork: the first process stays small
    from fleetops.lab.machines import machine  # noqa: PLC0415
    from fleetops.lab.serve import await_boot, serve, write_record  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    _prepare(layout)
    machines = [machine(layout, host) for host in FLEET if host.kind != "lxc"]
    servers = serve(layout)
    await_boot(layout, machines)
    for server in servers:
        server.follow()
    write_record(layout, servers)
    held = [] if lifeline is None else [lifeline]
    while not select.select(held, [], [], _WATCH_S)[0]:
        for each in machines:
            each.follow()
        for server in servers:
            server.follow()


def _prepare(layout: Layout) -> None:
    from fleetops.lab.disk import lay_out  # noqa: PLC0415
    from fleetops.lab.fleet import FLEET  # noqa: PLC0415

    for folder in ("engine/sglang", "models"):
        (layout.share / folder).mkdir(parents=True, exist_ok=True)
    layout.breakages.mkdir()
    layout.state.mkdir(mode=0o700)
    boots: dict[str, str] = {}
    for host in FLEET:
        kernel = host.hypervisor if host.kind == "lxc" else host.name
        boots.setdefault(kernel, str(uuid.uuid4()))
        lay_out(layout, host, boots[kernel])


if __name__ == "__main__":
    sys.exit(main())
