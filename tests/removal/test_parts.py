"""Long photos are processed in parts: nothing of a shadow is left, and no seam shows where parts meet."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from oracles import Floats, Oracle, Pixels, darkened, detailed, lighten, unit

from deshadow.image.colour import srgb_to_lab
from deshadow.metrics.scores import lab_difference
from deshadow.removal import parts
from deshadow.removal.masks import label_shadows
from deshadow.removal.modes import Progress
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import weigh
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection, shadow_at

LEFT = (0.25, 0.28, 0.34)
SIZE = (120, 2400)
"""1:20"""


def stripes(height: int, width: int) -> Floats:
    """(H, W) of 0 and 1: slanted shadows, narrower than a pixel of the photo downscaled to 512 pixels."""
    rows, columns = np.mgrid[:height, :width]
    shade: Floats = (((columns + rows // 2) % 60 < 9) & (columns > 40)).astype(np.float32)
    return shade


def turn(field: Any, tall: bool) -> Any:
    return np.ascontiguousarray(field.swapaxes(0, 1)) if tall else field


def dark(picture: Any) -> Any:
    """A detector: what is dark is shadow."""
    return (picture.mean(axis=1, keepdims=True) < -0.4).astype(np.float32)


def even(height: int, width: int) -> Pixels:
    """A light, slightly rough surface."""
    return np.random.default_rng(0).integers(190, 210, (height, width, 3), np.uint8)


@pytest.mark.parametrize("size", [(1, 1), (300, 200), (100, 500), (512, 30), (1000, 2000), (640, 1280)])
def test_a_photo_of_ordinary_shape_is_one_part(size: tuple[int, int]) -> None:
    (part,) = parts.split(*size)
    assert np.zeros(size)[part.place].shape == size
    assert part.share.tolist() == [[1]]
    assert parts.fit_parts(size, 512) == tuple(round(side * min(1, 512 / max(size))) for side in size)


@pytest.mark.parametrize(
    "size", [(800, 12_000), (12_000, 800), (400, 40_000), (10, 40_000), (100, 205), (700, 1450)]
)
def test_parts_cover_the_photo_overlap_and_are_of_ordinary_shape(size: tuple[int, int]) -> None:
    axis = int(size[1] > size[0])
    found = parts.split(*size)
    total = np.zeros(max(size))
    for part in found:
        length = part.place[axis].stop - part.place[axis].start
        assert length <= max(2 * min(size), 512)
        assert part.place[1 - axis] == slice(0, min(size))
        total[part.place[axis]] += part.share.ravel()
    np.testing.assert_allclose(total, 1, atol=1e-5)
    for one, other in pairwise(part.place[axis] for part in found):
        assert one.stop - other.start >= 0.2 * (one.stop - one.start)


@pytest.mark.parametrize("tall", [False, True], ids=["wide", "tall"])
@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_a_panorama_loses_every_shadow(mode: Any, tall: bool) -> None:
    truth, shade = turn(detailed(*SIZE), tall), turn(stripes(*SIZE), tall)
    photo = darkened(truth, shade, LEFT)
    told: list[Progress] = []
    options = RemovalOptions(mode=mode, dilate=0, feather=0)
    found = Remover(Oracle(lighten(LEFT))).relight(unit(photo), Selection(shade), options, told.append)
    assert found is not None
    result = (found.composite(unit(photo)) * 255).round().astype(np.uint8)
    inside = shade > 0.5
    for place in np.array_split(np.arange(max(SIZE)), 10):
        tenth = np.s_[place[0] : place[-1] + 1] if tall else np.s_[:, place[0] : place[-1] + 1]
        assert lab_difference(result[tenth], truth[tenth], inside[tenth]) < 4
    assert (result[~inside] == photo[~inside]).all()
    shares = [each.share for each in told]
    assert shares == sorted(shares)
    assert len({each.share for each in told if each.stage == "quick"}) >= 6  # so that it can be cancelled
    if mode == "removal":
        assert told[-2].done == told[-2].total > 10
        assert told[-2].preview is not None
        np.testing.assert_allclose(told[-2].preview(), found.composite(unit(photo)), atol=1e-5)


@pytest.mark.parametrize("gap", [12, 30])
def test_the_network_does_not_see_a_part_over_which_the_light_only_fades(gap: int) -> None:
    first, second = (part.place[1] for part in parts.split(256, 1024)[:2])
    shade = np.zeros((256, 1024), np.float32)
    shade[100:140, second.start - gap - 40 : second.start - gap] = 1
    masks: list[Floats] = []

    def watch(picture: Floats, mask: Floats) -> Floats:
        masks.append(mask)
        return lighten(LEFT)(picture, mask)

    photo = unit(darkened(detailed(256, 1024), shade, LEFT))
    found = Remover(Oracle(watch)).relight(photo, Selection(shade))
    assert found is not None
    assert (found.composite(photo) != photo)[:, second.start : first.stop].any()
    assert len(masks) == 1


def test_a_faint_mask_of_a_panorama_counts() -> None:
    shade = np.zeros((256, 1024), np.float32)
    shade[100:140, 500:540] = 1
    photo = unit(darkened(detailed(256, 1024), shade, LEFT))
    found = Remover(Oracle(lambda picture, _: (picture + 0.3).astype(np.float32))).relight(
        photo, Selection(np.float32(0.2) * shade), RemovalOptions(feather=0)
    )
    assert found is not None
    assert (found.composite(photo) - photo)[110:130, 510:530].mean() > 0.01


@pytest.mark.parametrize("tall", [False, True], ids=["wide", "tall"])
def test_narrow_shadows_of_a_panorama_are_found(tall: bool) -> None:
    shade = turn(stripes(*SIZE), tall)
    photo = darkened(turn(even(*SIZE), tall), shade, (0.1, 0.1, 0.1))
    found = Remover(detector=dark).find_shadows(unit(photo))  # type: ignore[arg-type]
    both, either = ((found > 0) & (shade > 0)).sum(), ((found > 0) | (shade > 0)).sum()
    assert both / either > 0.95


@pytest.mark.parametrize("tall", [False, True], ids=["wide", "tall"])
def test_parts_that_lie_wholly_in_a_shadow_take_the_light_of_their_neighbours(tall: bool) -> None:
    truth = turn(even(*SIZE), tall)
    along = np.arange(max(SIZE))
    places = [part.place[1] for part in parts.split(*SIZE)]
    ends = places[1].start - 40, places[-2].stop + 40
    inside = (along > ends[0]) & (along < ends[1])
    shade = turn(np.tile(inside.astype(np.float32), (min(SIZE), 1)), tall)
    photo = darkened(truth, shade, LEFT)

    def clean(picture: Floats, mask: Floats) -> Floats:
        return lighten(LEFT)(picture, mask) if mask.mean() < 0.9 else picture * 0.95

    found = Remover(Oracle(clean)).relight(unit(photo), Selection(shade), RemovalOptions(dilate=0, feather=0))
    assert found is not None
    result = (found.composite(unit(photo)) * 255).round().astype(np.uint8)
    lightness = srgb_to_lab(result)[..., 0].mean(axis=int(tall))
    away = np.abs(along[:, None] - ends).min(axis=1) > 8  # from the ends of the shadow
    assert np.abs(lightness - srgb_to_lab(truth)[..., 0].mean())[away].max() < 1.5
    assert np.abs(np.diff(lightness))[away[1:]].max() < 1.5  # no seam


def test_the_rest_of_a_panorama_stays_to_the_bit_and_is_not_processed() -> None:
    oracle = Oracle(lighten(LEFT))
    truth = even(200, 8000)
    shade = np.zeros((200, 8000), np.float32)
    shade[60:120, 7000:7100] = 1
    photo = darkened(truth, shade, LEFT)
    found = Remover(oracle).relight(unit(photo), Selection(shade))
    assert found is not None
    assert oracle.passes <= 2
    assert not found.weight[:, :6900].any()
    result = (found.composite(unit(photo)) * 255).round().astype(np.uint8)
    assert (result[found.weight == 0] == photo[found.weight == 0]).all()
    assert lab_difference(result, truth, shade > 0.5) < 3


@pytest.mark.parametrize("size", [(800, 12_000), (12_000, 800)])
def test_lengths_follow_the_shorter_side(size: tuple[int, int]) -> None:
    mask = np.zeros(size, np.float32)
    mask[300:500, 300:500] = 1
    weight = weigh(Selection(mask), 10, 2.5)
    rows, columns = (np.flatnonzero((weight > 0).any(axis=axis)) for axis in (1, 0))
    for reached in (rows, columns):  # dilated by 10 · 800/256 = 31 pixels, then a soft edge of 8
        assert 300 - reached[0] == pytest.approx(39, abs=6)
        assert reached[-1] - 499 == pytest.approx(39, abs=6)
    labels = label_shadows(mask)
    assert shadow_at(labels, 520, 400) == 1
    with pytest.raises(ValueError, match="no shadow at"):
        shadow_at(labels, 600, 400)


def test_small_shadows_of_a_panorama_are_no_specks() -> None:
    mask = np.zeros((400, 8000), np.float32)
    mask[100:130, 1000:1030] = 1  # 0.03 % of the photo, 0.3 % of an ordinary photo of this height
    assert label_shadows(mask).max() == 1
