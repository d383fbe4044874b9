"""Scatter plots as SVG; the style of the page gives them their colours."""

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 12, 12, 48


def scatter(series: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str) -> str:
    """Points (x, y) of each name, both axes from 0; the first series has the page's first colour, etc."""
    points = [point for each in series.values() for point in each if not any(map(math.isnan, point))]
    x_ticks = ticks(max((x for x, _ in points), default=1.0))
    y_ticks = ticks(max((y for _, y in points), default=1.0))

    def across(x: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * x / x_ticks[-1]

    def down(y: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * y / y_ticks[-1]

    floor, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y_label)} against {escape(x_label)}">'
    ]
    for y in y_ticks:
        parts.append(f'<path class="grid" d="M{_LEFT} {down(y):.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    parts += [
        f'<text x="{across(x):.1f}" y="{floor + 18}" text-anchor="middle">{x:g}</text>' for x in x_ticks
    ]
    parts.append(f'<path class="axis" d="M{_LEFT} {floor}H{right}"/>')
    for number, each in enumerate(series.values(), start=1):
        parts.append(f'<g class="series-{number}">')
        parts += [
            f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3"/>'
            for x, y in each
            if not math.isnan(x) and not math.isnan(y)
        ]
        parts.append("</g>")
    parts.append(
        f'<text x="{(_LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>'
    )
    middle = (_TOP + floor) / 2
    parts.append(
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    return "".join([*parts, "</svg>"])


def ticks(highest: float, most: int = 6) -> list[float]:
    """Round numbers from 0 to just above the highest value."""
    rough = max(highest, 1e-9) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [round(step * place, 10) for place in range(math.ceil(highest / step - 1e-9) + 1)]
