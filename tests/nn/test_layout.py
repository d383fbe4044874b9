from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from deshadow.nn.config import Fusion, Guidance, ModelConfig, Sees, find_preset
from deshadow.nn.layout import Cost, model_cost
from deshadow.nn.lfg import LFGDiffusion


def count(config: ModelConfig, height: int, width: int) -> Cost:
    """Parameters and operations as torch sees them, without computing anything."""
    with torch.device("meta"):
        model = LFGDiffusion(config)
        picture, mask = torch.empty(1, 3, height, width), torch.empty(1, 1, height, width)
        with FlopCounterMode(display=False) as counter:
            model(picture, torch.ones(1), picture, mask, model.encode(picture, mask))
    return Cost(sum(parameter.numel() for parameter in model.parameters()), counter.get_total_flops())


@pytest.mark.parametrize("name", ["paper", "light", "tiny"])
@pytest.mark.parametrize("fusion", ["none", "vector", "map"])
def test_costs_are_what_torch_counts(name: str, fusion: Fusion) -> None:
    config = replace(find_preset(name), fusion=fusion)
    assert sum(model_cost(config, 64, 96).values(), Cost()) == count(config, 64, 96)


@pytest.mark.parametrize("guidance", ["none", "colour", "coarse", "latent"])
def test_guidance_costs_are_what_torch_counts(guidance: Guidance) -> None:
    config = replace(find_preset("tiny"), guidance=guidance)
    assert sum(model_cost(config, 32, 32).values(), Cost()) == count(config, 32, 32)


@pytest.mark.parametrize("sees", ["picture", "nothing"])
def test_a_model_that_sees_less_costs_what_torch_counts(sees: Sees) -> None:
    config = replace(find_preset("tiny"), sees=sees)
    assert sum(model_cost(config, 32, 32).values(), Cost()) == count(config, 32, 32)
    assert count(config, 32, 32).parameters < count(find_preset("tiny"), 32, 32).parameters


def test_the_presets_are_as_large_as_they_should_be() -> None:
    sizes = {
        name: sum(model_cost(find_preset(name), 256, 256).values(), Cost())
        for name in ("paper", "distilled", "light", "tiny")
    }
    assert sizes["paper"].parameters == pytest.approx(82.6e6, rel=0.01)
    assert sizes["distilled"].parameters == pytest.approx(25.5e6, rel=0.01)  # Tab. 5
    assert sizes["light"].parameters <= 23e6  # which 8 bits each bring under 26 MiB with all the rest
    assert sizes["tiny"].parameters == pytest.approx(1e6, rel=0.1)
    assert find_preset("paper").denoiser.fold == 1
    light = model_cost(find_preset("light"), 256, 256)
    assert light["encoder"].parameters < light["denoiser"].parameters / 3
