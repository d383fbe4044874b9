"""The network sees a small shadow with its surroundings, and nothing that is far from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Oracle, blob, darkened, detailed, lighten, unit

from deshadow.diffusion.arrays import Array
from deshadow.removal import crop
from deshadow.removal.crop import LEAST, MARGIN, STEP, crop_around
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection

LEFT = (0.25, 0.28, 0.34)


@given(st.data())
def test_a_crop_holds_the_shadow_with_its_margin_or_is_everything(data: st.DataObject) -> None:
    size = data.draw(st.tuples(st.integers(1, 600), st.integers(1, 600)))
    area = np.zeros(size, bool)
    spans = []
    for length in size:
        first = data.draw(st.integers(0, length - 1))
        spans.append((first, data.draw(st.integers(first + 1, length))))
    area[slice(*spans[0]), slice(*spans[1])] = True
    place = crop_around(area)
    whole = [along == slice(0, length) for along, length in zip(place, size, strict=True)]
    for along, (first, end), length in zip(place, spans, size, strict=True):
        assert 0 <= along.start <= max(0, first - MARGIN)
        assert min(length, end + MARGIN) <= along.stop <= length
        side = along.stop - along.start
        assert side == length or (side >= LEAST and side % STEP == 0)
    assert area[place].size <= 0.8 * area.size or all(whole)


def test_without_a_shadow_there_is_no_crop() -> None:
    assert crop_around(np.zeros((30, 400), bool)) == (slice(0, 30), slice(0, 400))


class Watching(Oracle):
    """An oracle that writes down the size of all that it sees, and which share of it the mask covers."""

    def __init__(self) -> None:
        super().__init__(lighten(LEFT))
        self.sizes: list[tuple[int, ...]] = []
        self.shares: list[float] = []

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        self.sizes.append(tuple(picture.shape[2:]))
        self.shares.append(float(np.mean(mask)))
        return super().predict(noisy, t, picture, mask, guidance)


def relight(pixels: np.ndarray, mask: np.ndarray, **options: object) -> tuple[np.ndarray, Watching]:
    network = Watching()
    found = Remover(network).relight(pixels, Selection(mask), RemovalOptions(**options))  # type: ignore[arg-type]
    assert found is not None
    return found.composite(pixels), network


@pytest.fixture
def photo() -> tuple[np.ndarray, np.ndarray]:
    """A photo of 1,024 pixels with a small shadow near its left border, and the mask of it."""
    mask = np.zeros((768, 1024), np.float32)
    mask[300:400, 40:160] = 1
    return unit(darkened(detailed(768, 1024), mask, LEFT)), mask


@pytest.fixture
def small_photo(photo: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same at 512 pixels, the size at which the network sees a whole photo."""
    return photo[0][::2, ::2].copy(), photo[1][::2, ::2].copy()


def test_a_small_shadow_costs_less_and_comes_out_as_from_all_of_the_photo(
    small_photo: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    cropped, network = relight(*small_photo)
    monkeypatch.setattr(crop, "MARGIN", 512)
    everything, other = relight(*small_photo)
    assert (other.sizes, network.sizes) == ([(384, 512)], [(224, 192)])
    np.testing.assert_allclose(cropped, everything, atol=1e-5)
    assert (cropped[160:190, 30:70] > 1.2 * small_photo[0][160:190, 30:70]).all()


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_of_a_large_photo_the_network_sees_a_small_shadow_larger_than_in_a_copy(
    photo: tuple[np.ndarray, np.ndarray], mode: str
) -> None:
    result, network = relight(*photo, mode=mode)
    # 448 × 384 pixels of the photo; a copy of all of it has 224 × 192 of these.
    assert network.sizes[0] == (384, 336)
    assert (result[320:380, 60:140] > 1.2 * photo[0][320:380, 60:140]).all()
    assert (result[:, 500:] == photo[0][:, 500:]).all()


def test_the_mask_of_a_crop_is_dilated_further_than_in_training_but_no_further_than_otherwise(
    photo: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, plain = relight(*photo, dilate=0)
    _, closer = relight(*photo)
    # The crop is 384 of the photo's 768 pixels wide, and 336 pixels of what the network sees.
    widths = [np.sqrt(share * 384 * 336) for share in (plain.shares[0], closer.shares[0])]
    assert 2 * 10 / 256 * 336 + 2 < widths[1] - widths[0] < 2 * 2 * 10 / 256 * 336
    monkeypatch.setattr(crop, "LARGER", np.inf)
    _, farther = relight(*photo)
    assert closer.shares[0] < farther.shares[0]


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_the_network_sees_the_dilated_mask_with_a_margin_in_which_the_light_fades(
    small_photo: tuple[np.ndarray, np.ndarray], mode: str
) -> None:
    def sizes(**options: object) -> list[tuple[int, ...]]:
        return relight(small_photo[0], small_photo[1], mode=mode, **options)[1].sizes

    assert sizes(dilate=2)[0] < sizes(dilate=30)[0]
    assert sizes(feather=0) == sizes()


def test_light_that_fades_far_is_seen_by_the_network_to_its_end(
    small_photo: tuple[np.ndarray, np.ndarray],
) -> None:
    near, far = (relight(*small_photo, feather=feather)[1].sizes[0] for feather in (28, 64))
    assert near < far


def test_a_shadow_across_the_photo_shows_the_network_everything() -> None:
    shade = blob(300, 400, 3.0)
    _, network = relight(unit(darkened(detailed(300, 400), shade, LEFT)), (shade > 0.5).astype(np.float32))
    assert network.sizes == [(304, 400)]  # multiples of the stride of the network
