"""The weights of EfficientNet-lite0 as the backbone of a detector: the same features, without norms."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.nn.config import DETECTORS
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.layout import lay_out_detector
from deshadow.runtime.checkpoint import save_model
from deshadow.training.backbone import EPSILON, convert, main
from deshadow.training.options import parse_training
from deshadow.training.tasks import new_detector

BLOCKS = lay_out_detector(DETECTORS["detector"]).down


def draw_weights() -> dict[str, Tensor]:
    """Random weights under the names of the published file."""
    torch.manual_seed(0)
    found: dict[str, Tensor] = {}

    def add(conv: str, norm: str, outputs: int, inputs: int, kernel: int) -> None:
        spread = (inputs * kernel**2) ** -0.5
        found[f"{conv}.weight"] = spread * torch.randn(outputs, inputs, kernel, kernel)
        for part in ("bias", "running_mean"):
            found[f"{norm}.{part}"] = 0.3 * torch.randn(outputs)
        for part in ("weight", "running_var"):
            found[f"{norm}.{part}"] = 0.5 + torch.rand(outputs)

    add("_conv_stem", "_bn0", DETECTORS["detector"].stem, 3, 3)
    for number, block in enumerate(BLOCKS):
        name = f"_blocks.{number}._"
        if block.hidden != block.inputs:
            add(f"{name}expand_conv", f"{name}bn0", block.hidden, block.inputs, 1)
        add(f"{name}depthwise_conv", f"{name}bn1", block.hidden, 1, block.kernel)
        add(f"{name}project_conv", f"{name}bn2", block.outputs, block.hidden, 1)
    return found


def run(weights: dict[str, Tensor], x: Tensor, conv: str, norm: str, stride: int = 1) -> Tensor:
    """A convolution as TensorFlow pads it, and the norm after it."""
    weight = weights[f"{conv}.weight"]
    pads = []
    for side in (x.shape[-1], x.shape[-2]):
        missing = max((-(-side // stride) - 1) * stride + weight.shape[-1] - side, 0)
        pads += [missing // 2, missing - missing // 2]
    h = F.conv2d(F.pad(x, pads), weight, stride=stride, groups=x.shape[1] if weight.shape[1] == 1 else 1)
    mean, variance, scale, shift = (
        weights[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
    )
    return F.batch_norm(h, mean, variance, scale, shift, eps=EPSILON)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "lite0.pth"
    torch.save(draw_weights(), path)
    return path


def test_the_backbone_is_the_published_network(given: Path, tmp_path: Path) -> None:
    converted = convert(str(given), str(tmp_path / "lite0.safetensors"))
    command = ["--preset", "detector", "--images", "8", "--encoder", str(converted), "--out", str(tmp_path)]
    model = new_detector(parse_training(command).network)
    weights, picture = draw_weights(), torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        expected = F.relu6(run(weights, picture, "_conv_stem", "_bn0", stride=2))
        found = F.relu6(model.stem(picture))
        for number, block in enumerate(BLOCKS):
            name, x = f"_blocks.{number}._", expected
            if block.hidden != block.inputs:
                expected = F.relu6(run(weights, x, f"{name}expand_conv", f"{name}bn0"))
            expected = F.relu6(
                run(weights, expected, f"{name}depthwise_conv", f"{name}bn1", stride=block.stride)
            )
            expected = run(weights, expected, f"{name}project_conv", f"{name}bn2")
            expected = x + expected if x.shape == expected.shape else expected
            found = model.down[number](found)
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    assert expected.std() > 0.1


def test_a_backbone_of_its_own_replaces_that_of_the_initial_weights(given: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    initial = ShadowDetector(DETECTORS["detector"])
    save_model(tmp_path / "initial.safetensors", initial)
    converted = convert(str(given), str(tmp_path / "lite0.safetensors"))
    command = ["--preset", "detector", "--images", "8", "--init", str(tmp_path / "initial.safetensors")]
    model = new_detector(parse_training([*command, "--encoder", str(converted)]).network)
    alone = new_detector(
        parse_training(["--preset", "detector", "--images", "8", "--encoder", str(converted)]).network
    )
    tensors, backbone, rest = (each.state_dict() for each in (model, alone, initial))
    name = "down.3.project.weight"
    torch.testing.assert_close(tensors[name], backbone[name])
    name = "up.0.conv1.weight"
    torch.testing.assert_close(tensors[name], rest[name], rtol=1e-2, atol=1e-3)


def test_in_a_new_backbone_signals_neither_fade_nor_grow_from_block_to_block() -> None:
    torch.manual_seed(0)
    model, pictures = ShadowDetector(DETECTORS["detector"]), torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        h = F.relu6(model.stem(pictures))
        for block in model.down:
            h = block(h)
    assert 0.03 < h.std() < 30
    assert (h[0] - h[1]).std() > 0.1  # what is left does not come from the biases alone


def test_other_files_are_refused_in_one_line(
    given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / "other.pth")
    torch.save(draw_weights() | {"_blocks.0._se_reduce.weight": torch.zeros(1)}, tmp_path / "b0.pth")
    torch.save(torch.zeros(1), tmp_path / "tensor.pth")
    (tmp_path / "text.pth").write_text("not weights")
    for arguments, message in (
        ([str(tmp_path / "text.pth"), str(tmp_path / "a.safetensors")], "text.pth is not a file of torch"),
        ([str(tmp_path / "other.pth"), str(tmp_path / "a.safetensors")], "'_conv_stem.weight' is missing"),
        ([str(tmp_path / "b0.pth"), str(tmp_path / "a.safetensors")], "does not hold the weights"),
        ([str(tmp_path / "tensor.pth"), str(tmp_path / "a.safetensors")], "does not hold the weights"),
        ([str(given)], "name the file of EfficientNet-lite0 and a file ending in .safetensors"),
        ([str(given), str(tmp_path / "a.pth")], "ending in .safetensors"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert message in capsys.readouterr().err
    assert not (tmp_path / "a.safetensors").exists()
