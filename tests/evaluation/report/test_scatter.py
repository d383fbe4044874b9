import math
from xml.etree import ElementTree

import pytest

from deshadow.evaluation.report.scatter import HEIGHT, WIDTH, scatter, ticks


def test_every_point_lies_within_the_axes_in_its_place() -> None:
    drawing = scatter({"a": [(0, 0), (50, 20), (math.nan, 3)], "b<": [(100, 40)]}, "share & size", "error")
    root = ElementTree.fromstring(drawing)
    circles = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter("circle")]
    assert len(circles) == 3
    origin, middle, far = circles
    assert middle[0] == pytest.approx((origin[0] + far[0]) / 2)
    assert middle[1] == pytest.approx((origin[1] + far[1]) / 2)
    assert 0 < origin[0] < far[0] <= WIDTH
    assert 0 <= far[1] < origin[1] < HEIGHT


@pytest.mark.parametrize(
    ("highest", "expected"),
    [
        (60, [0, 10, 20, 30, 40, 50, 60]),
        (61, [0, 20, 40, 60, 80]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (13, [0, 2.5, 5, 7.5, 10, 12.5, 15]),
    ],
)
def test_ticks_are_round_and_reach_above_the_highest_value(highest: float, expected: list[float]) -> None:
    assert ticks(highest) == expected


def test_no_points_still_make_a_plot() -> None:
    assert "<svg" in scatter({"a": []}, "x", "y")
    assert ticks(0.0)[0] == 0
