from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from deshadow.data.rng import Draws
from deshadow.data.synth.occluders import OccluderKind, Occluders, gather_occluders
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.projection import Placement, cast, place
from deshadow.data.synth.recipe import DEFAULT_RECIPE, SHADOW_RECIPES, Darkness, ShadowRecipe
from deshadow.data.synth.shading import draw_dark_rates
from deshadow.data.synth.triplets import Triplets, synthesise

SIZE = 64
PLAIN = ShadowRecipe(
    darkness=Darkness.between(4, 4),
    blue=(0.0, 0.0),
    green=0.0,
    unevenness=0.0,
    contrast=(1.0, 0.0),
    flatness=0.0,
    noise=0.0,
)


@cache
def backgrounds() -> Tensor:
    return draw_backgrounds(7, SIZE)


@cache
def occluders() -> Occluders:
    return draw_occluders(8, 64)


def make(count: int = 64, seed: int = 0, recipe: ShadowRecipe = DEFAULT_RECIPE) -> Triplets:
    return synthesise(backgrounds(), occluders(), torch.arange(count), seed, recipe)


def chosen_backgrounds(count: int, seed: int = 0) -> Tensor:
    return backgrounds()[Draws(seed, torch.arange(count)).integers("background", high=len(backgrounds()))]


@pytest.mark.parametrize("preset", SHADOW_RECIPES)
def test_pictures_are_equal_outside_the_mask_and_every_mask_shows_something(preset: str) -> None:
    for seed in range(3):
        made = make(seed=seed, recipe=SHADOW_RECIPES[preset])
        differs = (made.picture != made.clean).any(1, keepdim=True)
        assert not (differs & ~made.mask).any()
        assert differs.flatten(1).any(1).all()


def test_the_mask_lies_within_the_target_shadows() -> None:
    made = make(recipe=SHADOW_RECIPES["instances"])
    shadows = (made.instances & made.targets[..., None, None]).any(1, keepdim=True)
    assert not (made.mask & ~shadows).any()


def test_other_shadows_stay_in_both_pictures() -> None:
    made = make(recipe=SHADOW_RECIPES["instances"])
    others = (made.instances & ~made.targets[..., None, None]).any(1, keepdim=True) & ~made.mask
    here = others.expand_as(made.clean)
    assert torch.equal(made.picture[here], made.clean[here])
    assert float(made.clean[here].float().mean()) < 0.8 * float(chosen_backgrounds(64)[here].float().mean())


def test_without_others_the_clean_picture_is_the_background() -> None:
    assert torch.equal(make(recipe=replace(ShadowRecipe(), targets="all")).clean, chosen_backgrounds(64))


def test_one_target_is_one() -> None:
    assert (make(recipe=SHADOW_RECIPES["instances"]).targets.sum(1) == 1).all()


def test_some_targets_are_some() -> None:
    made = make(recipe=replace(SHADOW_RECIPES["instances"], targets="some"))
    present = made.instances.flatten(2).any(2)
    assert (made.targets.sum(1) >= 1).all()
    assert (made.targets.sum(1) > 1).any()
    assert (made.targets.sum(1) < present.sum(1)).any()


def test_removing_one_of_two_shadows_changes_nothing_where_the_other_blocks_all_light() -> None:
    recipe = replace(SHADOW_RECIPES["instances"], targets="one")
    index = torch.arange(64)
    visible = cast(place(Draws(0, index), recipe, occluders()), occluders(), SIZE, SIZE)
    made = synthesise(backgrounds(), occluders(), index, 0, recipe)
    hidden = (torch.where(made.targets[..., None, None], 1.0, visible) == 0).any(1, keepdim=True)
    overlap = hidden & (made.instances & made.targets[..., None, None]).any(1, keepdim=True)
    assert overlap.any()
    assert not (made.mask & hidden).any()


def test_a_picture_depends_on_seed_and_index_alone() -> None:
    whole = make(12)
    parts = [
        synthesise(backgrounds(), occluders(), index) for index in torch.split(torch.arange(12).flip(0), 5)
    ]
    for name, part in zip(Triplets._fields, zip(*parts, strict=True), strict=True):
        assert torch.equal(getattr(whole, name), torch.cat(part).flip(0)), name
    assert not torch.equal(whole.picture, make(12, seed=1).picture)


@pytest.mark.parametrize("preset", ["sunlight", "standing"])
def test_compiled_as_one_graph_it_makes_the_same_pictures(preset: str) -> None:
    surfaces, bank, recipe = backgrounds(), occluders(), SHADOW_RECIPES[preset]

    def maker(index: Tensor) -> Triplets:
        return synthesise(surfaces, bank, index, recipe=recipe)

    compiled = torch.compile(maker, backend="aot_eager", fullgraph=True, dynamic=False)
    for first, second in zip(compiled(torch.arange(4)), maker(torch.arange(4)), strict=True):
        torch.testing.assert_close(first, second)


def test_every_kind_occurs_in_about_its_share() -> None:
    placement = place(Draws(0, torch.arange(2000)), ShadowRecipe(), occluders())
    share = torch.bincount(placement.kind.flatten(), minlength=5) / placement.kind.numel()
    assert torch.allclose(share, torch.tensor(ShadowRecipe().kinds), atol=0.02)


def test_entering_shadows_touch_the_border_and_have_their_foot_outside() -> None:
    recipe = ShadowRecipe(shadows=(1.0,), kinds=(1.0, 0, 0, 0, 0), entering=1.0)
    inside = ShadowRecipe(shadows=(1.0,), kinds=(1.0, 0, 0, 0, 0), entering=0.0)
    border = torch.ones(SIZE, SIZE, dtype=torch.bool)
    border[1:-1, 1:-1] = False
    touching = [
        (make(96, recipe=each).instances[:, 0] & border).flatten(1).any(1).float().mean()
        for each in (recipe, inside)
    ]
    assert float(touching[0]) > 0.85
    assert float(touching[1]) < float(touching[0]) - 0.15


def test_a_missing_kind_is_never_chosen() -> None:
    bank = gather_occluders({OccluderKind.EDGE: occluders().silhouettes[16:24]})
    assert (place(Draws(0, torch.arange(100)), ShadowRecipe(), bank).kind == OccluderKind.EDGE).all()


def test_the_dark_rate_is_the_one_asked_for() -> None:
    grey = torch.full((1, 3, SIZE, SIZE), 200, dtype=torch.uint8)
    recipe = replace(PLAIN, shadows=(1.0,), kinds=(0, 0, 1.0, 0, 0))
    index = torch.arange(8)
    made = synthesise(grey, occluders(), index, 0, recipe)
    umbra = cast(place(Draws(0, index), recipe, occluders()), occluders(), SIZE, SIZE).prod(1) == 0
    # 200 in sRGB is 0.578 in linear light; a quarter of it is 106 in sRGB.
    assert set(made.picture.permute(0, 2, 3, 1)[umbra].flatten().tolist()) == {106}


@pytest.mark.parametrize(
    "darkness", [Darkness.between(2, 9), Darkness.lognormal(5, 0.4), ShadowRecipe().darkness]
)
def test_dark_rates_follow_their_distribution(darkness: Darkness) -> None:
    rates = draw_dark_rates(Draws(0, torch.arange(20000)), darkness)
    for part in (0.1, 0.25, 0.5, 0.75, 0.9):
        place_in_table = part * (len(darkness.quantiles) - 1)
        table = torch.tensor(darkness.quantiles).log()
        wanted = torch.lerp(
            table[int(place_in_table)], table[int(place_in_table) + 1], place_in_table % 1
        ).exp()
        assert torch.isclose(rates.quantile(part), wanted, rtol=0.03)


def test_a_lognormal_darkness_has_its_median_and_spread() -> None:
    rates = draw_dark_rates(Draws(0, torch.arange(20000)), Darkness.lognormal(5, 0.4)).log()
    assert abs(float(rates.median().exp()) - 5) < 0.1
    assert abs(float(rates.std()) - 0.4) < 0.03


def test_shadows_are_bluer_than_the_light() -> None:
    made = make(recipe=replace(PLAIN, blue=(0.15, 0.0), targets="all"))
    here = made.mask[:, 0]
    ratio = [
        float(made.picture[:, k][here].float().mean() / made.clean[:, k][here].float().mean())
        for k in range(3)
    ]
    assert ratio[0] < ratio[1] < ratio[2]


def test_the_penumbra_widens_away_from_the_foot() -> None:
    size = 256
    pole = torch.zeros(1, 1, 64, 64, dtype=torch.uint8)
    pole[..., 4:60, 16:48] = 255
    one = torch.ones(1, 1)
    placement = Placement(
        active=one.bool(), kind=one.long() * 0, entry=one.long() * 0, anchor=torch.zeros(1, 1, 2),
        point=torch.zeros(1, 1, 2), inverse=torch.eye(2)[None, None], lift=0 * one, length=2 * one,
        opacity=one, softness=0.03 * one, lens=0.5 * one, tilt=torch.zeros(1, 2), seen=one.bool(),
    )  # fmt: skip
    visible = cast(placement, gather_occluders({OccluderKind.OBJECT: pole}), size, size)[0, 0]
    widths = [int(((visible[row] > 0.1) & (visible[row] < 0.9)).sum()) for row in (215, 170, 120, 70, 45)]
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]


def test_non_square_pictures_work() -> None:
    made = synthesise(backgrounds()[..., :48], occluders(), torch.arange(8))
    assert made.picture.shape == (8, 3, 64, 48)
    assert not ((made.picture != made.clean).any(1, keepdim=True) & ~made.mask).any()


@pytest.mark.parametrize("rates", [(3.0,), (5.0, 2.0), (0.5, 2.0)])
def test_a_darkness_that_makes_no_sense_is_refused(rates: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="dark rates"):
        Darkness(rates)


def test_occluders_of_different_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="one size"):
        gather_occluders(
            {OccluderKind.OBJECT: torch.zeros(1, 1, 8, 8), OccluderKind.EDGE: torch.zeros(1, 1, 9, 9)}
        )
