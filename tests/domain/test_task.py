"""The one way in from a spec: what becomes a task, and which field is named when something does not."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api import v1alpha1
from assay.domain.task import (
    IMAGE,
    Limits,
    Refusal,
    Task,
    limits_of,
    limits_with_checks,
    quantity_of,
    seconds_of,
    task_from_spec,
)
from builders import PATCH, TEST_PATCH, make_limits, make_spec


def taken(**fields: object) -> Task | Refusal:
    """Return the task of a spec, with some of the task's fields replaced."""
    task = make_spec(task=fields).task
    assert task is not None
    return task_from_spec(task)


def section(**fields: object) -> v1alpha1.Tests:
    return v1alpha1.Tests.model_construct(
        **{"commands": ("pytest",), "parser": "parse_log_pytest", "fail_to_pass": (), "pass_to_pass": (), **fields}
    )


def test_a_good_spec_becomes_a_task() -> None:
    task = taken(tests=section(commands=("a", "b && c"), fail_to_pass=("t ", "t"), pass_to_pass=("u",)))

    assert isinstance(task, Task)
    assert (task.id, task.repo, task.workdir) == ("acorn__lantern-7", "acorn/lantern", "/lantern")
    assert (task.patch, task.test_patch) == (PATCH.encode(), TEST_PATCH.encode())
    assert task.commands == ("a", "b && c")
    assert (task.fail_to_pass, task.pass_to_pass) == (("t ", "t"), ("u",))


@pytest.mark.parametrize("identifier", ["a/b", "A" * 200, "🦊 x", "instance_Owner__Repo-v1", "-_"])
def test_any_id_is_kept_as_it_is(identifier: str) -> None:
    task = taken(id=identifier)

    assert isinstance(task, Task)
    assert task.id == identifier


def test_patches_are_optional_and_blank_ones_are_none() -> None:
    task = taken(patch=None, test_patch=" \n")

    assert isinstance(task, Task)
    assert (task.patch, task.test_patch) == (b"", b"")


def test_a_patch_in_base64_is_kept_byte_for_byte() -> None:
    patch = PATCH.encode().replace(b"2\n", b"'\xff'\r\n")
    wrapped = base64.encodebytes(patch).decode()

    for text in (wrapped, wrapped.replace("\n", ""), wrapped.replace("\n", "\r\n ")):
        task = taken(patch=None, patch_base64=text)
        assert isinstance(task, Task)
        assert task.patch == patch


def test_a_patch_that_truly_holds_the_replacement_character_is_taken_in_base64() -> None:
    patch = PATCH.replace("return 2", "return '\ufffd'").encode()
    task = taken(patch=None, patch_base64=base64.b64encode(patch).decode())

    assert isinstance(task, Task)
    assert task.patch == patch


@pytest.mark.parametrize(
    ("fields", "field", "why"),
    [
        ({"image": "lantern base"}, "spec.task.image", "'lantern base' is not an image reference"),
        ({"image": "Lantern:base"}, "spec.task.image", "is not an image reference"),
        ({"patch": "do it"}, "spec.task.patch", "is not a git diff"),
        ({"test_patch": PATCH.replace("b/m.py", "b/../m.py")}, "spec.task.testPatch", "outside of the work tree"),
        ({"patch": PATCH + "+\ufffd\n"}, "spec.task.patch", "give the patch as patchBase64"),
        ({"test_patch": PATCH + "+\ufffd\n"}, "spec.task.testPatch", "give the patch as testPatchBase64"),
        ({"patch": None, "patch_base64": "!!!!"}, "spec.task.patchBase64", "is not base64"),
        ({"patch": None, "patch_base64": PATCH}, "spec.task.patchBase64", "is not base64"),
        ({"patch": None, "patch_base64": "YWJ"}, "spec.task.patchBase64", "is not base64"),
        ({"patch": None, "patch_base64": "bm8gZGlmZg=="}, "spec.task.patchBase64", "is not a git diff"),
        ({"patch": PATCH, "patch_base64": "YWJj"}, "spec.task.patchBase64", "excludes patch"),
        ({"tests": section(commands=())}, "spec.task.tests.commands", "at least one command"),
        ({"tests": section(commands=("a", " "))}, "spec.task.tests.commands", "at least one command"),
        (
            {"tests": section(parser="parse_log_pytst")},
            "spec.task.tests.parser",
            "unknown parser 'parse_log_pytst'; nearest: ",
        ),
        ({"tests": section(fail_to_pass=("a", "b", "a"))}, "spec.task.tests.failToPass", "lists 'a' twice"),
        ({"tests": section(pass_to_pass=("z", "z"))}, "spec.task.tests.passToPass", "lists 'z' twice"),
        (
            {"tests": section(fail_to_pass=("a", "b"), pass_to_pass=("c", "b"))},
            "spec.task.tests.passToPass",
            "'b' is in failToPass too",
        ),
    ],
)
def test_what_cannot_be_a_task_is_refused_by_the_name_of_its_field(
    fields: dict[str, object], field: str, why: str
) -> None:
    refusal = taken(**fields)

    assert isinstance(refusal, Refusal)
    assert refusal.field == field
    assert why in refusal.why
    assert str(refusal) == f"{field}: {refusal.why}"


def test_ten_thousand_names_are_looked_at_quickly() -> None:
    names = tuple(f"t{number}" for number in range(10_000))

    refusal = taken(tests=section(fail_to_pass=(*names, "t5")))

    assert isinstance(refusal, Refusal)
    assert refusal.why == "lists 't5' twice"


@pytest.mark.parametrize(
    "image",
    [
        "lantern",
        "lantern:base",
        "acorn/lantern",
        "docker.io/swerebenchv2/burntsushi-toml:431-ad6bff3",
        "swebench/sweb.eval.x86_64.django_1776_django-11099:latest",
        "localhost/a",
        "localhost:5000/a/b/c:T.a_g-1",
        "REGISTRY:5000/a",
        "[::1]:5000/a",
        "host.test/a__b/c.d/e---f@sha256:" + "0" * 64,
        "host.test/a:tag@sha256:" + "f" * 64,
    ],
)
def test_an_image_reference_is_taken(image: str) -> None:
    assert IMAGE.fullmatch(image)


@pytest.mark.parametrize(
    "image",
    [
        "",
        "Lantern",
        "Acorn/lantern",
        "docker.io/Acorn/lantern",
        "a b",
        "a:",
        "a:-x",
        "a:" + "x" * 129,
        "a/",
        "/a",
        "a//b",
        "a/-b",
        "a___b",
        "a..b",
        "https://host.test/a",
        "a@sha256:" + "0" * 63,
        "a@sha256:" + "G" * 64,
        "a@md5:" + "0" * 32,
        "a\n",
        "ü",
    ],
)
def test_what_is_no_image_reference_is_refused(image: str) -> None:
    assert not IMAGE.fullmatch(image)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("1h30m", 5400),
        ("1h2m3s", 3723),
        ("90s", 90),
        ("0s", 0),
        ("", 0),
        ("-5m", 0),
        ("5", 0),
        ("5m1h", 0),
        ("1.5h", 0),
        ("5 m", 0),
        ("10m\n", 0),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("500m", 0.5),
        ("1.5", 1.5),
        ("2Gi", 2.0**31),
        ("1k", 1000.0),
        ("10Gi", 10 * 2.0**30),
        ("1G", 1e9),
        ("1Mi", 2.0**20),
        ("0", 0.0),
        ("", 0.0),
        ("-1", 0.0),
        ("1gb", 0.0),
        ("1e3", 0.0),
        ("Gi", 0.0),
        ("1 Gi", 0.0),
    ],
)
def test_a_quantity_is_a_number(text: str, number: float) -> None:
    assert quantity_of(text) == pytest.approx(number)


def test_limits_are_seconds_and_quantities() -> None:
    spec = make_spec(timeouts=v1alpha1.Timeouts(test="90s"), resources=v1alpha1.Resources(cpu="500m"))

    assert limits_of(spec) == Limits(
        queue=86_400, pull=1_800, setup=600, test=90, cpu="500m", memory="2Gi", ephemeral_storage="10Gi"
    )


@pytest.mark.parametrize("stage", ["queue", "pull", "setup", "test"])
@pytest.mark.parametrize("text", ["0s", "-5m", "soon", "721h", "99999999999999999h"])
def test_a_deadline_that_is_none_is_refused_by_its_name(stage: str, text: str) -> None:
    refusal = limits_of(
        make_spec(timeouts=v1alpha1.Timeouts.model_construct(**{**dict(v1alpha1.Timeouts()), stage: text}))
    )

    assert isinstance(refusal, Refusal)
    assert refusal.field == f"spec.timeouts.{stage}"


@pytest.mark.parametrize(
    ("name", "field"), [("cpu", "cpu"), ("memory", "memory"), ("ephemeral_storage", "ephemeralStorage")]
)
@pytest.mark.parametrize("text", ["0", "much", "-1", ""])
def test_a_quantity_that_is_none_is_refused_by_its_name(name: str, field: str, text: str) -> None:
    resources = v1alpha1.Resources.model_construct(**{**dict(v1alpha1.Resources()), name: text})

    refusal = limits_of(make_spec(resources=resources))

    assert isinstance(refusal, Refusal)
    assert refusal.field == f"spec.resources.{field}"


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_text_gets_a_task_or_a_refusal(image: str, patch: str, encoded: str) -> None:
    task = v1alpha1.Task.model_construct(
        **{
            **dict(make_spec().task or {}),
            "image": image or "a",
            "patch": patch,
            "test_patch": None,
            "test_patch_base64": encoded,
        }
    )

    assert isinstance(task_from_spec(task), Task | Refusal)


@pytest.mark.parametrize(("asked", "left"), [(300, 300), (400, 400), (401, 400), (3600, 400)])
def test_go_offline_shortens_the_deadline_of_a_test_command_and_nothing_else(asked: int, left: int) -> None:
    limits = make_limits(test=asked)
    assert limits_with_checks(limits, [v1alpha1.Check.GO_OFFLINE]) == make_limits(test=left)
    others = [check for check in v1alpha1.Check if check is not v1alpha1.Check.GO_OFFLINE]
    assert limits_with_checks(limits, others) == limits
