"""Manifests: what is applied reads back to the same bytes and fits the API's own models."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from assay_examples.images import Example, Image
from assay_examples.manifests import manifest_of, manifest_text
from assay_examples.recipes import load_recipes

from assay.api.v1alpha1 import TaskValidationSpec

EXAMPLES = Path(__file__).parents[2] / "examples"
RECIPES = load_recipes(EXAMPLES)
IMAGE = Image(name="own", tag="0123456789ab", digest="sha256:" + "0" * 64, layers=())


def example(recipe=RECIPES[0], *, patch=b"diff --git a/x b/x\n", test_patch=b"diff --git a/y b/y\n"):
    image = None if recipe.image_missing else IMAGE
    return Example(recipe=recipe, image=image, base_commit="a" * 40, test_patch=test_patch, reference_patch=patch)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_manifest_fits_the_api(recipe):
    manifest = manifest_of(example(recipe), registry="registry.test:5000")
    spec = TaskValidationSpec.model_validate(manifest["spec"])
    assert spec.task is not None
    assert spec.task.image.startswith("registry.test:5000/assay-examples/")
    assert spec.runs.unpatched == recipe.runs.unpatched
    assert spec.checks == recipe.checks


def test_go_releases_say_what_their_own_modules_are():
    policies = {recipe.name: manifest_of(example(recipe), registry="r:1")["spec"].get("goPolicy") for recipe in RECIPES}
    assert policies["semver-3-4-0"] == {"owned": ["github.com/Masterminds/semver/v3"], "forkNames": ["semver"]}
    assert policies["valid"] is None


@pytest.mark.parametrize(
    "patch",
    [
        b"diff --git a/x b/x\n+\ttab\n \n+ trailing \n",
        b"diff --git a/x b/x\n+bare\rreturn\r\n",
        b"diff --git a/x b/x\n+form\x0cfeed and \x1b[31mcolour\x7f\n",
        "diff --git a/x b/x\n+\u2028 \x85 \ufeff \U0001f600 \u00e9\n".encode(),
        b"diff --git a/x b/x\n+no newline at the end",
        b"\n  starts oddly: [x] #\n",
    ],
)
def test_patch_reads_back_byte_for_byte(patch):
    text = manifest_text(manifest_of(example(patch=patch), registry="r:1"))
    assert yaml.safe_load(text)["spec"]["task"]["patch"].encode() == patch


def test_patch_that_is_not_utf8_goes_in_as_base64():
    task = manifest_of(example(test_patch=b"+J\xfcrgen\n"), registry="r:1")["spec"]["task"]
    assert base64.b64decode(task["testPatchBase64"]) == b"+J\xfcrgen\n"
    assert "testPatch" not in task
    assert "patch" in task


def test_patch_that_holds_the_replacement_character_goes_in_as_base64():
    task = manifest_of(example(test_patch="+\ufffd\n".encode()), registry="r:1")["spec"]["task"]
    assert base64.b64decode(task["testPatchBase64"]).decode() == "+\ufffd\n"


def test_go_patch_with_tabs_stays_readable():
    text = manifest_text(manifest_of(example(patch=b"diff --git a/x b/x\n+\tif x {\n"), registry="r:1"))
    assert "    patch: |\n      diff --git a/x b/x\n      +\tif x {\n" in text


def test_declared_lists_are_left_out_where_they_are_derived():
    recipe = replace(RECIPES[0], fail_to_pass=(), pass_to_pass=("tests/a.py::b",))
    tests = manifest_of(example(recipe), registry="r:1")["spec"]["task"]["tests"]
    assert "failToPass" not in tests
    assert tests["passToPass"] == ["tests/a.py::b"]
