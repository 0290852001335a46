"""The JSON Schema says the same as the loader: for every key, whatever is written there."""

import json
import re
from typing import Any

import pytest
import yaml

from fleetops.inventory import definitions as keys
from fleetops.inventory.document import parse_document
from fleetops.inventory.flags import FLAG
from fleetops.inventory.problems import Problems
from fleetops.inventory.schema import FILES, json_schema
from fleetops.resources import resource_folder

RECORDS = (
    keys.FLEET_FILE,
    keys.NODE,
    keys.GUEST,
    keys.HYPERVISOR,
    keys.PROFILE,
    keys.HOST_MEMORY,
    keys.SETTINGS,
    FLAG,
)
FIELDS = [(record, field) for record in RECORDS for field in record.fields]
IDS = [f"{record.what}-{field.key}" for record, field in FIELDS]

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 22, 100, 65_535, 65_536, 1025, 10**9, 1.5,
    "", "a", "lxc", "vm", "sglang", "vllm", "GB", "per-rank", "/a/b", "~/a", "-x", "a b", "a\nb", "a\x01", "é",
    "40 GB", "16GiB", "40", "40 gb", "15m", "1h30m", "15", "ab" * 16, "h.lan", "[::1]", "x" * 64,
    [], ["a"], [1], [["a"]], ["-x"], {}, {"a": "b"}, {"a": 1}, {"a": None}, {"-a": "b"}, {"a": ["b"]}, {"a": {}},
    {"kind": "lxc", "id": 100}, {"kind": "lxc"}, {"kind": "x", "id": 1}, {"reserve": "1 GB"}, {"state": "x"},
    {"a": {"address": "h"}}, {"a": {"value": 1}}, {"a": {"value": 1, "unit": "GB"}}, {"a": {"value": [1]}},
    {"a": {"engine": "vllm", "model": "m", "ranks": 1, "port": 1}},
]  # fmt: skip

TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def is_type(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def conforms(value: Any, schema: dict[str, Any]) -> bool:
    """As a JSON Schema validator would judge, for the keywords that are used; an unknown one fails the test."""
    known = {"type", "enum", "pattern", "minimum", "maximum", "items", "minItems", "properties", "required"}
    known |= {"additionalProperties", "propertyNames", "anyOf", "description", "default", "title", "$schema"}
    assert set(schema) <= known
    wanted = schema.get("type", [])
    types = [wanted] if isinstance(wanted, str) else wanted
    return all(
        (
            not types or any(is_type(value, name) for name in types),
            "enum" not in schema or value in schema["enum"],
            "anyOf" not in schema or any(conforms(value, option) for option in schema["anyOf"]),
            not isinstance(value, str) or re.search(schema.get("pattern", ""), value) is not None,
            not is_type(value, "number")
            or schema.get("minimum", value) <= value <= schema.get("maximum", value),
            not isinstance(value, list) or list_conforms(value, schema),
            not isinstance(value, dict) or object_conforms(value, schema),
        )
    )


def list_conforms(value: list[Any], schema: dict[str, Any]) -> bool:
    return len(value) >= schema.get("minItems", 0) and all(
        conforms(item, schema.get("items", {})) for item in value
    )


def object_conforms(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    names = schema.get("propertyNames", {})
    return all(name in value for name in schema.get("required", [])) and all(
        conforms(name, names)
        and (
            conforms(item, properties[name])
            if name in properties
            else others is not False and conforms(item, others)
        )
        for name, item in value.items()
    )


@pytest.mark.parametrize(("record", "field"), FIELDS, ids=IDS)
def test_schema_and_loader_accept_the_same_values(record, field):
    for value in VALUES:
        problems = Problems()
        entry = parse_document(json.dumps({"k": value}).encode(), "f", problems)
        field.kind.read(entry.entries["k"], problems)
        accepted = len(problems) == 0
        if getattr(field.kind, "judge", None) and conforms(value, field.kind.schema()):
            continue  # what the loader judges beyond a pattern (is `40` an address?) a schema cannot say
        assert conforms(value, field.kind.schema()) == accepted, (value, list(map(str, problems)))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.what)
def test_a_record_without_its_keys_or_with_another_fails_both(record):
    for value in ({}, {"nonsense": 1}):
        problems = Problems()
        entry = parse_document(json.dumps(value).encode(), "f", problems)
        record.read(entry, problems)
        assert conforms(value, record.schema()) == (len(problems) == 0)


@pytest.mark.parametrize("file", FILES)
def test_the_example_conforms(file):
    text = (resource_folder("inventory") / f"{file}.yaml").read_text()
    assert conforms(yaml.safe_load(text), json_schema(file))


@pytest.mark.parametrize("file", FILES)
def test_every_key_is_described_for_the_editor(file):
    def undescribed(schema: dict[str, Any], path: str) -> list[str]:
        below = [(schema.get("additionalProperties"), f"{path}.*"), (schema.get("items"), f"{path}[]")]
        below += [(option, path) for option in schema.get("anyOf", [])]
        found = [
            text for child, place in below if isinstance(child, dict) for text in undescribed(child, place)
        ]
        for name, child in schema.get("properties", {}).items():
            found += [] if child.get("description") else [f"{path}.{name}"]
            found += undescribed(child, f"{path}.{name}")
        return found

    assert undescribed(json_schema(file), "") == []
