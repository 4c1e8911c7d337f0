"""The API reference as Markdown, printed from the CustomResourceDefinitions: pure, one table a level of the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

Schema = dict[str, Any]

PREFACE = """\
# API reference

Generated from the models by `python -m assay.api.generate`; `kubectl explain taskvalidation.spec` prints the same.

Apply objects with `kubectl apply --server-side`: client-side apply keeps a copy of the object in an annotation, which
may hold 256 KiB only.
"""


def reference_of(definitions: Sequence[Schema]) -> str:
    """Return the whole document for these CustomResourceDefinitions."""
    return "\n".join([PREFACE, *(line for definition in definitions for line in _resource(definition))]) + "\n"


def _resource(definition: Schema) -> Iterator[str]:
    names, version = definition["spec"]["names"], definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield f"## {names['kind']}\n"
    yield f"{schema['description']}\n"
    yield f"`{definition['spec']['group']}/{version['name']}`, plural `{names['plural']}`, short `{', '.join(names['shortNames'])}`, category `assay`.\n"
    yield "| column | shows |\n| --- | --- |"
    for column in version["additionalPrinterColumns"]:
        wide = " (with `-o wide`)" if column.get("priority") else ""
        yield f"| {column['name'].upper()} | `{column['jsonPath']}`{wide}: {_cell(column['description'])} |"
    selectors = ", ".join(f"`{field['jsonPath'].removeprefix('.')}`" for field in version["selectableFields"])
    yield f"\n`--field-selector` knows {selectors} beside the usual ones.\n"
    for part in ("spec", "status"):
        yield from _section(part, schema["properties"][part])


def _section(path: str, node: Schema) -> Iterator[str]:
    """Yield the heading, the table and the rules of an object, then the sections of the objects in it."""
    yield f"### {path}\n"
    yield f"{node.get('description', '')}\n"
    yield "| field | type | default | meaning |\n| --- | --- | --- | --- |"
    required = node.get("required", [])
    for name, field in node["properties"].items():
        default = "**required**" if name in required else _default(field)
        yield f"| `{name}` | {_type(field)} | {default} | {_cell(field.get('description', ''))} |"
    yield ""
    yield from _rules(node)
    for name, field in node["properties"].items():
        if "properties" in field:
            yield from _section(f"{path}.{name}", field)
        elif "properties" in field.get("items", {}):
            yield from _section(f"{path}.{name}[]", field["items"])


def _rules(node: Schema) -> Iterator[str]:
    rules = node.get("x-kubernetes-validations", [])
    if rules:
        yield "Rules that the API server checks:\n"
        for rule in rules:
            field = rule.get("fieldPath", "").removeprefix(".")
            yield f"- `{field}`: {rule['message']}" if field else f"- {rule['message']}"
        yield ""


def _type(field: Schema) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{value}`" for value in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    bounds = _bounds(field)
    name = f"list of {_type(field['items'])}" if field["type"] == "array" else str(field.get("format", field["type"]))
    return f"{name} ({bounds})" if bounds else name


def _bounds(field: Schema) -> str:
    """Return the bounds of a value: `1 … 20`, `≤ 100 characters`."""
    low = field.get("minimum", field.get("minLength", field.get("minItems")))
    high = field.get("maximum", field.get("maxLength", field.get("maxItems")))
    unit = {"string": " characters", "array": " items"}.get(field["type"], "")
    match low, high:
        case None, None:
            return ""
        case None, _:
            return f"≤ {high}{unit}"
        case _, None:
            return f"≥ {low}{unit}"
        case _:
            return f"{low} … {high}{unit}"


def _default(field: Schema) -> str:
    if "default" not in field:
        return ""
    if isinstance(field["default"], dict):
        return "see below"
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
