"""Images into a registry: copied by skopeo, left alone when the registry has them already."""

import urllib.error
import urllib.request
from pathlib import Path

from assay_examples.commands import output_of
from assay_examples.images import Image

_ACCEPT = "application/vnd.oci.image.manifest.v1+json"


def push_image(layout: Path, image: Image, *, registry: str) -> bool:
    """Copy the image to a registry that speaks plain HTTP; False when its manifest was there already."""
    if _has_manifest(registry, image):
        return False
    target = f"docker://{registry}/assay-examples/{image.name}:{image.tag}"
    output_of(["skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"oci:{layout}:{image.name}", target])
    return True


def _has_manifest(registry: str, image: Image) -> bool:
    url = f"http://{registry}/v2/assay-examples/{image.name}/manifests/{image.tag}"
    request = urllib.request.Request(url, method="HEAD", headers={"Accept": _ACCEPT})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=10) as answer:
            return bool(answer.headers.get("Docker-Content-Digest") == image.digest)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return False
        raise
