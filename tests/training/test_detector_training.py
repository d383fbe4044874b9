from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from training_runs import write_pairs

from deshadow.data.augment import Pairs
from deshadow.data.photos import Photos, load_lit_photos, load_masked_photos
from deshadow.data.rng import Draws
from deshadow.data.synth.banks import open_banks
from deshadow.data.synth.dark_surfaces import DarkSurface, add_dark_surface
from deshadow.data.synth.distractors import Distraction, Painted, distract
from deshadow.data.views import view_grid
from deshadow.nn.config import DETECTORS, DetectorConfig
from deshadow.nn.detector import ShadowDetector
from deshadow.runtime import checkpoint
from deshadow.runtime.open import open_detector
from deshadow.runtime.torch_backend import TorchDetector
from deshadow.training import detector_views
from deshadow.training.batches import HELD_OUT
from deshadow.training.curves import draw_curves, drop_short_lines
from deshadow.training.detector import DetectorCriterion
from deshadow.training.detector_validation import (
    DetectorValidationSet,
    detect_masks,
    make_detector_validation_set,
    validate_detector,
)
from deshadow.training.detector_views import RECIPE_ORDER, STRETCH, DetectorBatch, open_views
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.options import TrainingOptions, parse_training
from deshadow.training.state import STATE, WEIGHTS

CPU = torch.device("cpu")
SHORT = ["--preset", "detector-tiny", "--size", "32", "--batch", "4", "--val-count", "4", "--log-every", "8"]


def options(out: Path, *more: str) -> TrainingOptions:
    return parse_training([*SHORT, "--device", "cpu", "--out", str(out), *more])


def test_a_tiny_detector_learns_drawn_shadows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So small a network does not learn in so few images to tell standing things from their shadows.
    monkeypatch.setattr(detector_views, "RECIPE_ORDER", [kind for kind in RECIPE_ORDER if kind != "standing"])
    monkeypatch.setattr(detector_views, "STANDING", 0.0)
    command = "--preset detector-tiny --size 32 --images 6400 --val-count 48 --validate-every 100000"
    scores = train(parse_training([*command.split(), "--device", "cpu", "--out", str(tmp_path)]))
    assert scores.iou > 0.22
    assert scores.balanced_error_rate < 40  # a guess has 50
    assert scores.in_light < 10
    assert (
        scores.dark_things < 100 - scores.false_negative_rate
    )  # of shadows it finds more than of what only looks dark


def test_a_resumed_run_ends_as_an_unbroken_one_and_its_weights_are_a_detectors(tmp_path: Path) -> None:
    train(options(tmp_path / "whole", "--images", "16", "--decay", "constant"))
    train(options(tmp_path / "parts", "--images", "8", "--decay", "constant"))
    train(options(tmp_path / "parts", "--images", "16", "--decay", "constant", "--resume"))
    expected, found = (
        checkpoint.read_checkpoint(tmp_path / name / STATE).tensors for name in ("whole", "parts")
    )
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name], tensor, atol=1e-6, err_msg=name)
    assert checkpoint.read_checkpoint(tmp_path / "whole" / WEIGHTS).config == DETECTORS["detector-tiny"]
    probability = open_detector(tmp_path / "whole" / WEIGHTS, "cpu")(np.zeros((1, 3, 20, 33), np.float32))
    assert probability.shape == (1, 1, 20, 33)


def test_the_log_has_the_figures_and_curves_are_drawn_from_it(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16"))
    kinds = {line["kind"]: line for line in read_log(tmp_path)}
    assert kinds["train"].keys() >= {"total", "cross_entropy", "overlap"}
    assert kinds["validation"].keys() >= {"iou", "iou_per_picture", "balanced_error_rate", "dark_things"}
    assert draw_curves(tmp_path).stat().st_size > 10_000
    assert (tmp_path / "samples.png").exists()


def test_curves_leave_out_the_last_line_of_a_log_when_it_is_the_mean_of_a_few_images() -> None:
    lines = [{"images": images} for images in (3200, 6400, 9600, 9728)]
    assert drop_short_lines(lines) == lines[:3]
    assert drop_short_lines(lines[:3]) == lines[:3]
    assert drop_short_lines(lines[:1]) == lines[:1]


def test_a_view_depends_on_its_number_alone(tmp_path: Path) -> None:
    views = open_views(options(tmp_path, "--images", "8"), CPU)
    together, alone = views.batch(5, 4), views.batch(7, 1)
    assert torch.equal(together.picture[2], alone.picture[0])
    assert torch.equal(together.mask[2], alone.mask[0])


def test_some_views_are_without_their_shadow_and_have_an_empty_mask(tmp_path: Path) -> None:
    views = open_views(options(tmp_path, "--images", "8"), CPU)
    batch = views.batch(0, 64)
    assert batch.picture.shape == (64, 3, 32, 32)
    assert -1 <= batch.picture.min() < batch.picture.max() <= 1
    assert 0 <= batch.mask.min() < batch.mask.max() <= 1
    assert ((batch.mask > 0.1) & (batch.mask < 0.9)).any()  # a penumbra
    lit = Draws(0, torch.arange(64)).chance("lit", 1, 1, 1, of=0.2).flatten()
    assert 4 < lit.sum() < 24
    assert not batch.mask[lit].any()
    assert batch.mask[~lit].any(dim=(1, 2, 3)).float().mean() > 0.7


def test_things_that_stand_in_a_view_are_dark_things_in_the_light(tmp_path: Path) -> None:
    views = open_views(options(tmp_path, "--images", "8"), CPU)
    made = views.views("standing", range(64))
    assert made.things.mean() > 0.05
    under = made.shadow[made.things > 0.99]
    assert under.mean() < 0.01
    assert under.max() < 0.5  # along the outline, where pixels show both
    first = RECIPE_ORDER.index("standing") * STRETCH
    batch = views.batch(first, 64)
    things = views.views("standing", range(first, first + 64)).things > 0.5
    assert things.any()
    assert batch.dark[things].all()
    assert ((batch.dark == 0) | (batch.dark == 1)).all()


def test_things_stand_in_some_pictures_of_each_kind_but_in_none_that_a_detector_is_validated_on(
    tmp_path: Path,
) -> None:
    chosen = options(tmp_path, "--images", "8", "--val-count", "64")
    views = open_views(chosen, CPU)
    shown = {
        kind: float(views.pictures(kind, range(64)).things.amax((1, 2, 3)).float().mean()) / 255
        for kind in RECIPE_ORDER
    }
    assert shown["standing"] > 0.7
    assert all(0.02 < share < 0.6 for kind, share in shown.items() if kind != "standing"), shown
    held = make_detector_validation_set(chosen, views).pairs
    clean = views.pictures("sunlight", range(HELD_OUT, HELD_OUT + 64), standing=0.0).clean
    assert torch.equal(held.clean, clean)


def test_dark_things_lie_under_the_shadow_and_change_nothing_else() -> None:
    textures, occluders = open_banks(None, None, 48, 0, (7, 2))
    clean = torch.full((16, 3, 48, 48), 0.8)
    picture = clean.clone()
    picture[..., 24:] *= 0.5  # the right half lies in shadow
    draws, always = Draws(0, torch.arange(16)), Distraction(things=(1.0,), softness=(0.1, 0.1))
    painted, covered = distract(picture, clean, textures, occluders, draws, always)
    lit = distract(clean, clean, textures, occluders, draws, always).picture
    untouched = (lit == clean).all(1, keepdim=True)
    assert torch.equal(torch.where(untouched, painted, 0), torch.where(untouched, picture, 0))
    inside = covered & (lit > 0.1).all(1, keepdim=True)
    inside[..., :28] = False
    assert inside.any()
    assert (painted < lit)[inside.expand_as(painted)].all()
    assert lit[covered.expand_as(lit)].mean() < 0.5


def test_views_are_of_many_sizes_and_at_times_the_whole_picture() -> None:
    grid = view_grid(Draws(0, torch.arange(400)), 60, 90, 8)
    reach = grid.abs().amax((1, 2, 3))
    spans = (grid[..., 0].amax((1, 2)) - grid[..., 0].amin((1, 2))) / (2 * 7 / 8)
    whole = (spans - 1).abs() < 1e-4
    assert 0.2 < whole.float().mean() < 0.4
    assert spans.min() < 0.5
    assert spans.max() > 1.2
    assert (reach[spans < 0.99] <= 1.45).all()


def test_the_losses_are_least_where_the_mask_is_found() -> None:
    class Fixed(torch.nn.Module):
        def __init__(self, logits: torch.Tensor) -> None:
            super().__init__()
            self.logits = logits

        def forward(self, picture: torch.Tensor) -> torch.Tensor:
            return self.logits

    mask = torch.zeros(2, 1, 8, 8)
    mask[0, :, :4] = 1  # the second is empty
    dark = torch.zeros_like(mask)
    dark[1, :, :2] = 1
    batch = DetectorBatch(torch.zeros(2, 3, 8, 8), mask, dark)
    right, wrong, none, fooled, alarmed = (
        DetectorCriterion(Fixed(logits))(batch)  # type: ignore[arg-type]
        for logits in (
            20 * (2 * mask - 1),
            20 * (1 - 2 * mask),
            torch.full_like(mask, -20.0),
            20 * (2 * (mask + dark) - 1),
            20 * (2 * (mask + dark.flip(2)) - 1),
        )
    )
    assert right.total == pytest.approx(0, abs=1e-4)
    assert right.total < none.total < wrong.total
    assert none.overlap == pytest.approx(0.5, abs=0.03)  # all of the first missed, the second perfect
    # A dark thing that is taken for shadow costs four times as much as plain ground that is.
    assert fooled.cross_entropy == pytest.approx(4 * alarmed.cross_entropy.item(), rel=1e-3)


def test_validation_counts_false_negatives_and_false_positives() -> None:
    class Bright(ShadowDetector):
        """Takes whatever is darker than the middle for shadow."""

        def forward(self, picture: torch.Tensor) -> torch.Tensor:
            return -picture[:, :1]

    model = Bright(DETECTORS["detector-tiny"])
    clean = torch.full((2, 3, 8, 8), 200, dtype=torch.uint8)
    picture, mask = clean.clone(), torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    picture[0, :, :, :4] = 50
    mask[0, :, :2] = True
    painted, covered = clean.clone(), torch.zeros_like(mask)
    painted[:, :, :2] = 50
    covered[:, :, :4] = True
    things = Painted(painted, covered)
    photos = Photos(picture, mask)
    held = DetectorValidationSet(Pairs(picture, mask, clean), things, things, things, photos, photos)
    scores = validate_detector(model, held)
    assert scores.iou == pytest.approx(8 / 40)
    assert scores.iou_per_picture == pytest.approx((8 / 40 + 1) / 2)
    assert scores.false_negative_rate == pytest.approx(50)
    assert scores.false_positive_rate == pytest.approx(100 * 24 / 112)
    assert scores.balanced_error_rate == pytest.approx(
        (scores.false_negative_rate + scores.false_positive_rate) / 2
    )
    assert scores.in_light == 0
    assert scores.dark_things == scores.dark_surfaces == scores.standing_things == pytest.approx(50)
    assert (scores.photo_iou, scores.photo_balanced_error_rate) == (scores.iou, scores.balanced_error_rate)
    assert scores.lit_photos == pytest.approx(25)
    assert detect_masks(TorchDetector(model), picture).sum() == 32


def test_what_a_detector_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a detector has no guidance: leave --guidance out"):
        options(tmp_path, "--images", "8", "--guidance", "none")
    with pytest.raises(ValueError, match="multiple of 8"):
        options(tmp_path, "--images", "8", "--size", "36")


def test_the_preset_of_a_detector_brings_its_recipe_along(tmp_path: Path) -> None:
    chosen = parse_training(
        ["--preset", "detector", "--minutes", "1", "--out", str(tmp_path), "--rate", "0.1"]
    )
    assert isinstance(chosen.network.config, DetectorConfig)
    assert (chosen.inputs.synthetic, chosen.optimization.rate) == (0.35, 0.1)
    assert chosen.changes()["preset"] == "detector"


def write_photos(folder: Path, count: int = 12) -> Path:
    """Photos whose left part is black and masked, half of them portraits, and their masks."""
    for k in range(count):
        shape = (40, 60) if k % 2 else (60, 40)
        picture, mask = np.full((*shape, 3), 100 + k, np.uint8), np.zeros(shape, np.uint8)
        picture[:, :10], mask[:, :10] = 0, 255
        for role, pixels in (("shadow", picture), ("mask", mask)):
            (folder / role).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / role / f"{k:02}.png")
    return folder


def test_the_shares_of_photos_and_extra_pairs_are_those_asked_for(tmp_path: Path) -> None:
    photos, pairs = write_photos(tmp_path / "photos"), str(write_pairs(tmp_path / "pairs"))
    chosen = options(
        tmp_path / "run",
        *("--images", "8", "--data", pairs, "--extra", pairs, "--extra-share", "0.3", "--synthetic", "0.5"),
        *("--masked", str(photos), "--masked-share", "0.4", "--lit", str(photos), "--lit-share", "0.2"),
    )
    views = open_views(chosen, CPU)
    kinds = Counter(map(views.kind, range(500)))
    shares = {"masked": 200, "extra": 150, "lit": 100, "real": 25}
    assert {kind: kinds[kind] for kind in shares} == pytest.approx(shares, abs=10)
    assert kinds.total() - sum(kinds[kind] for kind in shares) == pytest.approx(25, abs=10)
    # Dark things are painted on all but the photos with masks, which come last in a batch.
    dark = views.batch(0, 64).dark
    masked = sum(views.is_masked(number) for number in range(64))
    assert ((dark == 0) | (dark == 1)).all()
    assert dark[: 64 - masked].any()
    assert not dark[64 - masked :].any()
    with pytest.raises(ValueError, match="add up to more than 1"):
        options(
            tmp_path, "--images", "8", "--masked", str(photos), "--lit", str(photos), "--lit-share", "0.8"
        )


def test_photos_are_trained_on_and_some_of_them_held_out(tmp_path: Path) -> None:
    masked, lit = write_photos(tmp_path / "photos"), write_photos(tmp_path / "lit") / "shadow"
    chosen = options(
        tmp_path / "run",
        *("--images", "8", "--masked", str(masked), "--masked-share", "0.4", "--held-out", "5"),
        *("--lit", str(lit), "--lit-share", "0.2", "--lit-held-out", "2"),
    )
    views = open_views(chosen, CPU)
    assert not views.views("lit", range(16)).shadow.any()
    assert views.views("masked", range(64)).shadow.amax((1, 2, 3)).mean() > 0.5
    # A view depends on its number alone, and not on the views that are made with it.
    together = views.batch(0, 24)
    assert {"masked", "lit"} < {views.kind(number) for number in range(24)}
    alone = torch.cat([views.batch(number, 1).picture for number in range(24)])
    distances = (together.picture[:, None] - alone[None]).abs().mean((2, 3, 4))
    assert sorted(distances.argmin(dim=1).tolist()) == list(range(24))
    assert distances.amin(dim=1).max() < 1e-3
    held = make_detector_validation_set(chosen, views)
    assert held.masked is not None
    assert held.lit is not None
    assert (len(held.masked.picture), len(held.lit.picture)) == (5, 2)
    assert views.masked is not None
    levels = [{int(photo.max()) for photo in part.picture} for part in views.masked]
    assert not levels[0] & levels[1]
    assert len(levels[0] | levels[1]) == 12
    assert held.masked.mask.float().mean() == pytest.approx(10 / 50, abs=0.05)


def test_a_photo_that_lies_on_its_side_is_turned_as_its_mask_is(tmp_path: Path) -> None:
    for folder in ("shadow", "mask"):
        (tmp_path / folder).mkdir()
    upright = np.full((64, 48), 200, np.uint8)
    upright[:20] = 40
    lying = Image.fromarray(np.rot90(upright)).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter to the right
    for name in "ab":
        lying.save(tmp_path / f"shadow/{name}.jpg", exif=exif, quality=95)
        Image.fromarray((upright < 100) * np.uint8(255)).save(tmp_path / f"mask/{name}.png")
    photos = load_masked_photos(tmp_path, 1).train
    assert ((photos.picture[:, :1] < 120) == photos.mask).float().mean() > 0.98


def test_photos_and_masks_must_come_together(tmp_path: Path) -> None:
    photos = write_photos(tmp_path / "photos")
    (photos / "mask" / "03.png").unlink()
    with pytest.raises(ValueError, match="a photo or a mask alone: 03"):
        load_masked_photos(photos, 2)
    with pytest.raises(ValueError, match="are for a detector"):
        parse_training(["--recipe", "tiny", "--images", "8", "--masked", str(photos), "--out", str(tmp_path)])


def test_a_single_photo_is_not_enough_to_train_and_to_validate_on(tmp_path: Path) -> None:
    photos = write_photos(tmp_path / "photos")
    for path in [*photos.rglob("*.*")]:
        if path.is_file() and path.stem != "00":
            path.unlink()
    for load, folder in ((load_masked_photos, photos), (load_lit_photos, photos / "shadow")):
        with pytest.raises(ValueError, match="holds one photo"):
            load(folder, 1)


def test_a_dark_surface_fills_most_of_the_picture_and_lies_under_the_shadow() -> None:
    textures, occluders = open_banks(None, None, 48, 0, (7, 2))
    clean = torch.full((32, 3, 48, 48), 0.8)
    picture = clean.clone()
    picture[..., 24:] *= 0.5
    draws, always = Draws(0, torch.arange(32)), DarkSurface(chance=1.0)
    shaded = add_dark_surface(picture, clean, textures, occluders, draws, always)
    lit = add_dark_surface(clean, clean, textures, occluders, draws, always)
    shares = lit.covered.float().mean((1, 2, 3))
    assert shares.mean() > 0.6
    assert shares.min() > 0.2
    assert lit.picture[lit.covered.expand_as(clean)].mean() < 0.45
    inside = shaded.covered & (lit.picture > 0.1).all(1, keepdim=True)
    inside[..., :28] = False
    assert (shaded.picture < lit.picture)[inside.expand_as(clean)].all()
    never = add_dark_surface(picture, clean, textures, occluders, draws, DarkSurface(chance=0.0))
    assert torch.equal(never.picture, picture)
