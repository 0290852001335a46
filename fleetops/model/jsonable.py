"""The model's objects as what `json` can write. Secrets are masked, gaps stay visible."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from fleetops.model.fact import Missing
from fleetops.model.finding import Severity
from fleetops.model.secrets import MASK, looks_secret, mask_argv

_ARGV_FIELDS = {"cmdline", "argv"}


def jsonable(value: Any) -> Any:
    """`value` as dicts, lists, strings and numbers.

    Dataclasses become objects by their fields' names; a reading that is missing becomes
    `{"missing": GAP, "why": TEXT}`, with `"reason": WORD` where it has one; a severity its word, any other enum its
    value. Command lines, and mappings with secret-looking keys, lose their secrets.

    Raises:
        TypeError: something that has no place in a report.
    """
    if isinstance(value, Missing):
        reason = {"reason": value.reason} if value.reason else {}
        return {"missing": value.gap.value, "why": value.why, **reason}
    if isinstance(value, Severity):
        return value.word
    if isinstance(value, Enum):
        return jsonable(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key): MASK if looks_secret(_key(key)) else jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _field(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _field(name: str, value: Any) -> Any:
    return list(mask_argv(value)) if name in _ARGV_FIELDS and isinstance(value, tuple) else jsonable(value)


def _key(key: Any) -> str:
    return str(key.value) if isinstance(key, Enum) else str(key)
