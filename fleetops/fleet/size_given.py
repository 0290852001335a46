"""What the operator says over a profile before it is sized, and which of its flags then take host memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetops.model.errors import UsageError
from fleetops.model.fleet import AUTO, Flag, FlagValue, HostMemory, Profile
from fleetops.model.proof import Explanation
from fleetops.steps.support.proof import flags_to_prove


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the operator says, and what therefore need not be read on a node.

    Attributes:
        flag: the flag in question; the profile's own by default.
        settings: flags that win over the profile's, by name.
        explain: what a flag means in the source that was named; None to read it on the node.
        config, draft_config: config.json of the model and of a draft model.
        available_bytes: what there is; it stands for all bounds.
        ranks: on one node.
        device_tokens: of the GPU pool of one rank.
        reserve_bytes, floor_bytes: instead of the profile's.
    """

    flag: str | None = None
    settings: Mapping[str, FlagValue] = field(default_factory=dict)
    explain: Callable[[str], Explanation] | None = None
    config: Mapping[str, Any] | None = None
    draft_config: Mapping[str, Any] | None = None
    available_bytes: int | None = None
    ranks: int | None = None
    device_tokens: int | None = None
    reserve_bytes: int | None = None
    floor_bytes: int | None = None

    def applied(self, profile: Profile) -> Profile:
        """The profile with what was said over it; a flag keeps the meaning that the profile states."""
        flags = {flag.name: flag for flag in profile.flags}
        for name, value in self.settings.items():
            known = flags.get(name)
            flags[name] = replace(known, value=value) if known else Flag(name=name, value=value)
        if self.flag and self.flag not in flags:
            flags[self.flag] = Flag(name=self.flag, value=AUTO)
        memory = profile.host_memory
        return replace(
            profile,
            flags=tuple(flags.values()),
            host_memory=HostMemory(
                reserve_bytes=memory.reserve_bytes if self.reserve_bytes is None else self.reserve_bytes,
                floor_bytes=memory.floor_bytes if self.floor_bytes is None else self.floor_bytes,
            ),
        )


def sized_flags(profile: Profile, asked: str | None) -> tuple[Flag, ...]:
    """The flags that take host memory or are stated as sizes, the one in question first.

    Raises UsageError where one of them is given something that is no size.
    """
    found = {flag.name: flag for flag in flags_to_prove(profile)}
    flag = profile.flag(asked) if asked else None
    flags = tuple({**({flag.name: flag} if flag else {}), **found}.values())
    for one in flags:
        if one.value != AUTO and (isinstance(one.value, bool | str) or one.value < 0):
            raise UsageError(
                f"{one.name}={one.value} is no size", hint="a number from 0 up, or `auto` for what fits"
            )
    return flags
