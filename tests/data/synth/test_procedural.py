import pytest
import torch

from deshadow.data.rng import Draws
from deshadow.data.synth.occluders import OccluderKind, outline_points
from deshadow.data.synth.procedural import SURFACES, draw_backgrounds, draw_occluders, draw_silhouettes
from deshadow.data.synth.textures import add_dark_things


@pytest.mark.parametrize("surface", SURFACES)
def test_surfaces_have_texture_and_sane_light(surface: str) -> None:
    pictures = draw_backgrounds(4, 64, surfaces=(surface,), dark_things=0.0).float()
    assert (pictures.flatten(1).std(1) > 3).all()
    assert (pictures.flatten(1).mean(1) > 40).all()
    assert (pictures.flatten(1).mean(1) < 235).all()


def test_backgrounds_take_turns_and_follow_the_seed() -> None:
    pictures = draw_backgrounds(9, 32, seed=4)
    assert torch.equal(pictures, draw_backgrounds(9, 32, seed=4))
    assert not torch.equal(pictures, draw_backgrounds(9, 32, seed=5))
    assert torch.equal(pictures[:7], draw_backgrounds(7, 32, seed=4))


@pytest.mark.parametrize("count", range(1, 7))
def test_a_few_backgrounds_are_the_first_of_many(count: int) -> None:
    assert torch.equal(draw_backgrounds(count, 32), draw_backgrounds(9, 32)[:count])


def test_a_few_silhouettes_are_the_first_of_many() -> None:
    assert torch.equal(
        draw_silhouettes(OccluderKind.OBJECT, 2, 32), draw_silhouettes(OccluderKind.OBJECT, 5, 32)[:2]
    )


def test_an_unknown_surface_is_refused() -> None:
    with pytest.raises(ValueError, match="brick, tiles"):
        draw_backgrounds(1, 32, surfaces=("marble",))


def test_dark_things_darken_by_chance() -> None:
    light = torch.full((16, 3, 64, 64), 0.8)
    draws = Draws(0, torch.arange(16))
    assert torch.equal(add_dark_things(draws, light, of=0.0), light)
    always = add_dark_things(draws, light, of=1.0)
    assert (always.mean(1).flatten(1).amin(1) < 0.4).all()


@pytest.mark.parametrize("kind", list(OccluderKind))
def test_silhouettes_block_some_of_the_light_and_not_all(kind: OccluderKind) -> None:
    share = (draw_silhouettes(kind, 12, 64) > 127).float().mean((1, 2, 3))
    assert (share > 0.004).all()
    assert (share < 0.95).all()


def test_objects_end_before_the_sides() -> None:
    drawn = draw_silhouettes(OccluderKind.OBJECT, 32, 64)
    assert not drawn[..., 0].any()
    assert not drawn[..., -1].any()
    assert not drawn[..., 0, :].any()


def test_a_bank_holds_every_kind_in_order() -> None:
    bank = draw_occluders(3, 32)
    assert bank.count.tolist() == [3] * 5
    assert bank.first.tolist() == [0, 3, 6, 9, 12]
    mine = draw_occluders(3, objects=torch.zeros(5, 1, 24, 24, dtype=torch.uint8))
    assert mine.count.tolist() == [5, 3, 3, 3, 3]
    assert mine.silhouettes.shape[-1] == 24


def test_points_lie_on_the_outline() -> None:
    square = torch.zeros(1, 1, 40, 40, dtype=torch.uint8)
    square[..., 10:30, 10:30] = 255
    points = outline_points(square)
    # The outermost pixels' centres of the square lie at ±9.5 of 20.
    assert torch.allclose(points.abs().amax(-1), torch.tensor(0.475), atol=1e-6)
