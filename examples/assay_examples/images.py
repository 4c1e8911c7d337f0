"""From a recipe to a built example: the base tree in an image, its commit, and the two patches.

Steps for an upstream recipe: fetch both releases, unpack, commit the older one, split what changed, for Go fill the module
cache from the base alone and compile once, stack the layers. Each result is kept under the hash of its inputs.
"""

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay_examples.artefacts import artefact, unpack
from assay_examples.caches import content_key, fresh_directory, tree_key
from assay_examples.commands import output_of
from assay_examples.layers import Layer, Say, base_layer, go_layer, package_layer, run_in
from assay_examples.oci import Layout
from assay_examples.patches import commit_base, split_patches
from assay_examples.plants import plant
from assay_examples.recipes import Recipe, Upstream
from assay_examples.sandbox import IMAGE_ENVIRONMENT

WORKDIR = "/testbed"
OWN_IMAGE = "own"
_RECIPE = 1  # raise when a task built from the same inputs comes out different


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of the layout: its name there, the tag it is pushed under, its manifest's digest, its layers' trees."""

    name: str
    tag: str
    digest: str
    layers: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A recipe together with what was built from it; `image` is None for the task whose image is missing."""

    recipe: Recipe
    image: Image | None
    base_commit: str
    test_patch: bytes
    reference_patch: bytes


class Workshop:
    """Builds examples in one cache. Steps that several recipes share run once."""

    def __init__(self, examples: Path, cache: Path, *, say: Say) -> None:
        self.examples = examples
        self.cache = cache
        self.say = say
        self.layout = Layout(cache / "oci")

    def example_of(self, recipe: Recipe) -> Example:
        """Build, or find, everything that the recipe names."""
        folder = self._task(recipe)
        source = folder if recipe.upstream else recipe.folder
        patches = [(source / f"{name}.patch").read_bytes() for name in ("test", "reference")]
        planted = [self._plant(recipe, folder, patches)] if recipe.planted else []
        return Example(
            recipe=recipe,
            image=None if recipe.image_missing else self._image(recipe, [folder / "tree", *planted]),
            base_commit=json.loads((folder / "task.json").read_text())["baseCommit"],
            test_patch=patches[0],
            reference_patch=patches[1],
        )

    def _shared_layers(self, recipe: Recipe) -> list[Layer]:
        base = base_layer(self.cache, say=self.say)
        if recipe.language == "go":
            return [base, go_layer(self.cache, base=base, say=self.say)]
        locks = [self.examples / "packages" / f"{name}.txt" for name in ("pytest", *recipe.packages)]
        return [base, *(package_layer(self.cache, lock, base=base, say=self.say) for lock in locks)]

    def _task(self, recipe: Recipe) -> Path:
        """The folder with the task's layer (`tree`), `task.json` and, for upstream recipes, the patches."""
        layers = self._shared_layers(recipe)
        names = [layer.name for layer in layers]
        if recipe.upstream is None:
            source = self.examples / "own" / "tree"
            target = self.cache / "tasks" / f"{OWN_IMAGE}-{content_key(_RECIPE, names, tree_key(source))}"
            if not target.exists():
                with fresh_directory(target) as scratch:
                    shutil.copytree(source, _testbed(scratch), ignore=shutil.ignore_patterns("__pycache__"))
                    _commit(scratch)
            return target
        releases = (recipe.upstream.package, recipe.upstream.before, recipe.upstream.after)
        target = self.cache / "tasks" / f"{recipe.built_as}-{content_key(_RECIPE, names, recipe.language, releases)}"
        if not target.exists():
            self.say(f"building {recipe.name}")
            with fresh_directory(target) as scratch:
                self._build_upstream(recipe, recipe.upstream, scratch, layers=layers)
        return target

    def _build_upstream(self, recipe: Recipe, upstream: Upstream, scratch: Path, *, layers: list[Layer]) -> None:
        with tempfile.TemporaryDirectory(dir=scratch.parent) as temporary:
            folders = [Path(temporary) / name for name in ("before", "after")]
            for folder, release in zip(folders, (upstream.before, upstream.after), strict=True):
                folder.mkdir()
                archive = artefact(self.cache, language=recipe.language, package=upstream.package, release=release)
                unpack(archive, folder)
                if recipe.language == "go":
                    _ensure_go_mod(folder, upstream.package)
            work = Path(temporary) / "git"
            work.mkdir()
            test_patch, reference = split_patches(folders[0], folders[1], scratch=work)
            (scratch / "test.patch").write_bytes(test_patch)
            (scratch / "reference.patch").write_bytes(reference)
            if recipe.language == "go":
                _fill_module_cache(folders[0], scratch / "tree")
            shutil.copytree(folders[0], _testbed(scratch), symlinks=True)
        _commit(scratch)
        if recipe.language == "go":
            _warm(scratch / "tree", layers)

    def _plant(self, recipe: Recipe, folder: Path, patches: Sequence[bytes]) -> Path:
        """The tree of a layer that holds the task's solution where the recipe plants it."""
        assert recipe.planted is not None
        target = self.cache / "plants" / f"{recipe.name}-{content_key(_RECIPE, folder.name, recipe.planted, patches)}"
        if not target.exists():
            with fresh_directory(target) as scratch:
                plant(recipe.planted, _testbed(folder), patches, upstream=recipe.upstream, into=scratch / "tree")
        return target / "tree"

    def _image(self, recipe: Recipe, own: Sequence[Path]) -> Image:
        name = recipe.name if recipe.upstream or recipe.planted else OWN_IMAGE
        trees = [*(layer.tree for layer in self._shared_layers(recipe)), *own]
        blobs = [self.layout.pack(tree) for tree in trees]
        digest = self.layout.add_image(name, blobs, env=IMAGE_ENVIRONMENT, workdir=WORKDIR)
        return Image(name=name, tag=digest.partition(":")[2][:12], digest=digest, layers=tuple(trees))


def _testbed(folder: Path) -> Path:
    return folder / "tree" / WORKDIR.lstrip("/")


def _commit(folder: Path) -> None:
    commit = commit_base(_testbed(folder))
    (folder / "task.json").write_text(json.dumps({"baseCommit": commit}))


def _ensure_go_mod(tree: Path, package: str) -> None:
    """Write the go.mod that the go command makes up for a release that has none."""
    if not (tree / "go.mod").exists():
        (tree / "go.mod").write_text(f"module {package}\n")


def _fill_module_cache(base: Path, tree: Path) -> None:
    """Download the modules that the base needs, from a copy: the command may write to go.mod."""
    modules = tree / IMAGE_ENVIRONMENT["GOMODCACHE"].lstrip("/")
    modules.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=tree.parent) as temporary:
        copy = Path(temporary) / "copy"
        shutil.copytree(base, copy, symlinks=True)
        env = {"GOMODCACHE": str(modules), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "off"}
        output_of(["go", "mod", "download"], cwd=copy, env=env)


def _warm(tree: Path, layers: Sequence[Layer]) -> None:
    """Compile the base and its tests once, offline, so that a run starts at once."""
    offline = "GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-mod=readonly"
    run_in(list(layers), tree, f"{offline} go test -count=1 -run '^$' ./... || true", workdir=WORKDIR)
