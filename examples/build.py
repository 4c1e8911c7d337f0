"""Build the examples: `images` fetches and builds, `push` fills a registry, `manifests` writes what to apply.

Everything is kept by content hash under the user's cache directory, so a second call takes about a second.
"""

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from assay_examples.artefacts import ArtefactError  # noqa: E402  the folder above must be importable first
from assay_examples.caches import cache_root, locked  # noqa: E402
from assay_examples.commands import CommandError, check_needs  # noqa: E402
from assay_examples.images import Example, Workshop  # noqa: E402
from assay_examples.manifests import manifest_of, manifest_text  # noqa: E402
from assay_examples.recipes import RecipeError, load_recipes  # noqa: E402
from assay_examples.registry import push_image  # noqa: E402


def say(text: str) -> None:
    print(f"examples: {text}", file=sys.stderr, flush=True)


def build(only: list[str]) -> tuple[Workshop, list[Example]]:
    """Every selected example, built or found in the cache."""
    check_needs("git", "ip", "mmdebstrap", "skopeo", "unshare", "go")
    workshop = Workshop(HERE, cache_root(), say=say)
    started = time.monotonic()
    with locked(cache_root()):
        examples = [workshop.example_of(recipe) for recipe in load_recipes(HERE, only=only)]
    say(f"{len(examples)} examples ready after {time.monotonic() - started:.1f} s")
    return workshop, examples


def push(workshop: Workshop, examples: list[Example], *, registry: str) -> None:
    """Bring every image that the examples use into the registry."""
    images = {example.image.name: example.image for example in examples if example.image}
    for image in images.values():
        pushed = push_image(workshop.layout.root, image, registry=registry)
        say(f"{image.name}:{image.tag} {'pushed' if pushed else 'is there'}")


def write_manifests(examples: list[Example], *, registry: str, out: Path) -> None:
    """One YAML file an example; files of examples that are no more are removed."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.yaml"):
        old.unlink()
    for example in examples:
        text = manifest_text(manifest_of(example, registry=registry))
        (out / f"{example.recipe.name}.yaml").write_text(text, "utf-8")
    say(f"{len(examples)} manifests written to {out}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["images", "push", "manifests"])
    parser.add_argument("--only", default="", help="names of examples, separated by commas (default: all)")
    parser.add_argument("--registry", help="host:port of a registry that speaks plain HTTP")
    parser.add_argument("--out", type=Path, help="the folder for the manifests")
    options = parser.parse_args()
    if options.act in ("push", "manifests") and not options.registry:
        parser.error(f"{options.act} needs --registry")
    if options.act == "manifests" and not options.out:
        parser.error("manifests needs --out")
    try:
        workshop, examples = build([name for name in options.only.split(",") if name])
        if options.act == "push":
            push(workshop, examples, registry=options.registry)
        elif options.act == "manifests":
            write_manifests(examples, registry=options.registry, out=options.out)
    except (ArtefactError, CommandError, RecipeError) as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
