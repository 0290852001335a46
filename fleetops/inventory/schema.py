"""The JSON Schema of the inventory's files, made from the definitions that the loader checks with."""

from typing import Any

from fleetops.inventory import definitions as keys

_FILES = {"fleet": keys.FLEET_FILE, "profiles": keys.PROFILES_FILE}

FILES = tuple(_FILES)


def json_schema(file: str = "fleet") -> dict[str, Any]:
    """The schema (draft 2020-12) of `fleet.yaml` or `profiles.yaml`, named by `FILES`.

    It holds what can be said of one value at a time; what must agree between entries is the loader's alone.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fleetops {file}.yaml",
        **_FILES[file].schema(),
    }
