"""Certificates by openssl: two authorities, what they sign, and the kubeconfigs made of it.

The front-proxy authority signs only the API server's own client certificate for aggregated APIs: were it the cluster's
authority, any client certificate could pose as the front proxy.
"""

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from plan import API_SERVICE_ADDRESS, NODE_NAME, Plan

_DAYS = "3650"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_NAMES_OF_API = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """One certificate to sign: who it is (common name, group) and where it may serve."""

    file: str
    name: str
    group: str = ""
    serves: tuple[str, ...] = ()
    authority: str = "ca"


@dataclass(frozen=True, slots=True)
class Client:
    """A component that talks to the API server by a kubeconfig of its own."""

    file: str
    name: str
    group: str = ""


CLIENTS = (
    Client("admin", "assay-admin", "system:masters"),
    Client("controller-manager", "system:kube-controller-manager"),
    Client("scheduler", "system:kube-scheduler"),
    Client("kubelet", f"system:node:{NODE_NAME}", "system:nodes"),
    Client("kube-proxy", "system:kube-proxy"),
    Client("kube-router", "kube-router", "system:masters"),
    Client("kwok", "kwok", "system:masters"),
)


def make_pki(plan: Plan) -> None:
    """Make all keys, certificates and kubeconfigs of a cluster."""
    pki = plan.layout.pki
    pki.mkdir(mode=0o700, parents=True)
    for authority in ("ca", "front-proxy-ca"):
        _make_authority(pki, authority)
    for certificate in _certificates(plan):
        _sign(pki, certificate)
    _make_service_account_key(pki)
    for client in CLIENTS:
        _write_kubeconfig(plan, client, pki / f"{client.file}.kubeconfig")
    _write_kubeconfig(plan, CLIENTS[0], plan.layout.kubeconfig)


def _certificates(plan: Plan) -> tuple[Certificate, ...]:
    here = (f"IP:{plan.node_address}", "IP:127.0.0.1", "DNS:localhost")
    api = (*here, f"IP:{API_SERVICE_ADDRESS}", *(f"DNS:{name}" for name in _NAMES_OF_API))
    return (
        Certificate(file="apiserver", name="kube-apiserver", serves=api),
        Certificate(file="kubelet-server", name=f"system:node:{NODE_NAME}", group="system:nodes", serves=here),
        Certificate(file="apiserver-kubelet-client", name="kube-apiserver-kubelet-client", group="system:masters"),
        Certificate(file="front-proxy-client", name="front-proxy-client", authority="front-proxy-ca"),
        *(Certificate(file=client.file, name=client.name, group=client.group) for client in CLIENTS),
    )


def _make_authority(pki: Path, name: str) -> None:
    _openssl(
        *("req", "-x509", *_KEY, "-keyout", f"{pki}/{name}.key", "-out", f"{pki}/{name}.crt"),
        *("-days", _DAYS, "-subj", f"/CN=assay-{name}"),
        *("-addext", "keyUsage=critical,keyCertSign,digitalSignature"),
    )


def _sign(pki: Path, certificate: Certificate) -> None:
    subject = (f"/O={certificate.group}" if certificate.group else "") + f"/CN={certificate.name}"
    names = ("-addext", f"subjectAltName={','.join(certificate.serves)}") if certificate.serves else ()
    _openssl(
        *("req", "-x509", *_KEY, "-keyout", f"{pki}/{certificate.file}.key", "-out", f"{pki}/{certificate.file}.crt"),
        *("-CA", f"{pki}/{certificate.authority}.crt", "-CAkey", f"{pki}/{certificate.authority}.key"),
        *("-days", _DAYS, "-subj", subject, *names),
        *("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature"),
        *("-addext", f"extendedKeyUsage={'serverAuth' if certificate.serves else 'clientAuth'}"),
    )


def _make_service_account_key(pki: Path) -> None:
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{pki}/sa.key")
    _openssl("ec", "-in", f"{pki}/sa.key", "-pubout", "-out", f"{pki}/sa.pub")


def _openssl(*arguments: str) -> None:
    subprocess.run(("openssl", *arguments), check=True, capture_output=True)


def _write_kubeconfig(plan: Plan, client: Client, target: Path) -> None:
    pki = plan.layout.pki
    cluster = {"server": plan.server, "certificate-authority-data": _encoded(pki / "ca.crt")}
    user = {
        "client-certificate-data": _encoded(pki / f"{client.file}.crt"),
        "client-key-data": _encoded(pki / f"{client.file}.key"),
    }
    name = f"assay-{plan.name}"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": client.name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": client.name}}],
    }
    target.touch(mode=0o600)
    target.write_text(json.dumps(content, indent=2))


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
