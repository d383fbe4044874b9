"""`deshadow latent`: panels of a photo and of what guides its removal, on both runtimes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from random_models import FLAT, random_model
from scenes import scene

from deshadow.cli.app import main
from deshadow.diffusion.arrays import Array
from deshadow.nn.config import Guidance, ModelConfig, find_preset
from deshadow.removal.guidance import encode_photo_guidance
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection
from deshadow.runtime.checkpoint import load_remover, save_model
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.torch_backend import TorchBackend


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    picture, mask, _ = scene(height=90, width=130)
    for name, pixels in (("photo.png", picture), ("mask.png", mask)):
        Image.fromarray(pixels).save(tmp_path / name)
    return tmp_path / "photo.png"


def draw(photo: Path, *more: str) -> list[np.ndarray]:
    """Runs the command; the panels of the picture, in rows."""
    output = photo.with_name("sheet.png")
    mask = ["--mask", str(photo.with_name("mask.png"))]
    with pytest.raises(SystemExit) as end:
        main(["latent", str(photo), *mask, "-o", str(output), *more])
    assert not end.value.code
    sheet = np.asarray(Image.open(output))
    count = round((sheet.shape[1] - 12) / 142)
    return [sheet[12:102, 12 + k * 142 : 142 + k * 142] for k in range(count)]


def weights(folder: Path, name: str, guidance: Guidance) -> str:
    path = folder / f"{name}.safetensors"
    save_model(path, random_model(replace(ModelConfig(FLAT, FLAT), guidance=guidance)))
    return str(path)


def test_photo_mask_latent_and_result_stand_side_by_side(
    photo: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, mask, latent, result = draw(photo, "--weights", str(exported))
    pixels = np.asarray(Image.open(photo))
    true = np.asarray(Image.open(photo.with_name("mask.png")))
    assert np.array_equal(before, pixels)
    assert set(np.unique(mask)) == {0, 255}
    assert (mask[true > 0] == 255).all()
    assert (latent[..., 0] == latent[..., 1]).all()
    assert {0, 255} <= set(np.unique(latent))
    assert not np.array_equal(result, pixels)
    assert np.array_equal(result[-9:, :9], pixels[-9:, :9])  # far from the shadow
    printed = capsys.readouterr().out
    assert "latent of tiny, black to white: " in printed
    assert printed.splitlines()[-1] == str(photo.with_name("sheet.png"))


def test_several_weights_show_their_guidances_and_no_result(photo: Path) -> None:
    kinds: tuple[Guidance, ...] = ("colour", "coarse", "latent")
    given = [weights(photo.parent, f"by-{kind}", kind) for kind in kinds]
    panels = draw(photo, "--weights", *given)
    assert len(panels) == 2 + 3
    coloured = [bool((panel[..., 0] != panel[..., 1]).any()) for panel in panels[2:]]
    assert coloured == [True, True, False]


def test_both_runtimes_give_the_latent_that_guides_the_removal(exported: Path) -> None:
    picture, mask, _ = scene(height=50, width=70)  # no multiples of the stride: padded, then cut again
    pixels = picture.astype(np.float32) / np.float32(255)
    selection = Selection(mask.astype(np.float32) / np.float32(255))
    backends = OnnxBackend(exported), TorchBackend(load_remover(exported))
    latents = [encode_photo_guidance(backend, pixels, selection) for backend in backends]
    assert latents[0].shape == (1, 50, 70)
    np.testing.assert_allclose(latents[0], latents[1], atol=1e-3)
    seen: list[np.ndarray] = []

    class Watching(OnnxBackend):
        def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
            seen.append(np.asarray(guidance))
            return super().predict(noisy, t, picture, mask, guidance)

    Remover(Watching(exported)).relight(pixels, selection)
    np.testing.assert_array_equal(latents[0], seen[0][0, :, :50, :70])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-o", "photo.png"], "would be overwritten"),
        (["-o", "x.xyz"], "x.xyz"),
        (["-o", "x.png", "--weights", "none.safetensors"], "have no guidance"),
        (["-o", "x.png", "--weights", "none.safetensors", "none.safetensors"], "the same name"),
        (["-o", "x.png", "--mask", "masks"], "file not found"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    photo: Path,
    more: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(photo.parent)
    save_model(Path("none.safetensors"), random_model(replace(find_preset("tiny"), guidance="none")))
    before = photo.read_bytes()
    mask = [] if "--mask" in more else ["--mask", "mask.png"]
    with pytest.raises(SystemExit) as end:
        main(["latent", "photo.png", *mask, *more])
    errors = capsys.readouterr().err
    assert end.value.code == 2
    assert words in errors
    assert errors.count("\n") == 1
    assert photo.read_bytes() == before
    assert not Path("x.png").exists()
