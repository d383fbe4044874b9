import torch

from deshadow.data.responses import Response, lift_dark_areas, respond, vary_responses
from deshadow.data.rng import Draws

DRAWS = Draws(0, torch.arange(64))


def test_both_pictures_of_a_pair_come_from_one_camera() -> None:
    picture = torch.rand(64, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    one, other = vary_responses((picture, picture.clone()), DRAWS, 0.5)
    assert torch.equal(one, other)
    changed = (one != picture).any(dim=(1, 2, 3))
    assert 20 < changed.sum() < 44
    assert 0 <= one.min() < one.max() <= 1
    assert torch.equal(vary_responses((picture, picture), DRAWS, 0.0)[0], picture)


def test_a_response_depends_on_the_number_of_the_picture_alone() -> None:
    picture = torch.rand(64, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    alone = respond(picture[7:8], Draws(0, torch.tensor([7])))
    torch.testing.assert_close(respond(picture, DRAWS)[7:8], alone)


def test_a_brighter_surface_stays_brighter() -> None:
    # Steps of brightness, each wide enough that sharpening leaves its middle alone.
    steps = torch.arange(1, 17).repeat_interleave(16)[None, None, None, :] / 17
    picture = steps.expand(64, 3, 32, 256)
    still = Response(lift=0.0)
    middles = respond(picture, DRAWS, still)[..., 16, 8::16]
    assert (middles.diff(dim=-1) >= 0).all()
    assert (middles.diff(dim=-1) > 0).float().mean() > 0.8  # the others are highlights that are clipped


def test_dark_areas_are_lifted_and_light_ones_are_not() -> None:
    picture = torch.full((2, 3, 64, 64), 0.8)
    picture[..., 32:] = 0.1
    lifted = lift_dark_areas(picture, torch.tensor([0.0, 0.5]).view(2, 1, 1, 1))
    assert torch.equal(lifted[0], picture[0])
    assert lifted[1, 0, 32, 60] > 0.15
    assert torch.equal(lifted[1, ..., :16], picture[1, ..., :16])
