"""inspect.sh on what is packed: gems, jars, wheels, zips in testdata, and the go command's build cache."""

from __future__ import annotations

import io
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from job_templates.test_inspect_sh import SHELLS, SOLUTION, Image, image, shell

__all__ = ["image", "shell"]
NEEDED = ("sh", "git", "find", "grep", "sort", "uniq", "head", "xargs", "mktemp", "rm", "cat", "date")
OWN = "example.org/Own/lib"


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tarred(mode: str, **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def put(image: Image, path: str, content: bytes) -> Path:
    image.write(path)
    (image.root / path).write_bytes(content)
    return image.root / path


PACKED: dict[str, Callable[[str], bytes]] = {
    "usr/share/java/lib-2.0-sources.jar": lambda text: zipped(**{"org/Lib.java": text}),
    "usr/lib/python3/lib-2.0-py3-none-any.whl": lambda text: zipped(**{"lib/a.py": "x = 1\n", "lib/b.py": text}),
    "root/go/pkg/mod/cache/download/example.org/fork/@v/v2.0.0.zip": lambda text: zipped(**{"f@v2.0.0/lib.go": text}),
    "var/lib/gems/cache/lib-2.0.gem": lambda text: tarred(
        "w", **{"metadata.gz": b"", "data.tar.gz": tarred("w:gz", **{"lib/lib.rb": text.encode()})}
    ),
    "root/.cargo/registry/cache/lib-2.0.0.crate": lambda text: tarred("w:gz", **{"lib/src/lib.rs": text.encode()}),
    "srv/lib-2.0.tar.xz": lambda text: tarred("w:xz", **{"lib/lib.c": text.encode()}),
    "work/dist/lib-2.0.tar.gz": lambda text: tarred("w:gz", **{"lib/lib.py": text.encode()}),
}


@pytest.mark.parametrize("place", PACKED)
def test_a_packed_newer_release_that_holds_the_solution_is_found(image: Image, shell: list[str], place: str) -> None:
    file = put(image, place, PACKED[place](SOLUTION))
    (copy,) = image.inspected(shell).solution_copies()
    assert file.name == Path(copy).name


@pytest.mark.parametrize("place", PACKED)
def test_an_archive_that_shares_a_line_by_chance_is_no_copy(image: Image, place: str) -> None:
    put(image, place, PACKED[place](SOLUTION.splitlines()[1]))
    assert image.inspected(SHELLS[0]).solution_copies() == []


def test_an_archive_of_the_base_itself_is_no_newer_release(image: Image, shell: list[str]) -> None:
    put(image, "work/fixtures/a.zip", zipped(**{"lib.go": SOLUTION}))
    image.git("add", ".")
    image.commit("a fixture")
    assert image.inspected(shell).solution_copies() == []


def test_a_broken_archive_holds_nothing_up(image: Image, shell: list[str]) -> None:
    for name in ("a.zip", "b.gem", "c.tar.gz", "d.tar.xz", "e.tar.bz2"):
        put(image, f"srv/{name}", b"no archive at all")
    put(image, "srv/lib.whl", zipped(**{"lib.go": SOLUTION}))
    found = image.inspected(shell)
    assert (found.complete, found.missing, found.cut) == (True, (), ())
    assert [Path(copy).name for copy in found.solution_copies()] == ["lib.whl"]


@pytest.mark.parametrize("limit", ["ASSAY_INSPECT_ARCHIVES", "ASSAY_INSPECT_SECONDS", "ASSAY_INSPECT_BLOCKS"])
def test_archives_beyond_the_bounds_are_told_and_pass_for_no_clean_image(
    image: Image, shell: list[str], limit: str
) -> None:
    put(image, "srv/lib.whl", zipped(**{"lib.go": SOLUTION}))
    put(image, "work/testdata/a.zip", zipped(**{"a/go.mod": f"module {OWN}\n"}))
    found = image.inspected(shell, **{limit: "0"})
    assert found.cut == ("archive", "testzip")
    assert (found.solution_copies(), found.own_copies()) == ([], [])


@pytest.mark.parametrize("opener", ["unzip", "python3", "perl", "busybox", None])
def test_a_zip_is_opened_by_what_the_image_has_or_told(image: Image, tmp_path: Path, opener: str | None) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in (*NEEDED, *([opener] if opener else [])):
        program = Path(sys.executable).resolve() if name == "python3" else Path(str(shutil.which(name)))
        (programs / name).symlink_to(program)
    put(image, "srv/lib.whl", zipped(**{"a.go": "package a\n", "lib.go": SOLUTION}))
    put(image, "work/testdata/a.zip", zipped(**{"lib-main/lib.go": "x\n", "lib-main/go.mod": f"module {OWN}\n"}))
    found = image.inspected([str(programs / "sh")], PATH=str(programs))
    assert found.complete
    if opener is None:
        assert found.cut == ("archive", "testzip")
        return
    assert [Path(copy).name for copy in found.solution_copies()] == ["lib.whl"]
    assert [(held.module, Path(held.place).name) for held in found.own_copies()] == [(OWN, "a.zip")]


@pytest.mark.parametrize(
    "names",
    [
        [f"{OWN}@v1.2.3/lib.go"],
        [f"{OWN}/v2@v2.0.0-rc.1/lib.go"],
        ["root/go/pkg/mod/cache/download/example.org/!own/lib/@v/v1.2.3.zip", f"example.org/own/LIB@v1.2.3/{'a' * 9}"],
        ["lib-main/a.go", "lib-main/go.mod"],
    ],
)
def test_the_tasks_own_module_is_found_in_a_zip_in_testdata(image: Image, shell: list[str], names: list[str]) -> None:
    texts = {name: f"module {OWN}\n" if name.endswith("go.mod") else "package lib\n" for name in names}
    put(image, "work/internal/testdata/vendored.zip", zipped(**texts))
    put(image, "work/testdata/other.zip", zipped(**{"example.org/other@v1.0.0/go.mod": "module example.org/other\n"}))
    held = image.inspected(shell).own_copies()
    assert {Path(one.place).name for one in held} == {"vendored.zip"}
    assert all(one.module.lower().startswith(OWN.lower()) for one in held)


def test_the_tasks_own_module_is_found_in_the_build_cache(image: Image, shell: list[str]) -> None:
    cache = "root/.cache/go-build"
    image.write(f"{cache}/trim.txt", "1700000000")
    put(
        image,
        f"{cache}/0a/0a12-d",
        b"\x00go object\x00/work/lib.go\x00/root/go/pkg/mod/example.org/other@v1.0.0/a.go\x00",
    )
    assert image.inspected(shell).own_copies() == []
    put(image, f"{cache}/1b/1b34-d", b"\x00\x01/root/go/pkg/mod/example.org/!own/lib@v1.4.0/lib.go\x00\xff")
    (held,) = image.inspected(shell).own_copies()
    assert (held.module, held.version, held.place.endswith(cache)) == (OWN, "v1.4.0", True)


def test_a_build_cache_made_without_paths_tells_the_module_too(image: Image) -> None:
    image.write("tmp/cache/trim.txt")
    put(image, "tmp/cache/1b/1b34-d", b"\x00example.org/Own/lib/v3@v3.0.1/lib.go\x00")
    (held,) = image.inspected(SHELLS[0]).own_copies()
    assert (held.module, held.version) == (f"{OWN}/v3", "v3.0.1")


def x_task(image: Image) -> None:
    """Make the task one on golang.org/x/tools, with a Go distribution that vendors packages of it."""
    image.write("work/go.mod", "module golang.org/x/tools\n")
    image.commit("another name")
    image.write("usr/local/go/VERSION", "go1.26.8\n")
    image.write("usr/local/go/src/cmd/vendor/modules.txt", "# golang.org/x/tools v0.30.0\n## explicit\n")
    image.write("usr/local/go/src/vendor/modules.txt", "# golang.org/x/net v0.30.0\n")


def test_what_a_go_distribution_vendors_is_no_copy_while_it_lacks_the_solution(image: Image, shell: list[str]) -> None:
    x_task(image)
    found = image.inspected(shell)
    assert [held.module for held in found.modules] == ["golang.org/x/tools", "golang.org/x/net"]
    assert found.own_copies() == []


def test_what_a_go_distribution_vendors_is_a_copy_when_it_holds_the_solution(image: Image, shell: list[str]) -> None:
    x_task(image)
    image.write("usr/local/go/src/cmd/vendor/golang.org/x/tools/lib.go", SOLUTION)
    (held,) = image.inspected(shell).own_copies()
    assert (held.module, held.version) == ("golang.org/x/tools", "v0.30.0")


def test_a_folder_that_is_no_go_distribution_is_not_excused(image: Image, shell: list[str]) -> None:
    x_task(image)
    (image.root / "usr/local/go/VERSION").unlink()
    assert [held.module for held in image.inspected(shell).own_copies()] == ["golang.org/x/tools"]
