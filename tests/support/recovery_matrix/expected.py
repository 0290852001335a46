"""What should come of each breakage on each platform: the rung that heals it, or the refusal."""

from dataclasses import dataclass, replace

from fleetops.lab.breakages import all_breakages

PLATFORMS = ("lxc", "vm", "bare")
RUNGS = {"stop-service": 1, "clear-leftovers": 2, "reset-gpus": 3, "power-cycle": 4}
ENDS = {0: "healed", 3: "unknown", 4: "failed", 5: "refused"}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """How `probe` and `recover --yes` of a broken node should end.

    Attributes:
        status: recover's exit status.
        found: checks that probe must name; more may be there.
        rungs: those that may, and must, have changed something; none where nothing may be changed.
        guard: what refuses, where it is a refusal.
        says: what the reason must hold.
        noted: what the table of what came back must say of where its idle figures come from.
        relaunch: whether a service is started, be it in vain.
        well: to a recovery nothing is wrong: the service serves, and what a sweep would find is for a person.
    """

    status: int = 0
    found: tuple[str, ...] = ()
    rungs: tuple[int, ...] = ()
    guard: str = ""
    says: str = ""
    noted: str = ""
    relaunch: bool = True
    well: bool = False


def healed(*rungs: int, found: tuple[str, ...]) -> Expected:
    """By those rungs, and the service generates again."""
    return Expected(rungs=rungs, found=found)


def refused(guard: str, *found: str, says: str = "", rungs: tuple[int, ...] = ()) -> Expected:
    """Exit 5, and nothing is changed."""
    return Expected(status=5, guard=guard, found=found, says=says, rungs=rungs, relaunch=False)


def failed(*rungs: int, found: tuple[str, ...], says: str = "", relaunch: bool = False) -> Expected:
    """Exit 4 after those rungs: they were tried, and what is left is said."""
    return Expected(status=4, rungs=rungs, found=found, says=says, relaunch=relaunch)


# It serves: nothing is changed, and it goes on serving.
WELL = Expected(relaunch=False, well=True)
# SIGKILL leaves shared memory behind: whatever is ended by it needs the second rung too, to be tidied up after.
KILLED = (1, 2)
HELD = ("gpu-memory-held",)
TRAPPED = ("ghost-leaders", "ranks-in-d-state")

# By breakage, and by `breakage/platform` where one platform differs.
TABLE: dict[str, Expected] = {
    "stubborn": healed(*KILLED, found=("ranks-dead",)),
    "orphans": healed(*KILLED, found=("orphans",)),
    "zombies": healed(*KILLED, found=("ranks-dead",)),
    "ghost-leader": healed(*KILLED, found=("ghost-leaders",)),
    # With two ranks nothing leaks on a GPU: one is a zombie leader, one is stuck.
    "per-rank-trap": healed(*KILLED, found=TRAPPED),
    "new-baseline": replace(healed(*KILLED, found=TRAPPED), noted="within"),
    "respawning": healed(*KILLED, found=("ranks-dead",)),
    "slow-reclaim": healed(*KILLED, found=("orphans",)),
    "shm": healed(2, found=("leftovers",)),
    "port-held": refused("preflight", says="http.server"),
    "full-disk": refused("preflight", says="/var/log"),
    "dies-after-ready": failed(found=("service-absent",), says="CUDA out of memory", relaunch=True),
    # SGLang's own health check may be the first to notice.
    "hangs-after-ready": failed(found=("service-absent",), says="what was started is ended", relaunch=True),
    "gpu-memory-held": healed(3, found=HELD),
    "one-gpu-wants-reset": healed(3, found=("gpu-wants-reset",)),
    "reset-in-use": healed(3, found=HELD),
    "reset-fails": failed(3, 4, found=HELD),
    "reset-fails/bare": failed(3, found=HELD),
    "vram-needs-restart": healed(3, 4, found=HELD),
    "no-banner": healed(4, found=("no-banner",)),
    "no-banner/bare": Expected(status=3, found=("no-banner",), relaunch=False),
    "nvidia-smi-hangs": Expected(status=4, found=("driver-unresponsive",), relaunch=False),
    "nvidia-smi-hangs/vm": healed(4, found=("driver-unresponsive",)),
    "one-gpu-lost": refused("driver", "gpu-lost"),
    "one-gpu-lost/vm": healed(4, found=("gpu-lost",)),
    "driver-mismatch": refused("driver", "driver-mismatch"),
    "stop-lies": failed(3, 4, found=HELD, says="kvm"),
    "stop-blocks": failed(3, 4, found=HELD),
    "never-returns": failed(3, 4, found=HELD),
    "guest-locked": refused("proxmox-lock", *HELD, says="backup"),
    # Nobody can tell before: the stop is asked for, and Proxmox itself refuses it.
    "lock-file-timeout": refused("proxmox-lock", "no-banner", says="nothing is changed", rungs=(4,)),
    "ha-managed": refused("ha", "no-banner"),
    "shared-gpu": refused("tenants", *HELD, says="174"),
    "wrong-machine": refused("identity", "wrong-machine"),
    # What only a sweep finds (tests/sweep/test_sweep_lab.py).
    "clock-skew": WELL,
    "ecc-errors": WELL,
    "fabric-down": WELL,
    "gpu-ailing": WELL,
    "ha-gave-up": WELL,
    "hung-task": WELL,
    "inodes-gone": WELL,
    "lock-left": WELL,
    "not-reset": WELL,
    "oom-kill": WELL,
    "pending-changes": WELL,
    "xid": WELL,
}


def expected(breakage: str, platform: str) -> Expected:
    """What should come of it there. Raises KeyError for a breakage that nobody has judged."""
    return TABLE.get(f"{breakage}/{platform}") or TABLE[breakage]


def cells() -> tuple[tuple[str, str], ...]:
    """Every (platform, breakage) that can happen, platform by platform."""
    return tuple(
        (platform, each.name)
        for platform in PLATFORMS
        for each in all_breakages()
        if platform in each.platforms
    )
