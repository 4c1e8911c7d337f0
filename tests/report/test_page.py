"""The page in a real browser: it fits a telephone, it is drawn in light and in dark, and nothing in it is amiss."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from assay.report.documents import html_of
from report.test_quality import MADE, batch

pytestmark = [pytest.mark.runners, pytest.mark.timeout(300)]
CHROMIUM = (
    "chromium",
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--virtual-time-budget=2000",
)
PHONE = 500
"""Width in pixels: a browser without a head goes no narrower."""
WIDTH = "<script>document.title = 'widths ' + document.documentElement.scrollWidth + ' ' + innerWidth</script>"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(html_of(batch(), **MADE))
    return path


def chromium(page: Path, *options: str) -> str:
    """Open a page, and return what the browser prints."""
    home = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        (*CHROMIUM, home, *options, page.as_uri()), text=True, capture_output=True, check=True, timeout=200
    )
    return done.stdout


def colours(picture: Path) -> list[tuple[int, int, int]]:
    """The colours of every twentieth pixel of a PNG of 8 bits a channel, line by line."""
    content, place, data = picture.read_bytes(), 8, b""
    width = height = channels = 0
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        body = content[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, form = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            channels = {2: 3, 6: 4}[form]
        data += body if kind == b"IDAT" else b""
        place += length + 12
    lines = unfiltered(zlib.decompress(data), width * channels, height, channels)
    return [
        (line[at], line[at + 1], line[at + 2])
        for line in lines[::20]
        for at in range(0, width * channels, 20 * channels)
    ]


def unfiltered(data: bytes, row: int, height: int, step: int) -> list[bytearray]:
    """The lines of a PNG, its five filters undone."""
    lines: list[bytearray] = []
    before = bytearray(row)
    for number in range(height):
        start = number * (row + 1)
        kind, line = data[start], bytearray(data[start + 1 : start + 1 + row])
        for at in range(row):
            left, up = line[at - step] if at >= step else 0, before[at]
            corner = before[at - step] if at >= step else 0
            line[at] = (line[at] + (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]) & 255
        lines.append(line)
        before = line
    return lines


def paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def test_it_is_no_wider_than_a_telephone(page: Path) -> None:
    page.write_text(page.read_text().replace("</body>", f"{WIDTH}</body>"))
    said = chromium(page, f"--window-size={PHONE},900", "--dump-dom")
    found = re.search(r"<title>widths (\d+) (\d+)</title>", said)
    assert found, said[:500]
    wide, window = map(int, found.groups())
    assert window <= PHONE
    assert wide <= window


def test_it_is_drawn_in_light_and_in_dark(page: Path, tmp_path: Path) -> None:
    brightness = {}
    for scheme, options in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        picture = tmp_path / f"{scheme}.png"
        chromium(page, "--window-size=400,300", f"--screenshot={picture}", *options)
        seen = colours(picture)
        assert len(set(seen)) > 3, "more than a blank page"
        brightness[scheme] = sum(map(sum, seen)) / (3 * len(seen))
    assert brightness["light"] > 150
    assert brightness["dark"] < 100


def test_every_link_leads_to_a_place_in_the_page(page: Path) -> None:
    said = chromium(page, "--dump-dom")
    places = set(re.findall(r'id="([^"]+)"', said))
    links = set(re.findall(r'href="#([^"]+)"', said))
    assert links
    assert links <= places, links - places
