"""The directory of a module zip, read from the file with every doubt taken for a fault.

Zip readers differ on files with a comment, with bytes before the first entry or with two directories.  A module zip has
none of these, so such a file is refused instead of being read one way here and another way by the go command.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from assay.domain.goproxy.answers import MAX_BYTES, BadAnswer, ZipListing
from assay.domain.goproxy.targets import Kind

_END = struct.Struct("<4s4H2LH")
_LOCAL_HEADER = b"PK\x03\x04"
_ZIP64_COUNT = 0xFFFF
_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, ValueError, EOFError, RuntimeError)
"""What the zip reader raises on damaged files; NotImplementedError is a RuntimeError."""
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


def zip_listing(path: Path, prefix: str) -> ZipListing | BadAnswer:
    """Read names, unpacked size and ``<prefix>go.mod`` of a zip; a damaged or doubtful one is a BadAnswer."""
    doubt = _doubt(path)
    if doubt is not None:
        return BadAnswer(why=doubt)
    try:
        with zipfile.ZipFile(path) as archive:
            return _listing(archive, prefix)
    except _DAMAGE as error:
        return BadAnswer(why=f"not a whole zip: {error}")


def _doubt(path: Path) -> str | None:
    """Look at the file's both ends: one end record, without a comment, right behind the directory it names."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size < _END.size or file.read(4) != _LOCAL_HEADER:
            return "not a zip"
        file.seek(size - _END.size)
        magic, disk, first_disk, _, count, length, offset, comment = _END.unpack(file.read(_END.size))
    if magic != b"PK\x05\x06" or comment or disk or first_disk:
        return "a zip that does not end with its directory"
    if count != _ZIP64_COUNT and offset + length != size - _END.size:
        return "a zip with bytes that its directory does not account for"
    return None


def _listing(archive: zipfile.ZipFile, prefix: str) -> ZipListing | BadAnswer:
    entries = archive.infolist()
    if any(entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS for entry in entries):
        return BadAnswer(why="a zip with entries that no module zip has")
    names = [entry.orig_filename for entry in entries]
    gomod = _gomod(archive, prefix) if f"{prefix}go.mod" in names else None
    return ZipListing(names=names, unpacked=sum(entry.file_size for entry in entries), gomod=gomod)


def _gomod(archive: zipfile.ZipFile, prefix: str) -> bytes:
    limit = MAX_BYTES[Kind.MOD]
    with archive.open(f"{prefix}go.mod") as file:
        text = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError("its go.mod is too large")
    return text
