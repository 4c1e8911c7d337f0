"""Where each family keeps the image of a row that names none: tags only, no public row carries a digest."""

from __future__ import annotations

PRIME_PREFIX = "prime/primeintellect/"


def swe_bench(instance: str) -> str:
    """Return SWE-bench's image of an instance; a registry refuses the double underscore of the id."""
    return f"docker.io/swebench/sweb.eval.x86_64.{instance.lower().replace('__', '_1776_')}:latest"


def swe_bench_live(instance: str) -> str:
    """Return SWE-bench-Live's image of an instance for Linux."""
    return f"docker.io/starryzhang/sweb.eval.x86_64.{instance.lower().replace('__', '_1776_')}:latest"


def swe_gym(instance: str) -> str:
    """Return SWE-Gym's image of an instance."""
    return f"docker.io/xingyaoww/sweb.eval.x86_64.{instance.lower().replace('__', '_s_')}:latest"


def multi_swe_bench(org: str, repo: str, number: str) -> str:
    """Return Multi-SWE-bench's image of a pull request."""
    return f"docker.io/mswebench/{org}_m_{repo}".lower() + f":pr-{number}"


def swe_bench_pro(tag: str) -> str:
    """Return SWE-bench Pro's image of a tag."""
    return f"docker.io/jefzda/sweap-images:{tag}"


def swe_rebench_v2(named: str) -> str:
    """Return an image of SWE-rebench V2 at its own registry, also when the row names a mirror."""
    rest = named.removeprefix("docker.io/")
    return f"docker.io/swerebenchv2/{rest.removeprefix(PRIME_PREFIX)}" if rest.startswith(PRIME_PREFIX) else named


def is_windows(image: str) -> bool:
    """Whether an image's name says that it runs on Windows."""
    return "sweb.eval.win" in image
