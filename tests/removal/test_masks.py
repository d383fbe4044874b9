from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deshadow.removal import masks
from deshadow.removal.masks import Chosen


def squares(*places: tuple[int, int, int], size: tuple[int, int] = (100, 200)) -> np.ndarray:
    mask = np.zeros(size, np.float32)
    for top, left, side in places:
        mask[top : top + side, left : left + side] = 1
    return mask


@pytest.mark.parametrize(
    "picture",
    [
        np.array([[0, 255]], np.uint8),
        np.array([[0, 1]], np.uint8),
        np.array([[False, True]]),
        np.array([[0, 65535]], np.uint16),
        np.array([[0.0, 1.0]]),
        np.array([[-0.1, 1.1]]),  # as resizing leaves them
        np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8),
        np.array([[[255, 255, 255, 0], [255, 255, 255, 255]]], np.uint8),  # opacity counts
    ],
)
def test_any_picture_is_a_mask(picture: np.ndarray) -> None:
    assert masks.as_mask(picture, 1, 2).tolist() == [[0, 1]]
    assert masks.as_mask(picture, 1, 2, invert=True).tolist() == [[1, 0]]


def test_a_mask_of_another_size_fits_and_stays_soft() -> None:
    mask = masks.as_mask(np.array([[0, 128], [0, 255]], np.uint8), 40, 60)
    assert mask.shape == (40, 60)
    assert mask[:, :10].max() == 0
    assert mask[0, -1] == pytest.approx(128 / 255, abs=1e-3)
    floats = masks.as_mask(np.array([[0, 128], [0, 255]], np.float64), 40, 60)
    assert np.array_equal(floats, mask)


@pytest.mark.parametrize(
    "bad",
    [np.zeros((3,)), np.full((2, 2), np.nan), np.full((2, 2), -1), np.full((2, 2), -1.0), np.zeros((0, 4))],
)
def test_what_is_no_mask_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="mask"):
        masks.as_mask(bad, 4, 4)


def test_shadows_are_numbered_from_the_largest_and_specks_dropped() -> None:
    labels = masks.instances(squares((10, 10, 20), (50, 100, 40), (5, 190, 2)))
    assert labels[20, 20] == 2
    assert labels[60, 110] == 1
    assert labels.max() == 2
    assert labels[6, 191] == 0


def test_large_pictures_keep_their_outlines() -> None:
    mask = squares((101, 203, 333), (901, 1807, 555), size=(1500, 2500))
    labels = masks.instances(mask)
    assert ((labels > 0) == (mask > 0)).all()
    assert labels[1000, 1900] == 1


def test_a_point_takes_the_shadow_under_it_or_just_beside_it() -> None:
    labels = masks.instances(squares((10, 10, 20), (50, 100, 40)))
    assert masks.under(labels, 15, 15) == 2
    assert masks.under(labels, 32, 15) == 2  # three pixels beside it
    with pytest.raises(ValueError, match="no shadow at 60,15"):
        masks.under(labels, 60, 15)
    with pytest.raises(ValueError, match="outside the picture of 200 × 100"):
        masks.under(labels, 200, 15)


def test_shadows_are_chosen_by_point_by_number_and_by_exclusion() -> None:
    mask = squares((10, 10, 20), (50, 100, 40))
    labels = masks.instances(mask)

    def taken(**how: Any) -> set[int]:
        return set(np.unique(labels[masks.choose(mask, labels, **how).mask > 0]).tolist())

    assert taken() == {1, 2}
    assert taken(at=[(15, 15)]) == {2}
    assert taken(numbers=[1]) == {1}
    assert taken(at=[(15, 15)], numbers=[1]) == {1, 2}
    assert taken(exclude=[1]) == {2}
    with pytest.raises(ValueError, match="no shadow number 3: they are numbered from 1 to 2"):
        taken(numbers=[3])


def test_a_removal_reaches_as_far_as_it_says() -> None:
    weight = masks.reach(Chosen(squares((40, 60, 20))), dilate=5, feather=3)
    assert (weight[35:65, 55:85] == 1).all()  # five pixels wider on every side
    assert 0 < weight[50, 86] < 1  # then it fades
    assert not weight[:, 88:].any()
    assert not weight[:32].any()


def test_one_shadow_never_grows_into_another() -> None:
    mask = squares((40, 60, 20), (40, 84, 10))
    chosen = masks.choose(mask, masks.instances(mask), numbers=[1])
    weight = masks.reach(chosen, dilate=15, feather=4)
    seen = masks.seen_mask(chosen, 15, 100, 200)
    for field in (weight, seen):
        assert field[50, 82] == 1
        assert not field[40:50, 84:94].any()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 700), st.integers(0, 20), st.integers(0, 8))
def test_any_size_has_a_reach(height: int, width: int, dilate: int, feather: int) -> None:
    mask = np.zeros((height, width), np.float32)
    mask[height // 2, width // 2] = 1
    weight = masks.reach(Chosen(mask), dilate, feather)
    assert weight.shape == mask.shape
    assert weight[height // 2, width // 2] == 1
    assert 0 <= weight.min() <= weight.max() <= 1
    assert masks.instances(mask).shape == mask.shape
