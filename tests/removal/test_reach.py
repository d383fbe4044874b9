import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Oracle
from PIL import Image

from deshadow.image.filters import fit_within, resize
from deshadow.image.morphology import dilate, dilate_round, dilation_radius
from deshadow.removal import crop
from deshadow.removal.modes import WINDOWED
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import NETWORK_SIDE, make_network_mask, weigh
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection


def test_a_removal_reaches_as_far_as_it_says() -> None:
    mask = np.zeros((256, 400), np.float32)  # one pixel of a length is one pixel here
    mask[40:60, 60:80] = 1
    weight = weigh(Selection(mask), dilate=5, feather=3)
    assert (weight[35:65, 60:80] == 1).all()  # five pixels wider on every side
    assert (weight[40:60, 55:85] == 1).all()
    assert weight[35, 55] < 1  # with round corners
    assert 0 < weight[50, 86] < 1  # then it fades
    assert not weight[:, 88:].any()
    assert not weight[:32].any()


@pytest.mark.parametrize("side", [6, 24, 64])
def test_light_that_a_network_adds_everywhere_fades_without_a_rim(side: int) -> None:
    photo = np.full((256, 256, 3), 0.5, np.float32)
    mask = np.zeros((256, 256), np.float32)
    mask[128 - side // 2 :, 128 - side // 2 :][:side, :side] = 1
    brighter = Oracle(lambda picture, _: (picture + 0.05).astype(np.float32))
    found = Remover(brighter).relight(photo, Selection(mask))
    assert found is not None
    change = found.composite(photo)[128, :, 0] - 0.5
    assert change[128] == pytest.approx(0.025, abs=0.002)
    assert np.abs(np.diff(change)).max() < 0.08 * change[128]
    assert not change[:40].any()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 700), st.integers(0, 20), st.integers(0, 8))
def test_any_size_has_a_reach(height: int, width: int, dilate: int, feather: int) -> None:
    mask = np.zeros((height, width), np.float32)
    mask[height // 2, width // 2] = 1
    weight = weigh(Selection(mask), dilate, feather)
    assert weight.shape == mask.shape
    assert weight[height // 2, width // 2] == 1
    assert 0 <= weight.min() <= weight.max() <= 1


SIZES = {"landscape": (300, 400), "wide": (600, 1200), "portrait": (1000, 600), "square": (256, 256)}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_mask_is_dilated_by_one_rule_at_every_aspect_ratio(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By 10/256 of the shorter side, as in training and in evaluation, both in Quick and in Removal."""
    monkeypatch.setattr(crop, "MARGIN", NETWORK_SIDE)  # so that the network sees all of the mask
    seen: list[np.ndarray] = []

    class Watching(Oracle):
        def predict(self, noisy, t, picture, mask, guidance):  # type: ignore[no-untyped-def]
            seen.append(mask[0, 0])
            return super().predict(noisy, t, picture, mask, guidance)

    height, width = size
    mask = np.zeros(size, np.float32)
    mask[height // 3 : height // 2, width // 3 : width // 2] = 1
    picture = np.full((*size, 3), 0.5, np.float32)
    found = Remover(Watching(lambda picture, _: picture)).relight(picture, Selection(mask))
    assert found is not None
    small = fit_within(size, NETWORK_SIDE)
    radius = dilation_radius(*small)
    assert radius == round(10 * min(small) / 256)
    expected = dilate(resize(mask, *small, Image.Resampling.BOX), radius)
    np.testing.assert_array_equal(seen[0][: small[0], : small[1]], expected)  # it is padded
    if small == size:
        assert (found.weight[dilate_round(mask, radius) == 1] == 1).all()
    windowed = fit_within(size, WINDOWED)
    np.testing.assert_array_equal(
        make_network_mask(Selection(mask), RemovalOptions().dilate, *windowed),
        dilate(resize(mask, *windowed, Image.Resampling.BOX), dilation_radius(*windowed)),
    )


def test_what_changes_around_a_point_is_round() -> None:
    mask = np.zeros((256, 256), np.float32)
    mask[128, 128] = 1
    weight = weigh(Selection(mask), dilate=20, feather=0)
    rows, columns = np.mgrid[:256, :256]
    np.testing.assert_array_equal(weight > 0, np.hypot(rows - 128, columns - 128) <= 20)


def test_lengths_of_zero_reach_nowhere() -> None:
    mask = np.zeros((100, 60), np.float32)
    mask[40:60, 20:40] = 1
    np.testing.assert_array_equal(weigh(Selection(mask), dilate=0, feather=0), mask)
    np.testing.assert_array_equal(make_network_mask(Selection(mask), 0, 100, 60), mask)
