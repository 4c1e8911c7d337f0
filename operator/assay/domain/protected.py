"""Which paths of a submission are left out: tests, what a test command names, what steers a runner or stands in for it.

A task's reference patch is the measure: a path that it touches is the task's own business and is never protected.  The
list errs on the side of the tests.  ``pyproject.toml``, ``setup.cfg``, ``package.json``, ``Cargo.toml``, ``go.mod`` and
build files hold both dependencies and the runner's configuration; they are left out as a whole, because grading is
offline on the image as it is, so that an honest edit of dependencies costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

from assay.domain.named import NamedPaths
from assay.domain.patches import paths_of
from assay.domain.task import Task


class WhyIgnored(StrEnum):
    """Why a path of a submission is left out."""

    TEST_PATCH = "the test patch touches it"
    IN_THE_WAY = "it stands in the way of a path of the test patch"
    TEST = "it is a test"
    STEERING = "it steers how tests are run"
    NAMED = "a test command names it"
    STAND_IN = "it stands in for the test runner"
    INSTALLED = "it is installed or generated, not source"
    OUTSIDE_LINK = "it is a symbolic link that leaves the work tree"
    SUBMODULE = "it is another repository"


TEST_FOLDERS = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__|__mocks__|__snapshots__|testdata|e2e)/", re.IGNORECASE)
TEST_FILES = re.compile(
    r"(?:^|/)(?:test_[^/]*\.py|[^/]*_tests?\.(?:py|go|rb|exs?|dart|c|cc|cpp|cxx|rs|ml|jl|lua|clj)"
    r"|tests?\.(?:py|rs|jl|ml|lua|php|[cm]?[jt]sx?)|[^/]*[._-](?:test|tests|spec|cy)\.(?:[cm]?[jt]sx?|php|lua|vue)"
    r"|[^/]*(?:Test|Tests|TestCase|Spec|Specs|IT)\.(?:java|kt|kts|scala|groovy|cs|fs|php|swift)|[^/]*_spec\.(?:rb|lua|cr)"
    r"|[^/]*\.t|test_[^/]*\.(?:rb|c|cc|cpp|jl))$"
)
STEERING = """
    conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml noxfile.py .coveragerc
    unittest.cfg nose.cfg .noserc sitecustomize.py usercustomize.py .gitattributes .gitmodules .env .envrc
    package.json deno.json deno.jsonc bunfig.toml .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .swcrc composer.json
    cargo.toml cargo.lock build.rs rust-toolchain rust-toolchain.toml go.mod go.sum go.work go.work.sum
    makefile gnumakefile cmakelists.txt ctestcustom.cmake ctesttestfile.cmake meson.build wscript sconstruct justfile
    pom.xml build.xml settings.xml gradle.properties gradlew gradlew.bat mvnw mvnw.cmd mix.exs rakefile gemfile
    gemfile.lock .rspec project.clj deps.edn package.swift .busted .luacov .rprofile .renviron codeception.yml behat.yml
    directory.build.props directory.build.targets spec_helper.rb rails_helper.rb test_helper.rb test_helper.exs
"""
STEERING_NAMES = frozenset(STEERING.split())
STEERING_PATTERNS = re.compile(
    r"(?:^|/)(?:(?:jest|vitest|vite|karma|ava|playwright|cypress|wdio|nightwatch|babel|jasmine|web-test-runner|protractor)"
    r"\.(?:config|conf|setup|workspace)\.[^/]+|vitest\.workspace\.[^/]+|\.(?:mocharc|nycrc|c8rc|babelrc|taprc|jestrc)[^/]*"
    r"|jest[.-]setup[^/]*|setup-?tests?\.[^/]+|\.?phpunit[^/]*|[^/]*\.(?:pth|runsettings|gradle|gradle\.kts|sbt|egg-link)"
    r"|\.mvn/.*|\.cargo/.*|gradle/wrapper/.*|buildsrc/.*|[^/]*\.(?:dist|egg)-info(?:/.*)?|pest\.php|\.jasmine[^/]*)$",
    re.IGNORECASE,
)
STAND_IN_NAMES = """
    pytest _pytest pluggy iniconfig unittest nose nose2 xdist pytest_cov pytest_asyncio tox doctest exceptiongroup
"""
STAND_INS = frozenset(STAND_IN_NAMES.split())
INSTALLED = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|\.?venv|\.tox|\.nox|__pycache__|\.gradle|vendor/(?:bin|phpunit)"
    r"|\.pytest_cache|\.git-hooks)/|\.py[co]$|(?:^|/)vendor/(?:modules\.txt|autoload\.php)$"
)


class Protection:
    """The protected paths of one task."""

    def __init__(self, task: Task) -> None:
        self._own = frozenset(paths_of(task.patch))
        self._own_roots = frozenset(_root(path) for path in self._own)
        self._tests = frozenset(paths_of(task.test_patch)) - self._own
        self._named = NamedPaths(task.commands)
        self._above = frozenset(above for path in self._tests for above in _folders_of(path))

    def why(self, path: bytes) -> WhyIgnored | None:
        """Return why a path is left out of a submission, None when it is applied."""
        if path in self._own:
            return None
        if path in self._tests:
            return WhyIgnored.TEST_PATCH
        if path in self._above or not self._tests.isdisjoint(_folders_of(path)):
            return WhyIgnored.IN_THE_WAY
        text = path.decode("utf-8", "replace")
        if INSTALLED.search(text):
            return WhyIgnored.INSTALLED
        if text.rpartition("/")[2].lower() in STEERING_NAMES or STEERING_PATTERNS.search(text):
            return WhyIgnored.STEERING
        if self._named.holds(text):
            return WhyIgnored.NAMED
        if (
            _root(path) not in self._own_roots
            and _root(path).removesuffix(b".py").decode("utf-8", "replace") in STAND_INS
        ):
            return WhyIgnored.STAND_IN
        return WhyIgnored.TEST if TEST_FOLDERS.search(text) or TEST_FILES.search(text) else None


def _root(path: bytes) -> bytes:
    return path.split(b"/", 1)[0]


def _folders_of(path: bytes) -> Collection[bytes]:
    """Return every folder above a path."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]
