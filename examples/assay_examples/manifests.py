"""From a built example to the TaskValidation that a user applies.

A patch that is valid UTF-8 goes in as text, any other as base64. The YAML reads back to the same bytes, which
`manifest_text` itself makes sure of.
"""

import base64
import re
from typing import Any

import yaml

from assay_examples.images import WORKDIR, Example
from assay_examples.recipes import Recipe

API_VERSION = "assay.dev/v1alpha1"
MISSING_IMAGE = "assay-examples/never-pushed:none"
_BLOCK = re.compile(r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd]*\n")


def image_reference(example: Example, *, registry: str) -> str:
    """The reference that the example's image is pushed and pulled under."""
    if example.image is None:
        return f"{registry}/{MISSING_IMAGE}"
    return f"{registry}/assay-examples/{example.image.name}:{example.image.tag}"


def manifest_of(example: Example, *, registry: str) -> dict[str, Any]:
    """The example's TaskValidation as JSON-like data."""
    recipe = example.recipe
    tests: dict[str, Any] = {"commands": list(recipe.commands), "parser": recipe.parser}
    if recipe.fail_to_pass:
        tests["failToPass"] = list(recipe.fail_to_pass)
    if recipe.pass_to_pass:
        tests["passToPass"] = list(recipe.pass_to_pass)
    task = {
        "id": f"examples/{recipe.name}",
        "repo": recipe.upstream.package if recipe.upstream else "examples/own",
        "baseCommit": example.base_commit,
        "language": recipe.language,
        "image": image_reference(example, registry=registry),
        "workdir": WORKDIR,
        "statement": recipe.statement,
        **_patch_field("patch", example.reference_patch),
        **_patch_field("testPatch", example.test_patch),
        "tests": tests,
    }
    expected = recipe.expected
    return {
        "apiVersion": API_VERSION,
        "kind": "TaskValidation",
        "metadata": {
            "name": recipe.name,
            "labels": {"examples.assay.dev/origin": "upstream" if recipe.upstream else "own"},
            "annotations": {"examples.assay.dev/expected": f"{expected.verdict}/{expected.reason or ''}".rstrip("/")},
        },
        "spec": {
            "task": task,
            "runs": {
                "pristine": recipe.runs.pristine,
                "unpatched": recipe.runs.unpatched,
                "patched": recipe.runs.patched,
            },
            "timeouts": {"setup": f"{recipe.limits.setup}s", "test": f"{recipe.limits.test}s"},
            "resources": {"memory": recipe.limits.memory},
            **({"checks": list(recipe.checks)} if recipe.checks else {}),
            **_go_policy(recipe),
        },
    }


def _go_policy(recipe: Recipe) -> dict[str, Any]:
    """What a Go release's own code is called: by its module path, and by its repository's name in forks."""
    if recipe.language != "go" or recipe.upstream is None:
        return {}
    module = recipe.upstream.package
    return {"goPolicy": {"owned": [module], "forkNames": [module.split("/")[2].lower()]}}


def _patch_field(name: str, patch: bytes) -> dict[str, str]:
    """The patch as text; in base64 when it is not UTF-8 or holds U+FFFD, which the operator takes for a lost byte."""
    text = patch.decode("utf-8", "replace")
    if "\ufffd" in text:
        return {f"{name}Base64": base64.b64encode(patch).decode("ascii")}
    return {name: text}


class _Dumper(yaml.SafeDumper):
    """Literal blocks wherever YAML itself allows them; PyYAML alone would quote every text that has a tab."""

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        if _BLOCK.fullmatch(scalar) and not scalar.startswith((" ", "\t", "\n")):
            analysis.allow_block = True
        return analysis


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def manifest_text(manifest: dict[str, Any]) -> str:
    """The manifest as YAML; ValueError should it not read back to the same value."""
    text = yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)
    if yaml.safe_load(text) != manifest:
        raise ValueError("the YAML does not read back to the manifest")
    return text
