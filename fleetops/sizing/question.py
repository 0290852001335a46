"""What is to be sized, and all that is known of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetops.model.fleet import Flag, Profile
from fleetops.model.proof import Explanation
from fleetops.sizing.budget import Rooms
from fleetops.sizing.kv import model_layers
from fleetops.sizing.shape import Shape


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be sized, and all that is known of it.

    Attributes:
        profile: what would be launched; its name is "" where there is none.
        flags: those of its flags that take host memory, and the one in question.
        flag: the one in question; None where no flag takes any.
        explanations: flag name -> what the source shows.
        config, draft_config: config.json of the model, and of a draft model of its own.
        rooms: what bounds the launch.
        available_bytes: the node's own MemAvailable, which the engine's check looks at.
        ranks: on this node.
        tensor: the tensor-parallel size where no flag says it; None: the ranks of this node are all there are.
        device_tokens: of the GPU pool of one rank, as measured; None where it is not known.
        overruled: flags of which the profile's own words count, whatever is proven: the operator has said so.
        host, title: of the node and of the engine, as they are shown.
        release: of the engine, where no explanation says it.
    """

    profile: Profile
    flags: tuple[Flag, ...]
    flag: str | None
    explanations: Mapping[str, Explanation]
    rooms: Rooms
    ranks: int
    tensor: int | None = None
    config: Mapping[str, Any] | None = None
    draft_config: Mapping[str, Any] | None = None
    available_bytes: int | None = None
    device_tokens: int | None = None
    overruled: frozenset[str] = frozenset()
    host: str = ""
    title: str = ""
    release: str = ""

    @property
    def explanation(self) -> Explanation | None:
        """Of the flag in question."""
        return self.explanations.get(self.flag or "")

    @property
    def version(self) -> str:
        """The engine's release, as any of the explanations has it."""
        return next((one.version for one in self.explanations.values() if one.version), self.release)


def has_other_layers(config: Mapping[str, Any], shape: Shape) -> bool:
    """Whether some of its layers have device pools of their own, which tokens do not measure."""
    try:
        layers = model_layers(config, shape)
    except ValueError:
        return True
    return bool(layers.sliding or layers.recurrent)
