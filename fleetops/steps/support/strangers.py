"""Whose work a step would meet that is not the service's: named, and never ended."""

from fleetops.steps.support.base import Situation


def strangers(situation: Situation) -> str:
    """Who holds the GPUs and cannot be attributed to the service: never killed, and reason enough to stop."""
    found, node = situation.attribution, situation.node_name
    if not found.known:
        return f"the process table of {node} could not be read"
    if found.strangers is None:
        return f"who holds the GPUs of {node} could not be read"
    if alike := [process for process in found.nominated if process.is_alive]:
        named = ", ".join(f"{one.pid} ({one.title})" for one in alike[:3])
        return f"{named} on {node} looks like the service's and cannot be shown to be: end it yourself, or let it be"
    if not found.strangers:
        return ""
    named = ", ".join(f"{one.pid} ({one.title})" for one in found.strangers[:3])
    return f"{named} holds the GPUs of {node} and cannot be shown to be the service's"


def others_inside(situation: Situation) -> str:
    """Who else would end with the whole node; "" for nobody, and of a node that does not answer nobody can be named."""
    if situation.observation.silence is not None:
        return ""
    others = (service for service in situation.attribution.others if service.launcher)
    other = next((service for service in others if service.launcher and service.launcher.is_alive), None)
    if other and other.launcher:
        return (
            f"another service (pid {other.launcher.pid}, port {other.port}) runs on {situation.node_name}, and would end"
            " with it"
        )
    return strangers(situation)
