"""A guest that Proxmox calls stopped while a process of it lives: to start it would find its GPUs busy."""

from fleetops.model.guest import GuestState


def not_down(state: GuestState, host: str) -> str:
    """What is alive of the guest on `host`, and that a person ends it; "" where the guest is down, or not stopped."""
    if state.status != "stopped" or not state.left:
        return ""
    first = state.left[0]
    more = f" (and {len(state.left) - 1} more)" if len(state.left) > 1 else ""
    stuck = first.state == "D"
    how = "in D state, which no signal ends" if stuck else f"in state {first.state}"
    mend = f"a person reboots {host}" if stuck else f"a person ends it on {host}"
    return (
        f"Proxmox on {host} calls guest {state.id} stopped, and {first.comm} of it (pid {first.pid}){more} is alive"
        f" {how}, and may hold its GPUs: do not start it; {mend}"
    )


def to_look(state: GuestState, host: str) -> str:
    """The command that shows what is alive of it."""
    pids = ",".join(str(one.pid) for one in state.left)
    return f"fleetops run {host} -- ps -o pid,stat,wchan:24,etime,args -p {pids}"
