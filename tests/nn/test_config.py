import json
from dataclasses import replace

import pytest

from deshadow.nn.config import (
    PRESETS,
    ModelConfig,
    UNetShape,
    describe_config,
    find_preset,
    make_palette,
    make_unconditional,
)


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_configuration_survives_json(config: ModelConfig) -> None:
    changed = replace(config, fusion="map", guidance="coarse", predicts="v", sees="picture")
    assert ModelConfig.from_json(changed.to_json()) == changed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "not json",
        json.dumps({**json.loads(find_preset("tiny").to_json()), "colour": "red"}),
        json.dumps({**json.loads(find_preset("tiny").to_json()), "denoiser": {"base": 3}}),
    ],
)
def test_a_foreign_configuration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a model configuration of this version"):
        ModelConfig.from_json(text)


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ValueError, match="unknown preset 'huge': choose from paper, distilled, light, tiny"):
        find_preset("huge")


def test_a_configuration_from_before_models_could_see_less_sees_picture_and_mask() -> None:
    fields = json.loads(find_preset("tiny").to_json())
    del fields["sees"]
    assert ModelConfig.from_json(json.dumps(fields)) == find_preset("tiny")


def test_a_model_that_sees_nothing_has_no_picture_to_correct() -> None:
    with pytest.raises(ValueError, match="sees no picture cannot correct one"):
        replace(find_preset("tiny"), sees="nothing", guidance="none")
    assert make_unconditional(find_preset("tiny")).unconditional
    assert not make_palette(find_preset("tiny")).unconditional
    assert not replace(find_preset("tiny"), sees="nothing").unconditional  # the latent has seen it (Eq. 9)


@pytest.mark.parametrize("field", ["guidance", "fusion", "predicts", "sees"])
def test_unknown_choices_are_named(field: str) -> None:
    with pytest.raises(ValueError, match="'magic': choose from"):
        replace(find_preset("tiny"), **{field: "magic"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"base": 0}, "positive base"),
        ({"multipliers": ()}, "at least one level"),
        ({"attention": (7,)}, "level 7 has attention, but there are 2 levels"),
        ({"head_channels": 5}, "heads of 5"),
    ],
)
def test_impossible_shapes_are_refused(shape: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UNetShape(**{"base": 8, "multipliers": (1, 2), "head_channels": 8, **shape})  # type: ignore[arg-type]


def test_presets_are_described_by_name() -> None:
    assert describe_config(find_preset("light")) == "preset 'light'"
    assert "'light' with guidance none" in describe_config(replace(find_preset("light"), guidance="none"))
    assert "sees picture" in describe_config(replace(find_preset("light"), sees="picture"))
    free = replace(find_preset("light"), latent_range="free")
    assert describe_config(free).endswith("latent range free")
    assert "of its own" in describe_config(
        replace(find_preset("light"), denoiser=find_preset("tiny").denoiser)
    )
