"""Releases are unpacked whole and safely; layers and images come out as OCI asks."""

import hashlib
import io
import json
import tarfile
import zipfile

import pytest
from assay_examples import artefacts
from assay_examples.artefacts import ArtefactError, artefact, unpack
from assay_examples.caches import content_key, fresh_directory, tree_key
from assay_examples.oci import Layout
from assay_examples.recipes import Release
from assay_examples.sandbox import bytes_of


def tar_of(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "nowhere"
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(content), 0o755 if name.endswith(".sh") else 0o600
                archive.addfile(entry, io.BytesIO(content))
    return path


def test_source_distribution_loses_its_leading_folder_and_nested_repositories(tmp_path):
    members = {"p-1/a.py": b"a", "p-1/bin/x.sh": b"x", "p-1/.git/config": b"", "p-1/sub/.git": b"", "p-1/broken": None}
    archive = tar_of(tmp_path / "p.tar.gz", members)
    (tmp_path / "out").mkdir()
    unpack(archive, tmp_path / "out")
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*")}
    assert found == {"a.py", "bin", "bin/x.sh", "broken"}
    assert (tmp_path / "out/broken").is_symlink()
    assert (tmp_path / "out/bin/x.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out/a.py").stat().st_mode & 0o777 == 0o644


def test_module_zip_loses_its_module_path(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("example.test/a/b/v2@v2.0.0/x/y.go", "package x")
    (tmp_path / "out").mkdir()
    unpack(tmp_path / "m.zip", tmp_path / "out")
    assert (tmp_path / "out/x/y.go").read_text() == "package x"


def test_release_that_leaves_its_tree_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(ArtefactError, match="leaves its tree"):
        unpack(tar_of(tmp_path / "p.tar.gz", {"p-1/../../evil": b"x"}), tmp_path / "out")
    assert not (tmp_path / "evil").exists()


def test_artefact_with_another_hash_is_refused_and_not_kept(tmp_path, monkeypatch):
    def fetched(_package, _version, into):
        (into / "x").write_bytes(b"other bytes")
        return into / "x"

    monkeypatch.setattr(artefacts, "_fetch_sdist", fetched)
    release = Release(version="1", sha256=hashlib.sha256(b"the bytes").hexdigest())
    with pytest.raises(ArtefactError, match=r"thing 1 has SHA-256 [0-9a-f]{64}, the recipe"):
        artefact(tmp_path, language="python", package="thing", release=release)
    assert list((tmp_path / "artefacts").iterdir()) == []


def test_artefact_is_fetched_once(tmp_path, monkeypatch):
    calls = []

    def fetched(_package, version, into):
        calls.append(version)
        (into / "x").write_bytes(b"the bytes")
        return into / "x"

    monkeypatch.setattr(artefacts, "_fetch_sdist", fetched)
    release = Release(version="1", sha256=hashlib.sha256(b"the bytes").hexdigest())
    paths = {artefact(tmp_path, language="python", package="thing", release=release) for _ in range(2)}
    assert calls == ["1"]
    assert paths.pop().read_bytes() == b"the bytes"


def test_layer_and_image_agree_with_their_digests(tmp_path):
    tree = tmp_path / "tree"
    (tree / "usr").mkdir(parents=True)
    (tree / "usr/run").write_text("x")
    (tree / "usr/run").chmod(0o755)
    (tree / "usr/link").symlink_to("/usr/run")
    layout = Layout(tmp_path / "oci")
    blob = layout.pack(tree)
    data = (layout.blobs / blob.digest.removeprefix("sha256:")).read_bytes()
    assert blob.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert blob.size == len(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        entries = {entry.name: entry for entry in archive}
    assert list(entries) == ["usr", "usr/link", "usr/run"]
    assert (entries["usr/run"].mode & 0o777, entries["usr/run"].uid) == (0o755, 0)
    assert entries["usr/link"].linkname == "/usr/run"
    digest = layout.add_image("one", [blob], env={"A": "b"}, workdir="/usr")
    assert layout.add_image("one", [blob], env={"A": "b"}, workdir="/usr") == digest
    manifests = json.loads((tmp_path / "oci/index.json").read_text())["manifests"]
    assert [entry["digest"] for entry in manifests] == [digest]
    manifest = json.loads((layout.blobs / digest.removeprefix("sha256:")).read_text())
    config = json.loads((layout.blobs / manifest["config"]["digest"].removeprefix("sha256:")).read_text())
    assert config["rootfs"]["diff_ids"] == [blob.diff_id]
    assert config["config"] == {"Env": ["A=b"], "Cmd": ["/bin/sh"], "WorkingDir": "/usr"}


def test_layer_of_the_same_tree_has_the_same_digest(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a").write_text("a")
    digests = {Layout(tmp_path / name)._pack(tmp_path / "tree").digest for name in ("one", "two")}
    assert len(digests) == 1


def test_failed_build_leaves_nothing_behind(tmp_path):
    def build():
        with fresh_directory(tmp_path / "cache" / "entry") as scratch:
            (scratch / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        build()
    assert list((tmp_path / "cache").iterdir()) == []


def test_keys_change_with_content_and_mode_alone(tmp_path):
    (tmp_path / "a").write_text("a")
    key = tree_key(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").write_text("x")
    assert tree_key(tmp_path) == key
    (tmp_path / "a").chmod(0o755)
    assert tree_key(tmp_path) != key
    assert content_key("a", ["b"]) != content_key("a", "b")


@pytest.mark.parametrize(("quantity", "expected"), [("128Mi", 134217728), ("2Gi", 2147483648), ("1Ki", 1024), ("7", 7)])
def test_bytes_of_a_quantity(quantity, expected):
    assert bytes_of(quantity) == expected
