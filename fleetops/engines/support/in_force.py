"""Whether a running service is as its profile says: its own command line against the profile's flags."""

from collections.abc import Mapping

from fleetops.model.engine import Service
from fleetops.model.fleet import Profile
from fleetops.model.secrets import mask_text

# What every launch sets from the profile's own keys, under the names that engines give them.
_USUAL = {"model_path", "model", "tp", "tp_size", "tensor_parallel_size", "port", "host"}
_MODEL = ("model_path", "model")


def differences(service: Service, profile: Profile) -> tuple[str, ...]:
    """What differs, in words, values masked where they may be secret; nothing where it is the profile's."""
    if service.engine != profile.engine:
        return (f"it is {service.engine}, not {profile.engine}",)
    stated = [flag for flag in profile.flags if flag.name not in _USUAL]
    found = [
        mask_text(f"{said(flag.name, service.flags)} where the profile has {flag.value}")
        for flag in stated
        if not flag.is_in_force(service.flags.get(flag.name))
    ]
    more = sorted(set(service.flags) - _USUAL - {flag.name for flag in stated})
    found += [f"{said(name, service.flags)}, which the profile has not" for name in more]
    model = next((service.flags[name] for name in _MODEL if name in service.flags), "")
    if model and model != profile.model:
        found.append(f"it serves {model}, not {profile.model}")
    return tuple(found)


def said(name: str, flags: Mapping[str, str]) -> str:
    """A flag as a command line has it, masked where it may be secret, or that it has none."""
    flag = f"--{name.replace('_', '-')}"
    if name not in flags:
        return f"no {flag}"
    return mask_text(flag if flags[name] in {"", "true"} else f"{flag} {flags[name]}")
