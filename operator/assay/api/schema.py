"""CustomResourceDefinitions made from the models of ``assay.api.v1alpha1``: pure, dictionaries out, no files.

The API server wants a *structural* schema: nothing referenced, nothing nullable, bounds and rules beside the fields
they bound.  Defaults are kept in the spec, where the API server fills them in, and left out of the status, where a
value must mean that the operator wrote it.  ``assay.api.generate`` writes the result, ``assay.api.reference`` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from assay.api import v1alpha1

Schema = dict[str, Any]

COPIED = (
    "description", "type", "format", "pattern", "enum", "minLength", "maxLength", "minItems", "maxItems", "minimum",
    "maximum", "required",
)  # fmt: skip
"""Keywords in reading order that mean the same in pydantic's schema and in the API server's."""

RULES = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of ``kubectl get``; ``wide`` ones show with ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    description: str
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How a custom resource is called and listed."""

    plural: str
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]
    selectable: tuple[str, ...]
    """Paths that ``kubectl get --field-selector`` can filter by."""


PRESENTATIONS: Mapping[type[v1alpha1.Resource], Presentation] = {
    v1alpha1.TaskValidation: Presentation(
        plural="taskvalidations",
        short_names=("tv",),
        columns=(
            Column(name="Verdict", path=".status.verdict", description="Valid, Invalid or Inconclusive."),
            Column(name="Reason", path=".status.reason", description="Leading reason of the verdict."),
            Column(name="F2P", path=".status.tests.failToPass.count", type="integer", description="Target tests."),
            Column(
                name="P2P",
                path=".status.tests.passToPass.count",
                type="integer",
                description="Tests that pass in every run.",
            ),
            Column(
                name="Flaky",
                path=".status.tests.flaky.count",
                type="integer",
                description="Tests that differ between runs of one state.",
            ),
            Column(name="Phase", path=".status.phase", description="Pending, Running or Complete.", wide=True),
            Column(name="Profile", path=".spec.profile", description="Named set of comparison rules.", wide=True),
            Column(name="Image", path=".status.image.digest", description="Digest of the bits that ran.", wide=True),
            Column(name="Age", path=".metadata.creationTimestamp", type="date", description="Time since creation."),
        ),
        selectable=(".status.phase", ".status.verdict", ".status.reason", ".spec.profile"),
    ),
    v1alpha1.AgentEpisode: Presentation(
        plural="agentepisodes",
        short_names=("ae",),
        columns=(
            Column(name="Phase", path=".status.phase", description="How far the episode has come."),
            Column(name="Reward", path=".status.reward", type="number", description="Reward of a finished episode."),
            Column(
                name="Submissions",
                path=".status.submissions[-1:].number",
                type="integer",
                description="Submissions that were offered.",
            ),
            Column(name="Calls", path=".status.toolCalls.count", type="integer", description="Tool calls that ran."),
            Column(name="Reason", path=".status.reason", description="Leading reason.", wide=True),
            Column(name="Profile", path=".spec.profile", description="Named set of grading rules.", wide=True),
            Column(name="Image", path=".status.image.digest", description="Digest of the bits that ran.", wide=True),
            Column(name="Age", path=".metadata.creationTimestamp", type="date", description="Time since creation."),
        ),
        selectable=(".status.phase", ".status.reason", ".spec.environment"),
    ),
}


def crd_of(model: type[v1alpha1.Resource]) -> Schema:
    """Return the CustomResourceDefinition of a model that ``PRESENTATIONS`` names."""
    presentation = PRESENTATIONS[model]
    kind = model.__name__
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{presentation.plural}.{v1alpha1.GROUP}"},
        "spec": {
            "group": v1alpha1.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": presentation.plural,
                "singular": kind.lower(),
                "shortNames": list(presentation.short_names),
                "categories": ["assay"],
            },
            "versions": [_version(model, presentation)],
        },
    }


def _version(model: type[v1alpha1.Resource], presentation: Presentation) -> Schema:
    return {
        "name": v1alpha1.VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_printed(column) for column in presentation.columns],
        "selectableFields": [{"jsonPath": path} for path in presentation.selectable],
        "schema": {"openAPIV3Schema": schema_of(model)},
    }


def _printed(column: Column) -> Schema:
    printed: Schema = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return {**printed, "priority": 1} if column.wide else printed


def schema_of(model: type[v1alpha1.Resource]) -> Schema:
    """Return the structural schema of a custom resource's model: its spec and status, metadata left to the API server."""
    root = model.model_json_schema(schema_generator=_WithRules)
    definitions = root.get("$defs", {})
    fields = root["properties"]
    return {
        "type": "object",
        "description": root["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"Always {v1alpha1.API_VERSION}."},
            "kind": {"type": "string", "description": f"Always {model.__name__}."},
            "metadata": {"type": "object"},
            "spec": _structural(fields["spec"], definitions, defaults=True),
            "status": _structural(fields["status"], definitions, defaults=False),
        },
    }


class _WithRules(GenerateJsonSchema):
    """pydantic's generator, but an optional field is an absent one (never null) and a model brings its CEL rules."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        model = cast(type[v1alpha1.Resource], schema["cls"])
        made = super().model_schema(schema)
        return {**made, RULES: [_validation(rule) for rule in model.cel]} if model.cel else made

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def _validation(rule: v1alpha1.Rule) -> Schema:
    validation: Schema = {"rule": rule.rule, "message": rule.message, "reason": rule.reason}
    return {**validation, "fieldPath": f".{rule.field}"} if rule.field else validation


def _structural(node: Schema, definitions: Mapping[str, Schema], *, defaults: bool) -> Schema:
    """Return a node with its references written out and with nothing in it that a structural schema may not hold."""
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    made = {key: node[key] for key in COPIED if key in node}
    made |= {key: value for key, value in node.items() if key.startswith("x-kubernetes-")}
    if "const" in node:
        made["enum"] = [node["const"]]
    if defaults and node.get("default") is not None:
        made["default"] = node["default"]
    if "properties" in node:
        made["properties"] = {
            name: _structural(field, definitions, defaults=defaults) for name, field in node["properties"].items()
        }
    if "items" in node:
        made["items"] = _structural(node["items"], definitions, defaults=defaults)
        made.setdefault("x-kubernetes-list-type", "atomic")
    if made.get("x-kubernetes-int-or-string"):
        made["anyOf"] = [{"type": "integer"}, {"type": made.pop("type")}]
    return made
