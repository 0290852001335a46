"""What keeps an answer open, and what stands beside it: missing numbers, claims that the source contradicts."""

from collections.abc import Mapping

from fleetops.model.fleet import Flag
from fleetops.model.kv import KvCache
from fleetops.model.proof import Explanation
from fleetops.model.sizing import Meaning
from fleetops.sizing.question import Question, has_other_layers
from fleetops.sizing.releases import is_at_least
from fleetops.sizing.shape import Shape, values_of

_LMCACHE_IGNORES_FROM = "0.27.1"


def doubts_of(
    question: Question, shape: Shape, kv: KvCache | None, meanings: Mapping[str, Meaning]
) -> tuple[str, ...]:
    """Why nothing is proven, or which number is missing; empty where neither is so."""
    found = (_doubt(flag, meanings[flag.name], question, shape, kv) for flag in question.flags)
    return tuple(doubt for doubt in found if doubt)


def _doubt(flag: Flag, meaning: Meaning, question: Question, shape: Shape, kv: KvCache | None) -> str:
    explanation, name = question.explanations.get(flag.name), flag.name
    if explanation is None:
        return f"what {name} means was not read from source"
    if explanation.verdict == "no-such-flag":
        return explanation.unproven_because or f"this release has no flag {name}"
    if not explanation.is_proven:
        return f"what {name} means is not proven: {explanation.unproven_because or 'the trail is lost'}"
    if _is_left_to_ratio(flag, question):
        return (
            f"{name}=0 sizes nothing: it leaves the size to hicache_ratio (2.0 by default), "
            "which --flag hicache_ratio with --device-tokens N sizes"
        )
    if meaning.bytes_per_unit is not None:
        return ""
    counted = {"ratio": "is a ratio", "fraction": "is a fraction"}.get(
        explanation.unit, f"counts in {explanation.unit}"
    )
    return f"{name} {counted}: {_missing(flag, explanation, question, shape, kv)}"


def _is_left_to_ratio(flag: Flag, question: Question) -> bool:
    """Whether a size of 0 hands over to the ratio, and the ratio is not counted itself."""
    counted = {one.name for one in question.flags}
    return flag.name == question.flag == "hicache_size" and flag.value == 0 and "hicache_ratio" not in counted


def _missing(
    flag: Flag, explanation: Explanation, question: Question, shape: Shape, kv: KvCache | None
) -> str:
    """The number that bytes would need, and what gives it."""
    if explanation.unit == "fraction":
        return (
            "what it is a fraction of is not known here"
            if question.available_bytes
            else "--available gives it"
        )
    if question.config is None:
        return "the model's config.json is missing (--model-config FILE)"
    if kv is None:
        return "bytes of a token cannot be counted from the model's config.json"
    if not flag.name.startswith("hicache") or has_other_layers(question.config, shape):
        return "the sizes of all its device pools are not known before the launch"
    return "the device tokens are missing: --device-tokens N, or a recorded launch of this profile"


def notes_of(question: Question, shape: Shape) -> tuple[str, ...]:
    """What stands beside the arithmetic: claims that the source contradicts, and what was seen in the field."""
    notes = [_contradiction(flag, question) for flag in contradicted(question)]
    flags, explanation = values_of(question.profile.flags), question.explanation
    if question.flag == "kv_offloading_size":
        ignores = is_at_least(shape.version, _LMCACHE_IGNORES_FROM)
        if flags.get("kv_offloading_backend") == "lmcache" and ignores:
            notes.append(
                "with the lmcache backend this release does not pass it on: LMCache's own server decides"
            )
    if question.profile.engine == "vllm" and "kv_transfer_config" in flags:
        notes.append("host memory that kv_transfer_config gives its connector is not counted here")
    asks = question.flag in flags
    if explanation and explanation.default and not asks and not isinstance(explanation.default, bool):
        notes.append(f"left out, the engine takes its default: {explanation.default} {explanation.unit}")
    return tuple(notes)


def contradicted(question: Question) -> tuple[Flag, ...]:
    """The profile's flags whose stated unit or scope the source contradicts."""
    return tuple(
        flag for flag in question.flags if flag in question.profile.flags and _differs(flag, question)
    )


def _differs(flag: Flag, question: Question) -> bool:
    shown = question.explanations.get(flag.name)
    if shown is None or not shown.is_proven:
        return False
    return flag.unit not in {None, shown.unit} or flag.scope not in {None, shown.scope}


def _contradiction(flag: Flag, question: Question) -> str:
    """Both, in a sentence."""
    explanation = question.explanations[flag.name]
    said = f"{flag.unit or ''} {(flag.scope or '').replace('-', ' ')}".strip()
    shown = f"{explanation.unit} {explanation.scope.replace('-', ' ')}"
    return f"the profile says {flag.name} is {said}, and the source says {shown}: a launch refuses that"
