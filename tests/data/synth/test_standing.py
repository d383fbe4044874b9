from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from deshadow.data.rng import Draws
from deshadow.data.synth import standing
from deshadow.data.synth.occluders import OccluderKind, Occluders, gather_occluders
from deshadow.data.synth.procedural import draw_occluders
from deshadow.data.synth.projection import Placement, cast, ground, place
from deshadow.data.synth.recipe import SHADOW_RECIPES
from deshadow.data.synth.standing import DARK, Shown, dress, find_ends, find_thing, light_round, stand
from deshadow.data.synth.triplets import Triplets, synthesise
from deshadow.image.morphology import dilate, erode

SIZE, COUNT = 96, 64
ALONE = replace(SHADOW_RECIPES["standing"], shadows=(1.0,), entering=0.0)
"""One thing in each picture, with its shadow."""


@cache
def bank() -> Occluders:
    return draw_occluders(8, 64)


@cache
def make(share: float = 1.0, entering: float = 0.0, foliage: float = 0.0, shadows: int = 1) -> Triplets:
    return synthesise(
        torch.full((1, 3, SIZE, SIZE), 150, dtype=torch.uint8),
        bank(),
        torch.arange(COUNT),
        recipe=replace(
            ALONE,
            standing=share,
            entering=entering,
            kinds=(1 - foliage, foliage, 0.0, 0.0, 0.0),
            shadows=(*[0.0] * (shadows - 1), 1.0),
        ),
    )


def share_shown(made: Triplets) -> float:
    return float(made.things.flatten(1).any(1).float().mean())


def test_a_thing_touches_its_shadow() -> None:
    made = make()
    near = dilate(made.things.float(), 2) > 0.5
    seen = made.things.flatten(1).any(1)
    assert seen.float().mean() > 0.9
    assert (near & made.mask)[seen].flatten(1).any(1).float().mean() > 0.9


@pytest.mark.parametrize(("height", "width"), [(SIZE, SIZE), (96, 160), (160, 96)])
def test_its_foot_is_where_the_shadow_begins(height: int, width: int) -> None:
    placement = place(Draws(0, torch.arange(COUNT)), ALONE, bank())
    thing = find_thing(placement, bank(), height / width)
    half = torch.tensor([width, height]) / min(height, width)
    # What the shadow's own map says of this point of the image.
    origin = ground(placement.point[:, 0] * half, placement.tilt)
    there = ground(thing.point, placement.tilt) - origin
    place_in_silhouette = placement.anchor[:, 0] + (placement.inverse[:, 0] @ there[..., None])[..., 0]
    torch.testing.assert_close(place_in_silhouette, thing.foot, atol=1e-4, rtol=0)


def test_only_objects_in_the_frame_are_shown_as_often_as_the_recipe_says_and_one_of_several() -> None:
    assert share_shown(make(share=0.0)) == 0
    assert 0.3 < share_shown(make(share=0.5)) < 0.7
    assert share_shown(make(entering=1.0)) == 0
    assert share_shown(make(foliage=1.0)) == 0
    draws = Draws(0, torch.arange(COUNT))
    several = place(draws, replace(ALONE, shadows=(0.0, 0.0, 1.0)), bank())
    assert (several.seen.sum(1) == 1).all()
    assert (several.lift[several.seen] < 0.06).all()  # on the ground
    some = place(draws, replace(ALONE, shadows=(0.5, 0.5), entering=0.5), bank())
    assert not (some.seen & ~some.active).any()


def test_a_recipe_without_things_places_shadows_as_if_there_were_none() -> None:
    draws = Draws(0, torch.arange(COUNT))
    recipe = SHADOW_RECIPES["instances"]
    without, some = (place(draws, replace(recipe, standing=share), bank()) for share in (0.0, 0.5))
    assert not without.seen.any()
    others = ~some.seen
    assert some.seen.any()
    for one, other in zip(without[:-1], some[:-1], strict=True):
        if one.shape[:2] == others.shape:
            assert torch.equal(one[others], other[others])


def test_a_thing_stands_in_the_sun_and_is_the_same_in_both_pictures() -> None:
    made = make()
    inside = erode(made.things.float(), 4) > 0.5
    through = inside & made.mask  # a gap of the silhouette that is smaller than a pixel
    assert through.sum() < 0.001 * inside.sum()
    inside &= ~through
    assert (made.sun[inside] == 1).all()
    here = inside.expand_as(made.clean)
    assert torch.equal(made.picture[here], made.clean[here])
    hidden = cast(place(Draws(0, torch.arange(COUNT)), ALONE, bank()), bank(), SIZE, SIZE)
    assert ((hidden < 0.1) & inside).any()  # a shadow would lie there


def placed(outline: Tensor, mirrored: bool) -> tuple[Placement, Occluders]:
    """A silhouette (h, w) of 8 bits, beside another, whose shadow falls straight down, mirrored or not."""
    one = torch.ones(1, 1)
    side = -1.0 if mirrored else 1.0
    placement = Placement(
        active=one.bool(), kind=one.long() * 0, entry=one.long(), anchor=torch.tensor([[[0.0, 0.95]]]),
        point=torch.tensor([[[0.1, 0.1]]]), inverse=torch.diag(torch.tensor([2 * side, -2.0]))[None, None],
        lift=0 * one, length=0.5 * one, opacity=one, softness=0.001 * one, lens=0.2 * one,
        tilt=torch.zeros(1, 2), seen=one.bool(),
    )  # fmt: skip
    return placement, gather_occluders(
        {OccluderKind.OBJECT: torch.stack([outline.mT.flip(0), outline])[:, None]}
    )


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_thing_and_its_shadow_have_the_same_sides_and_width(mirrored: bool) -> None:
    outline = torch.zeros(64, 64, dtype=torch.uint8)
    outline[4:62, 24:36] = 255  # a trunk
    outline[10:20, 36:56] = 255  # an arm to the right of it, near the top
    placement, occluders = placed(outline, mirrored)
    visible = cast(placement, occluders, SIZE, SIZE)
    lit = torch.full((1, 3, SIZE, SIZE), 150, dtype=torch.uint8)
    shown = stand(lit, visible, placement, occluders, Draws(0, torch.arange(1)))
    shadow = visible[0, 0] < 0.5
    thing = shown.things[0, 0]
    foot = round((0.1 + 1) / 2 * SIZE)
    assert thing[:foot].sum() > 0.95 * thing.sum()  # upright above its foot
    assert shadow[foot:].sum() > 0.9 * shadow.sum()  # and the shadow falls below it
    extents = [torch.nonzero(part.any(0)).flatten() for part in (thing, shadow)]
    for first, second in zip(extents[0][[0, -1]], extents[1][[0, -1]], strict=True):
        assert abs(int(first) - int(second)) <= 2


def show_trunk(
    lens: float = 0.2, tilt: float = 0.0, place: float = 0.1, size: int = 256
) -> tuple[Shown, Tensor]:
    """A trunk before a light ground, and the share of the sun that passes it (h, w)."""
    outline = torch.zeros(64, 64, dtype=torch.uint8)
    outline[4:62, 22:42] = 255
    placement, occluders = placed(outline, mirrored=False)
    placement = placement._replace(
        lens=torch.tensor([[lens]]), tilt=torch.tensor([[0.0, tilt]]), point=torch.tensor([[[0.1, place]]])
    )
    visible = cast(placement, occluders, size, size)
    lit = torch.full((1, 3, size, size), 255, dtype=torch.uint8)
    return stand(lit, visible, placement, occluders, Draws(0, torch.arange(1))), visible[0, 0]


def test_the_edge_of_a_thing_is_as_soft_as_the_lens_makes_it() -> None:
    partly = []
    for lens in (0.2, 1.9):
        row = show_trunk(lens)[0].lit[0, :, 90].float().mean(0)
        dark = row.min()
        partly.append(int(((row > dark + 0.1 * (255 - dark)) & (row < dark + 0.9 * (255 - dark))).sum()))
    sharp, soft = partly
    assert sharp <= 4  # a pixel or two on either side
    assert soft >= sharp + 2


def test_a_thing_is_as_wide_as_its_shadow_where_it_stands_however_the_camera_looks() -> None:
    for tilt in (-0.4, 0.4):
        shown, visible = show_trunk(tilt=tilt, place=-0.5)
        thing, shadow = shown.things[0, 0], visible < 0.5
        foot = int(torch.nonzero(thing.any(1)).max())
        assert abs(int(thing[foot - 4].sum()) - int(shadow[foot + 4].sum())) <= 4


def test_a_thing_in_a_picture_is_lit_from_the_side_of_the_sun(monkeypatch: pytest.MonkeyPatch) -> None:
    def show() -> Tensor:
        shown, _ = show_trunk()
        return shown.lit[0].float().mean(0)

    solid = erode(show_trunk()[0].things[:, 0].float()[None], 2)[0, 0] > 0.5
    round_thing = show()
    monkeypatch.setattr(standing, "light_round", lambda thing: torch.zeros_like(thing.outline))
    brighter = torch.where(solid, round_thing - show(), 0.0)
    rows = torch.nonzero(solid.any(1)).flatten()
    # The shadow falls down the picture, so the sun stands above it.
    assert brighter[rows[:4]].sum() > 0
    assert brighter[rows[-4:]].sum() < 0


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_side_of_the_sun_is_brighter(mirrored: bool) -> None:
    disc = torch.linspace(-1, 1, 64)
    outline = ((disc[:, None] ** 2 + disc**2) < 0.6).to(torch.uint8) * 255
    placement, occluders = placed(outline, mirrored)
    thing = find_thing(placement, occluders, 1.0)
    # The shadow falls down the picture, so the sun stands above it.
    light = light_round(thing)[0, 0]
    assert light[:32].mean() > 0.05
    assert light[32:].mean() < -0.05
    from_the_left = thing._replace(sun=torch.tensor([[-1.0, 0.0]]))
    seen = light_round(from_the_left)[0, 0] if not mirrored else light_round(from_the_left)[0, 0].flip(1)
    assert seen[:, :32].mean() > 0.05
    assert seen[:, 32:].mean() < -0.05


def test_parts_have_colours_of_their_own_and_two_thirds_are_dark() -> None:
    count = 2048
    draws = Draws(0, torch.arange(count))
    down = torch.linspace(0, 1, 20).expand(count, -1)
    grid = torch.zeros(count, 20, 4, 2)
    light = dress(draws, down, grid)[..., 0]
    colours = torch.tensor([len(torch.unique(picture.mT, dim=0)) for picture in light])
    assert ((colours == 1).float().mean() - 0.4).abs() < 0.05
    assert (colours == 4).float().mean() > 0.3
    top = light[:, :, 0].median(1).values
    assert ((top < 0.075).float().mean() - DARK).abs() < 0.06
    assert (light[:, 0, 0] / light[:, 2, 0]).log().std() > 0.2  # not grey


def test_folds_vary_the_light_within_a_part() -> None:
    v, u = torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij")
    grid = torch.stack([u, v], -1).expand(COUNT, -1, -1, -1)
    light = dress(Draws(0, torch.arange(COUNT)), torch.zeros(COUNT, 32), grid)
    assert (light.log().flatten(2).std(2).mean()) > 0.1


def test_the_extent_of_a_silhouette() -> None:
    outline = torch.zeros(1, 1, 64, 64)
    outline[..., 8:32, 20:24] = 1  # a trunk
    outline[..., 32:56, 40:44] = 1  # its foot, farther to the right
    top, foot = find_ends(outline)
    torch.testing.assert_close(top, torch.tensor([[17 / 64 - 1]]))
    torch.testing.assert_close(foot, torch.tensor([[84 / 64 - 1, 111 / 64 - 1]]), atol=1 / 64, rtol=0)
