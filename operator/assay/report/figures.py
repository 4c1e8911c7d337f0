"""Figures of a report as SVG text: pure, no library, colours by the page's own variables so that light and dark work."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 520
BAR = 26
GAP = 8
LABEL = 215


def bars(steps: Sequence[tuple[str, int, str, str]], *, title: str) -> str:
    """Return horizontal bars of (label, count, link, colour class), the longest as wide as the figure.

    ``link`` is a fragment such as ``#reason-x``, empty for none; colour classes are the page's.
    """
    most = max((count for _, count, _, _ in steps), default=0) or 1
    height = len(steps) * (BAR + GAP) + GAP
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" class="bars">',
        f"<title>{escape(title)}</title>",
    ]
    for place, (label, count, link, colour) in enumerate(steps):
        parts.append(_bar(label, count, link, colour, y=GAP + place * (BAR + GAP), share=count / most))
    return "".join([*parts, "</svg>"])


def _bar(label: str, count: int, link: str, colour: str, *, y: int, share: float) -> str:  # noqa: PLR0913 - a bar's parts
    room = WIDTH - LABEL - 70
    width = max(2.0, share * room) if count else 0.0
    middle = y + BAR / 2 + 5
    inner = (
        f'<text x="{LABEL - 10}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}" rx="4" class="{colour}"/>'
        f'<text x="{LABEL + width + 8:.1f}" y="{middle:.0f}" class="number">{count:,}</text>'
    )
    return f'<a href="{escape(link)}">{inner}</a>' if link else inner


def histogram(values: Sequence[float], *, title: str, unit: str, bins: int = 24) -> str:
    """Return a histogram of values (all >= 0) with its axis's ends written out."""
    height, base = 150, 120
    most = max(values, default=0.0) or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int(value / most * bins))] += 1
    tallest = max(counts) or 1
    step = WIDTH / bins
    columns = [
        f'<rect x="{place * step + 1:.1f}" y="{base - count / tallest * 105:.1f}" width="{step - 2:.1f}"'
        f' height="{count / tallest * 105:.1f}" rx="2" class="neutral"><title>'
        f"{count} between {place * most / bins:.1f} and {(place + 1) * most / bins:.1f} {escape(unit)}</title></rect>"
        for place, count in enumerate(counts)
        if count
    ]
    axis = (
        f'<line x1="0" x2="{WIDTH}" y1="{base}" y2="{base}" class="axis"/>'
        f'<text x="0" y="{base + 20}">0</text>'
        f'<text x="{WIDTH}" y="{base + 20}" text-anchor="end">{most:.1f} {escape(unit)}</text>'
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" class="bars">'
        f"<title>{escape(title)}</title>{''.join(columns)}{axis}</svg>"
    )
