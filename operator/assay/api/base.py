"""What every model of the API is made of: bounded types, CEL rules and the conventions of the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

GROUP = "assay.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

MAX_PATCH_CHARS = 700_000
"""Inline limit of one patch in characters; larger ones come by reference (etcd holds about 1.5 MB an object)."""
MAX_INLINE_CHARS = 1_000_000
"""Inline limit of a task as a whole in characters, so that the API server refuses it by name and not etcd by size."""
MAX_TEXT_CHARS = 100_000
MAX_TESTS = 10_000
MAX_TEST_NAME = 2_000
MAX_COMMANDS = 50

IMAGE_HOST = (
    r"([a-zA-Z0-9][a-zA-Z0-9-]*[.]([a-zA-Z0-9.-]*[a-zA-Z0-9])(:[0-9]+)?|[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?:[0-9]+"
    r"|localhost|\\[[0-9a-fA-F]*:[0-9a-fA-F:]*\\](:[0-9]+)?|\\[[0-9a-fA-F]+\\]:[0-9]+)"
)
"""A registry's host: it has a dot or a port, or is localhost; a regular expression of RE2 cannot look ahead."""
IMAGE_REFERENCE = (
    rf"^({IMAGE_HOST}/)?"
    r"[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
)
"""Image reference as a CEL string literal's regular expression; ``assay.domain.task.IMAGE`` is the same grammar."""
QUANTITY = r"^[0-9]+([.][0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"
"""Quantities that Assay reads; a rule says it, because the API server does not look at an int-or-string's pattern."""
LIST_BY_TYPE: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


class Rule(NamedTuple):
    """One CEL validation rule of a model: what must hold, what is said when it does not, and of which field."""

    rule: str
    message: str
    field: str = ""
    """Wire name of the model's field that the message is about; empty: the model as a whole."""
    reason: Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"] = "FieldValueInvalid"


def immutable(field: str, *, optional: bool = False) -> Rule:
    """Return the rule that a field of the spec keeps its value; ``optional`` when the API server has no default for it."""
    same = f"self.{field} == oldSelf.{field}"
    return Rule(
        f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || {same})" if optional else same,
        "immutable: make a new object for another task or another way to run it",
        field,
        "FieldValueForbidden",
    )


def lasting(*fields: str) -> tuple[Rule, ...]:
    """Return the rules that durations are longer than nothing and at most a year."""
    return tuple(
        Rule(
            f"duration(self.{name}) > duration('0s') && duration(self.{name}) <= duration('8760h')",
            "must be longer than nothing and at most a year, for example 90s, 10m or 1h30m",
            name,
        )
        for name in fields
    )


def excludes(plain: str, base64: str) -> Rule:
    """Return the rule that at most one of two fields is given."""
    return Rule(
        f"!(has(self.{plain}) && has(self.{base64}))",
        f"{plain} and {base64} exclude each other; give one of them",
        base64,
        "FieldValueForbidden",
    )


def is_base64(field: str) -> Rule:
    """Return the rule that a field, where given, holds base64."""
    return Rule(
        f"!has(self.{field}) || self.{field}.matches('^[A-Za-z0-9+/[:space:]]*=?[[:space:]]*=?[[:space:]]*$')",
        "must be base64",
        field,
    )


class Resource(BaseModel):
    """Base of every model: camelCase on the wire, unknown fields are ignored (an older operator reads a newer object)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)
    cel: ClassVar[tuple[Rule, ...]] = ()


Duration = Annotated[
    str,
    Field(
        pattern=r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
        min_length=2,
        max_length=20,
    ),
]
Quantity = Annotated[
    str,
    BeforeValidator(str),
    Field(
        pattern=QUANTITY,
        max_length=20,
        json_schema_extra={"x-kubernetes-int-or-string": True},
    ),
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
TestName = Annotated[str, Field(min_length=1, max_length=MAX_TEST_NAME)]
TestNames = Annotated[tuple[TestName, ...], Field(max_length=MAX_TESTS)]
Command = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
PatchText = Annotated[str, Field(max_length=MAX_PATCH_CHARS)]


class ObjectMeta(Resource):
    """The few fields of an object's metadata that the operator reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the path of the first value that is not as its model has it (``task.tests.parser``), and why."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])), first["msg"]


def to_wire(model: Resource) -> dict[str, Any]:
    """Return the model as Kubernetes JSON: camelCase, without fields that are None."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
