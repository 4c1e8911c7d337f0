"""The layers that tasks share: a Debian base, Python packages by hash-locked list, the machine's Go toolchain.

Every layer is a plain directory tree in the cache, named by what it was made from. An image is a stack of them, and the
same directories are the lower layers of direct execution.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay_examples.artefacts import ArtefactError
from assay_examples.caches import content_key, file_key, fresh_directory
from assay_examples.commands import output_of
from assay_examples.sandbox import Sandbox

SUITE = "bookworm"
PYTHON = "3.11"
BASE_PACKAGES = "python3,git"
LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
_RECIPE = 1  # raise when a function below builds something else from the same inputs
_WARM_IMPORTS = (
    "bufio",
    "bytes",
    "context",
    "encoding/json",
    "encoding/xml",
    "errors",
    "flag",
    "fmt",
    "html/template",
    "io",
    "io/ioutil",
    "log",
    "log/syslog",
    "math/big",
    "net/http",
    "net/http/httptest",
    "net/url",
    "os",
    "os/exec",
    "path/filepath",
    "reflect",
    "regexp",
    "runtime/debug",
    "sort",
    "strconv",
    "strings",
    "sync",
    "sync/atomic",
    "syscall",
    "testing",
    "testing/iotest",
    "testing/quick",
    "text/tabwriter",
    "text/template",
    "time",
    "unicode/utf8",
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One directory tree of the cache, named by its key."""

    name: str
    tree: Path


def base_layer(cache: Path, *, say: Say) -> Layer:
    """Debian with python3 and git, nothing else."""
    key = content_key("base", _RECIPE, SUITE, BASE_PACKAGES, LEFT_OUT)
    tree = cache / "layers" / f"base-{key}"
    if not tree.exists():
        say("making the Debian base (20 to 90 s)")
        options = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
        with fresh_directory(tree) as scratch:
            output_of(["mmdebstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", *options, SUITE, scratch])
            shutil.rmtree(scratch / "dev")
            (scratch / "dev").mkdir()
            (scratch / "testbed").mkdir()
            (scratch / "etc" / "resolv.conf").write_text("")
    return Layer(name=tree.name, tree=tree)


def package_layer(cache: Path, lock: Path, *, base: Layer, say: Say) -> Layer:
    """The Python packages that a requirements file with hashes names, compiled by the base's own Python."""
    key = content_key("packages", _RECIPE, base.name, file_key(lock))
    tree = cache / "layers" / f"{lock.stem}-{key}"
    if not tree.exists():
        say(f"installing the Python packages of {lock.name}")
        with fresh_directory(tree) as scratch:
            _install(lock, scratch / SITE)
            (scratch / "usr/local/bin").mkdir(parents=True)
            (scratch / "usr/local/bin/python").symlink_to("/usr/bin/python3")
            run_in([base], scratch, f"python3 -m compileall -q --invalidation-mode unchecked-hash /{SITE}")
    return Layer(name=tree.name, tree=tree)


def _install(lock: Path, into: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--require-hashes"]
    chosen = ["--only-binary", ":all:", "--python-version", PYTHON, "--root-user-action", "ignore"]
    output_of([*pip, *chosen, "--target", into, "--requirement", lock])


def go_layer(cache: Path, *, base: Layer, say: Say) -> Layer:
    """The machine's Go toolchain without its own tests, its build cache warm for the standard library."""
    version = output_of(["go", "env", "GOVERSION"]).decode().strip()
    key = content_key("go", _RECIPE, base.name, version, _WARM_IMPORTS)
    tree = cache / "layers" / f"go-{key}"
    if not tree.exists():
        say(f"copying the toolchain {version} and warming its build cache (about 90 s)")
        root = Path(output_of(["go", "env", "GOROOT"]).decode().strip())
        with fresh_directory(tree) as scratch:
            shutil.copytree(root, scratch / "usr/local/go", symlinks=True, ignore=_not_needed_of(root))
            _warm_standard_library(base, scratch)
    return Layer(name=tree.name, tree=tree)


def _not_needed_of(root: Path) -> Callable[[str, list[str]], set[str]]:
    """What an image of ours leaves out of a Go toolchain: its tests, their data and its documents."""

    def ignored(folder: str, names: list[str]) -> set[str]:
        unwanted = {name for name in names if name == "testdata" or name.endswith("_test.go")}
        return unwanted | ({"test", "api", "doc", "misc"} & set(names) if Path(folder) == root else set())

    return ignored


def _warm_standard_library(base: Layer, tree: Path) -> None:
    imports = "".join(f'import _ "{name}"\n' for name in _WARM_IMPORTS)
    folder = tree / "warm"
    folder.mkdir()
    (folder / "go.mod").write_text("module warm\n\ngo 1.20\n")
    (folder / "warm_test.go").write_text(
        f"package warm\n\n{imports}\nfunc TestNothing(t *testing.T) {{}}\n".replace(
            'import _ "testing"', 'import "testing"'
        )
    )
    run_in([base], tree, "GOTOOLCHAIN=local go test -count=1 ./...", workdir="/warm")
    shutil.rmtree(folder)


def run_in(layers: list[Layer], upper: Path, script: str, *, workdir: str = "/") -> bytes:
    """Run a build step offline in a stack of layers, its changes written to `upper`; ArtefactError when it fails."""
    with tempfile.TemporaryDirectory(dir=upper.parent) as scratch:
        sandbox = Sandbox(layers=[layer.tree for layer in layers], upper=upper, scratch=Path(scratch))
        done = sandbox.run(script, workdir=workdir)
    if done.code != 0:
        tail = (done.stdout + done.stderr).decode("utf-8", "replace")[-2000:]
        raise ArtefactError(f"a build step failed with {done.code}: {script}\n{tail}")
    return done.stdout
