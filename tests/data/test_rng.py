import torch
from torch import Tensor

from deshadow.data.rng import Draws, mix, mix_word

INDEX = torch.arange(2000)
KNOWN = [[1313059334, 2286799933], [3393706853, 1600280079]]


def correlation(first: Tensor, second: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([first.flatten(), second.flatten()]))[0, 1])


def test_uniform_numbers_are_uniform() -> None:
    numbers = Draws(3, INDEX).uniform("a", 50)
    counts = torch.histc(numbers, 20, 0, 1)
    expected = numbers.numel() / 20
    assert float(((counts - expected) ** 2 / expected).sum()) < 45  # χ² of 19 degrees: 43.8 at 0.1 %
    assert float(numbers.min()) > 0
    assert float(numbers.max()) < 1


def test_normal_numbers_have_the_moments_of_the_normal_distribution() -> None:
    numbers = Draws(3, INDEX).normal("a", 50)
    moments = [float((numbers**power).mean()) for power in (1, 2, 3, 4)]
    assert torch.allclose(torch.tensor(moments), torch.tensor([0.0, 1.0, 0.0, 3.0]), atol=0.1)


def test_integers_take_every_value_alike() -> None:
    counts = torch.bincount(Draws(3, INDEX).integers("a", 50, high=7).flatten(), minlength=7)
    assert len(counts) == 7
    assert float((counts / counts.sum() - 1 / 7).abs().max()) < 0.005


def test_chance_is_met() -> None:
    assert abs(float(Draws(3, INDEX).chance("a", 50, of=0.3).float().mean()) - 0.3) < 0.006
    assert not Draws(3, INDEX).chance("a", 50, of=0.0).any()
    assert Draws(3, INDEX).chance("a", 50, of=1.0).all()


def test_streams_indices_places_and_seeds_are_independent() -> None:
    numbers = Draws(3, INDEX).uniform("a", 50)
    others = [
        (numbers, Draws(3, INDEX).uniform("b", 50)),
        (numbers, Draws(4, INDEX).uniform("a", 50)),
        (numbers[1:], numbers[:-1]),
        (numbers[:, 1:], numbers[:, :-1]),
        (numbers[1:, 1:], numbers[:-1, :-1]),
    ]
    assert all(abs(correlation(first, second)) < 0.015 for first, second in others)


def test_a_picture_has_its_numbers_in_any_batch() -> None:
    whole = Draws(5, torch.arange(10)).normal("a", 4, 3)
    alone = torch.cat([Draws(5, torch.tensor([k])).normal("a", 4, 3) for k in range(10)])
    assert torch.equal(whole, alone)
    assert torch.equal(whole.flip(0), Draws(5, torch.arange(10).flip(0)).normal("a", 4, 3))


def test_seeds_and_indices_beyond_32_bits_count() -> None:
    one = Draws(1, torch.tensor([1])).bits("a", 8)
    assert not torch.equal(one, Draws(1 + 2**40, torch.tensor([1])).bits("a", 8))
    assert not torch.equal(one, Draws(1, torch.tensor([1 + 2**40])).bits("a", 8))
    assert not torch.equal(one, Draws(-1, torch.tensor([1])).bits("a", 8))


def test_the_tensor_hash_is_the_plain_one() -> None:
    words = torch.tensor([0, 1, 77, 2**31, 2**32 - 1])
    assert mix(words).tolist() == [mix_word(int(word)) for word in words]


def test_known_numbers_stay_as_they_are() -> None:
    assert Draws(0, torch.tensor([0, 1])).bits("a", 2).tolist() == KNOWN
