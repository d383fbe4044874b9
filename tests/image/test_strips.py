"""Pictures that are computed strip by strip are those that are computed at once."""

import numpy as np
import pytest
from PIL import Image

from deshadow.image.filters import Upsampled, resize
from deshadow.image.strips import ComputedPicture, cut, find_span, for_each_strip, insert


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


@pytest.mark.parametrize(
    ("height", "width", "multiple"), [(1, 1, 1), (999, 701, 1), (999, 701, 7), (3, 90_000, 2)]
)
def test_strips_cover_every_row_once(height: int, width: int, multiple: int) -> None:
    rows = list[slice]()
    for_each_strip(rows.append, height, width, multiple)
    rows.sort(key=lambda strip: strip.start)
    assert [row for strip in rows for row in range(strip.start, strip.stop)] == list(range(height))
    assert all((strip.stop - strip.start) % multiple == 0 for strip in rows[:-1])


def test_an_error_in_a_strip_is_raised() -> None:
    def fail(rows: slice) -> None:
        if rows.start:
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        for_each_strip(fail, 2000, 1000)


def test_a_computed_picture_reads_like_an_array() -> None:
    whole = noise(400, 500, 3)
    picture = ComputedPicture(whole.shape, lambda rows, columns: whole[rows, columns])
    assert np.array_equal(picture[-50:], whole[-50:])
    assert np.array_equal(picture[7:90, 30:], whole[7:90, 30:])
    assert np.array_equal(np.asarray(picture), whole)


PLACE = slice(20, 310), slice(70, 90)
READS = [(slice(0, 400), slice(0, 500)), (slice(300, 320), slice(0, 75)), (slice(0, 20), slice(0, 500))]


@pytest.mark.parametrize("read", READS)
def test_a_picture_with_a_part_inserted_reads_like_an_array(read: tuple[slice, slice]) -> None:
    whole, part = noise(400, 500, 3), 1 + noise(290, 20, 3)
    picture = insert(whole, part, PLACE)
    expected = whole.copy()
    expected[PLACE] = part
    np.testing.assert_array_equal(picture[read], expected[read])
    np.testing.assert_array_equal(whole, noise(400, 500, 3))


def test_a_cut_is_the_part_of_an_array_or_of_a_computed_picture() -> None:
    whole = noise(400, 500, 3)
    for picture in (whole, ComputedPicture(whole.shape, lambda rows, columns: whole[rows, columns])):
        part = cut(picture, PLACE)
        assert part.shape == (290, 20, 3)
        np.testing.assert_array_equal(np.asarray(part), whole[PLACE])
        np.testing.assert_array_equal(part[5:9, 3:], whole[25:29, 73:90])


@pytest.mark.parametrize("size", [(1201, 1603), (500, 700), (40, 3000)])
@pytest.mark.parametrize("small", [(128, 171), (30, 40), (300, 301), (600, 900)])
def test_a_picture_shrinks_in_strips_as_pillow_shrinks_it(
    size: tuple[int, int], small: tuple[int, int]
) -> None:
    field = noise(*size)
    expected = Image.fromarray(field).resize(small[::-1], Image.Resampling.BICUBIC, reducing_gap=3.0)
    np.testing.assert_allclose(resize(field, *small), np.asarray(expected), atol=1e-6)


def test_a_field_is_upsampled_as_pillow_upsamples_it() -> None:
    small = noise(2, 30, 41)
    large = Upsampled(small, 301, 407)
    expected = [
        np.asarray(Image.fromarray(each).resize((407, 301), Image.Resampling.BILINEAR)) for each in small
    ]
    np.testing.assert_allclose(large.read(slice(0, 301)), list(map(np.asarray, expected)), atol=1e-6)
    np.testing.assert_array_equal(
        large.read(slice(50, 90), slice(7, 300)), large.read(slice(0, 301))[:, 50:90, 7:300]
    )


@pytest.mark.parametrize(("height", "width"), [(301, 407), (30, 41), (31, 43)])
def test_outside_its_span_an_upsampled_field_is_0(height: int, width: int) -> None:
    small = np.zeros((2, 30, 41), np.float32)
    small[0, 4:9, 12:20], small[1, 6, 30] = 1, 1
    large = Upsampled(small, height, width)
    for rows in (slice(top, top + 3) for top in range(0, height - 3, 3)):
        for columns in (slice(0, width), slice(width // 3, width // 2), slice(0, 5)):
            field = large.read(rows, columns)
            if span := large.find_span(rows, columns):
                field[..., span.start - columns.start : span.stop - columns.start] = 0
            assert not field.any()
    assert large.find_span(slice(height // 2, height), slice(0, width)) is None
    span = large.find_span(slice(height * 13 // 60, height * 13 // 60 + 3), slice(0, width))
    assert span is not None
    assert 11 <= span.start * 41 / width <= 12
    assert 30.5 <= span.stop * 41 / width <= 32


def test_the_span_of_what_is_inside() -> None:
    assert find_span(np.array([False, True, False, True, False])) == slice(1, 4)
    assert find_span(np.zeros(5, np.bool_)) is None
