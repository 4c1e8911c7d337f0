"""The CustomResourceDefinitions as values: structural, bounded, described, and what the repository holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from assay.api import v1alpha1
from assay.api.generate import generated_files, stale_files, write_files
from assay.api.reference import reference_of
from assay.api.schema import PRESENTATIONS, crd_of, schema_of
from assay.domain.task import IMAGE
from conftest import ROOT

DEFINITION = crd_of(v1alpha1.TaskValidation)
VERSION = DEFINITION["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
LOGICAL = {"anyOf", "allOf", "oneOf", "not"}


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node of a schema with its path."""
    yield path, node
    for name, field in node.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")


def at(path: str) -> dict[str, Any]:
    """One node of TaskValidation's schema."""
    return dict(nodes(SCHEMA))[path]


class Inner(v1alpha1.Resource):
    """What is inside."""

    cel: ClassVar = (v1alpha1.Rule("self.size > 0", "must be more than nothing", "size"),)

    size: int = Field(default=1, description="How big.")


class Outer(v1alpha1.Resource):
    """A resource of this test."""

    class Spec(v1alpha1.Resource):
        """What is wanted."""

        inner: Inner = Field(default=Inner(), description="The one inside.")
        maybe: Inner | None = Field(default=None, description="Another, or not.")
        only: Literal["Word"] = Field(default="Word", description="One word.")

    class Status(v1alpha1.Resource):
        """What was seen."""

        count: int = Field(default=0, description="How many.")

    spec: Spec = Field(description="Wanted.")
    status: Status = Field(default=Status(), description="Seen.")


def test_a_reference_is_written_out_with_the_fields_own_description_and_the_models_rules() -> None:
    inner = schema_of(Outer)["properties"]["spec"]["properties"]["inner"]
    assert inner == {
        "description": "The one inside.",
        "type": "object",
        "x-kubernetes-validations": [
            {
                "rule": "self.size > 0",
                "message": "must be more than nothing",
                "reason": "FieldValueInvalid",
                "fieldPath": ".size",
            }
        ],
        "default": {"size": 1},
        "properties": {"size": {"description": "How big.", "type": "integer", "default": 1}},
    }


def test_an_optional_field_is_absent_and_never_null() -> None:
    maybe = schema_of(Outer)["properties"]["spec"]["properties"]["maybe"]
    assert maybe["type"] == "object"
    assert "default" not in maybe
    assert "anyOf" not in maybe


def test_a_single_literal_is_an_enumeration_of_one() -> None:
    assert schema_of(Outer)["properties"]["spec"]["properties"]["only"]["enum"] == ["Word"]


def test_the_status_has_no_defaults_because_every_value_there_was_written() -> None:
    assert schema_of(Outer)["properties"]["status"]["properties"]["count"] == {
        "description": "How many.",
        "type": "integer",
    }
    assert not [path for path, node in nodes(SCHEMA["properties"]["status"]) if "default" in node]


def test_the_schema_is_structural() -> None:
    for path, node in nodes(SCHEMA):
        assert "$ref" not in node, path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert "title" not in node, path
        if LOGICAL & set(node):
            assert node["anyOf"] == [{"type": "integer"}, {"type": "string"}], path


def test_every_field_is_described() -> None:
    undescribed = [
        f"{path}.{name}"
        for path, node in nodes(SCHEMA)
        for name, field in node.get("properties", {}).items()
        if not field.get("description") and f"{path}.{name}" != ".metadata"
    ]
    assert undescribed == []


def test_every_string_and_list_that_a_user_gives_is_bounded() -> None:
    unbounded = [
        path
        for path, node in nodes(SCHEMA["properties"]["spec"])
        if (node.get("type") == "string" and "maxLength" not in node and "enum" not in node)
        or (node.get("type") == "array" and "maxItems" not in node)
    ]
    assert unbounded == []


def test_conditions_are_a_map_by_type() -> None:
    conditions = at(".status.conditions")
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "type" in conditions["items"]["required"]


def test_quantities_are_integers_or_strings() -> None:
    memory = at(".spec.resources.memory")
    assert memory["x-kubernetes-int-or-string"] is True
    assert "type" not in memory
    assert memory["default"] == "2Gi"


def test_every_field_of_the_spec_that_a_run_depends_on_is_immutable() -> None:
    rules = at(".spec")["x-kubernetes-validations"]
    fixed = {rule["fieldPath"].removeprefix(".") for rule in rules if "oldSelf" in rule["rule"]}
    assert fixed == set(at(".spec")["properties"]) - {"suspend", "priority", "statementReview", "regrade"}


def test_rules_name_fields_that_there_are() -> None:
    for path, node in nodes(SCHEMA):
        for rule in node.get("x-kubernetes-validations", []):
            named = rule.get("fieldPath", "").removeprefix(".")
            assert not named or named in node["properties"], path


def test_columns_and_selectors_point_at_fields_that_there_are() -> None:
    paths = {path for path, _ in nodes(SCHEMA)}
    columns = [column["jsonPath"] for column in VERSION["additionalPrinterColumns"]]
    selectable = [field["jsonPath"] for field in VERSION["selectableFields"]]
    assert {*columns, *selectable} - {".metadata.creationTimestamp"} <= paths


def test_the_columns_of_kubectl_get_are_these() -> None:
    columns = VERSION["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == [
        "Verdict",
        "Reason",
        "F2P",
        "P2P",
        "Flaky",
        "Age",
    ]
    assert [column["name"] for column in columns if column.get("priority")] == ["Phase", "Profile", "Image"]


def test_defaults_of_the_schema_are_those_of_the_models() -> None:
    model = v1alpha1.TaskValidationSpec(task_from=v1alpha1.TaskFrom(dataset="d", id="i", digest="0" * 64))
    told = v1alpha1.to_wire(model)
    given_by_schema = {
        name: field["default"] for name, field in at(".spec")["properties"].items() if "default" in field
    }
    assert given_by_schema == {name: value for name, value in told.items() if name != "taskFrom"}


@given(st.from_regex(IMAGE, fullmatch=True).filter(str.isascii))
def test_the_schemas_grammar_of_images_takes_what_the_domains_takes(reference: str) -> None:
    assert re.fullmatch(_image_pattern(), reference)


@given(st.text(alphabet="aZ0.-_/:@[]s", max_size=30))
@example("Z/0")
@example("[a]/0")
def test_the_schemas_grammar_of_images_refuses_what_the_domains_refuses(reference: str) -> None:
    assert bool(re.fullmatch(_image_pattern(), reference)) == bool(IMAGE.fullmatch(reference))


def _image_pattern() -> str:
    """The regular expression as the API server sees it: a CEL string literal's backslashes resolved."""
    return v1alpha1.IMAGE_REFERENCE.replace("\\\\", "\\")


def test_the_repository_holds_what_the_models_say() -> None:
    assert stale_files(ROOT) == []


def test_a_stale_file_is_found_and_written(tmp_path: Any) -> None:
    assert write_files(tmp_path) == list(generated_files())
    assert stale_files(tmp_path) == []
    (tmp_path / "docs/api.md").write_text("old")
    (tmp_path / "crds/assay.dev_taskvalidations.yaml").unlink()
    assert stale_files(tmp_path) == ["crds/assay.dev_taskvalidations.yaml", "docs/api.md"]


def test_the_generated_yaml_is_the_definition() -> None:
    files = generated_files()
    assert yaml.safe_load(files["crds/assay.dev_taskvalidations.yaml"]) == DEFINITION
    assert files["charts/assay/crds/assay.dev_taskvalidations.yaml"] == files["crds/assay.dev_taskvalidations.yaml"]


def test_the_reference_has_a_row_for_every_field() -> None:
    text = reference_of([crd_of(model) for model in PRESENTATIONS])
    for path, node in nodes(SCHEMA):
        for name in node.get("properties", {}) if path else ():
            assert f"| `{name}` |" in text
    assert "### spec.task.tests" in text
    assert "### status.runs[]" in text


@pytest.mark.parametrize(
    ("field", "printed"),
    [
        ("unpatched", "| `unpatched` | integer (1 … 20) | `3` |"),
        ("commands", "| `commands` | list of string (1 … 20000 characters) (1 … 50 items) | **required** |"),
        ("memory", '| `memory` | quantity | `"2Gi"` |'),
        ("decision", "| `decision` | `Accepted` \\| `Rewritten` \\| `Rejected` | **required** |"),
    ],
)
def test_the_reference_tells_type_bounds_and_default(field: str, printed: str) -> None:
    lines = [line for line in reference_of([DEFINITION]).splitlines() if line.startswith(f"| `{field}` |")]
    assert any(line.startswith(printed) for line in lines), lines
