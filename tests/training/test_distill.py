import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import SMALL, random_model
from scenes import write_scenes

from deshadow.data.augment import Pairs
from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.prediction import diffuse
from deshadow.diffusion.sampling import sample
from deshadow.diffusion.schedule import Schedule
from deshadow.nn.config import ModelConfig, find_preset, make_unconditional
from deshadow.nn.layout import model_cost
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint, torch_backend
from deshadow.runtime.backend import condition
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.training.batches import open_source
from deshadow.training.comparison import Contender, compare
from deshadow.training.distill import Distillation, StudentCriterion, distill, parse_distillation
from deshadow.training.figures import measure_figures
from deshadow.training.objectives import Batch
from deshadow.training.state import STATE, WEIGHTS, State
from deshadow.training.validation import make_validation_set, remove_shadows

TEACHER = ModelConfig(SMALL, SMALL, predicts="correction", fusion="map")
SHORT = ["--recipe", "tiny", "--size", "32", "--batch", "8", "--val-count", "8", "--log-every", "32"]
SHORT += ["--device", "cpu", "--out"]
BLIND_STUDENT = ["--sees", "nothing", "--predicts", "noise", "--final", "0", "--guidance", "none"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("teacher") / "teacher.safetensors"
    model = random_model(TEACHER, seed=1)
    with torch.no_grad():  # mostly it tints the picture, and a little it does what nobody knows
        model.denoiser.out.weight.mul_(0.1)
        assert model.denoiser.out.bias is not None
        model.denoiser.out.bias.copy_(torch.tensor([0.5, 0.2, -0.2]).repeat_interleave(4))
    checkpoint.save_model(path, model, half=False)
    return str(path)


def options(teacher: str, out: Path, *more: str) -> Distillation:
    return parse_distillation([teacher, *SHORT, str(out), *more])


def batch() -> Batch:
    generator = torch.Generator().manual_seed(0)
    picture, clean, noise = torch.randn(3, 3, 3, 16, 16, generator=generator)
    return Batch(
        picture, torch.ones(3, 1, 16, 16), clean, noise, torch.tensor([1, 400, 1000]), torch.zeros(3) > 0
    )


def begin(student: LFGDiffusion) -> State:
    return State(student, student, torch.optim.AdamW(student.parameters()))


def lesson(teacher: str, *more: str) -> StudentCriterion:
    chosen = options(teacher, Path("nowhere"), "--images", "8", *more)
    return StudentCriterion(
        begin(random_model(find_preset("tiny"))), chosen.training, chosen, checkpoint.load_remover(teacher)
    )


def test_teacher_and_student_are_compared_in_float32_on_every_device(
    teacher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the precision depends on the device")

    monkeypatch.setattr(torch_backend, "choose_precision", refuse)
    images = torch.zeros(1, 3, 32, 32, dtype=torch.uint8)
    pairs = Pairs(images, torch.ones(1, 1, 32, 32, dtype=torch.bool), images)
    contender = Contender(teacher, 1)
    assert compare(contender, contender, pairs, tmp_path, seed=0, anchor="none").exists()


@pytest.mark.parametrize("predicts", ["noise", "correction"])
def test_the_lesson_is_the_teachers_own_sampling_from_each_timestep(teacher: str, predicts: Any) -> None:
    images, model = batch(), random_model(replace(TEACHER, predicts=predicts))
    criterion = lesson(teacher, "--teacher-steps", "3")
    criterion.teacher = model
    a, s = criterion.level(images.t)
    noisy = diffuse(images.clean, images.noise, a, s)
    with torch.no_grad():
        latent = criterion.teacher.encode(images.picture, images.mask)
        found = criterion.run_teacher(noisy, images, latent)
    for k in (1, 2):  # from t = 1 there are no three steps to take
        one = slice(k, k + 1)
        denoise = condition(TorchBackend(model), images.picture[one], images.mask[one])
        expected = sample(denoise, noisy[one], TEACHER.schedule, steps=3, start=int(images.t[k]))
        torch.testing.assert_close(found[one], expected, atol=1e-2, rtol=1e-3)
    assert found.isfinite().all()


@pytest.mark.parametrize(("predicts", "exact"), [("noise", True), ("correction", False)])
def test_a_teacher_that_predicts_noise_computes_in_float32(teacher: str, predicts: Any, exact: bool) -> None:
    seen = list[torch.dtype]()

    class Watched(LFGDiffusion):
        def forward(self, *given: Any) -> torch.Tensor:
            found = super().forward(*given)
            seen.append(found.dtype)
            return found

    criterion = lesson(teacher)
    criterion.teacher = Watched(replace(TEACHER, predicts=predicts))
    with torch.autocast("cpu", torch.bfloat16):
        criterion(batch())
    assert set(seen) == {torch.float32 if exact else torch.bfloat16}


def test_the_lit_pixels_of_a_lesson_are_those_of_the_photo(teacher: str) -> None:
    images, model = batch(), random_model(replace(TEACHER, predicts="noise"))
    mask = images.mask.clone()
    mask[..., :8] = 0
    images = images._replace(mask=mask)
    criterion = lesson(teacher, "--teacher-steps", "3", "--anchor", "lit")
    criterion.teacher = model
    noisy = diffuse(images.clean, images.noise, *criterion.level(images.t))
    with torch.no_grad():
        latent = model.encode(images.picture, images.mask)
        found = criterion.run_teacher(noisy, images, latent)
    assert torch.equal(found[..., :8], images.picture[..., :8])
    for k in (1, 2):
        one, t = slice(k, k + 1), int(images.t[k])
        picture = images.picture[one]
        denoise = condition(TorchBackend(model), picture, mask[one])
        start = mask[one] * noisy[one] + (1 - mask[one]) * diffuse(
            picture, images.noise[one], *TEACHER.schedule.level(t)
        )
        anchor = Anchor("lit", picture, mask[one])
        expected = sample(denoise, start, TEACHER.schedule, steps=3, start=t, anchor=anchor)
        torch.testing.assert_close(found[one], expected, atol=1e-2, rtol=1e-3)


def test_the_student_learns_at_the_timesteps_that_it_will_visit(teacher: str) -> None:
    visited = lesson(teacher, "--student-steps", "4").visited[1:].tolist()
    assert Counter(visited) == {250: 250, 500: 250, 750: 250, 1000: 250}


@pytest.mark.parametrize("predicts", ["noise", "v", "clean", "correction"])
def test_a_student_that_gives_the_target_has_no_loss(teacher: str, predicts: Any) -> None:
    class Perfect(LFGDiffusion):
        """Gives the true picture at t = 500, said in its own way of predicting."""

        def forward(self, noisy: torch.Tensor, *_: Any) -> torch.Tensor:
            a, s = self.config.schedule.level(500)
            noise = (noisy - a * images.clean) / s
            kinds = {"noise": noise, "v": a * noise - s * images.clean, "clean": images.clean}
            return kinds.get(predicts, images.clean - images.picture)

    images = batch()._replace(t=torch.full((3,), 500))
    student = Perfect(replace(find_preset("tiny"), predicts=predicts))
    for truth, low, high in ((1.0, 0.0, 1e-4), (0.5, 0.05, 1e3)):
        chosen = options(teacher, Path("nowhere"), "--images", "8", "--truth", str(truth))
        criterion = StudentCriterion(
            begin(student),
            chosen.training,
            replace(chosen, student_steps=2),
            checkpoint.load_remover(teacher),
        )
        assert low <= float(criterion.joint_loss(images).denoiser) <= high


def test_the_students_latent_is_pulled_to_the_teachers_and_the_teacher_stays(teacher: str) -> None:
    criterion = lesson(teacher, "--latent", "0.5")
    images = batch()
    losses = criterion.joint_loss(images)
    ours, theirs = (each.encode(images.picture, images.mask) for each in (criterion.model, criterion.teacher))
    assert ours is not None
    assert theirs is not None
    # Of mean 0 and deviation 1 in each picture: a bounded latent can follow one of any range.
    ours, theirs = (
        (each - each.mean(dim=(1, 2, 3), keepdim=True)) / each.std(dim=(1, 2, 3), keepdim=True, correction=0)
        for each in (ours, theirs)
    )
    torch.testing.assert_close(losses.encoder, 0.5 * (ours - theirs).square().mean(), rtol=1e-3, atol=1e-5)
    losses.total.backward()  # type: ignore[no-untyped-call]
    assert criterion.model.encoder is not None
    assert all(p.grad is not None for p in criterion.model.encoder.parameters())
    assert all(p.grad is None for p in criterion.teacher.parameters())


def test_a_one_step_student_comes_near_its_many_step_teacher(teacher: str, tmp_path: Path) -> None:
    more = ["--teacher-steps", "4", "--truth", "0", "--images", "160", "--warmup", "0", "--rate", "3e-3"]
    chosen = options(teacher, tmp_path / "run", *more)
    pairs = make_validation_set(chosen.training, open_source(chosen.training, torch.device("cpu")))
    goal = remove_shadows(TorchBackend(checkpoint.load_remover(teacher)), pairs, 4, chosen.seed)
    torch.manual_seed(chosen.seed)
    untaught = remove_shadows(TorchBackend(LFGDiffusion(chosen.network.model)), pairs, 1, chosen.seed)
    before = measure_figures(untaught, pairs._replace(clean=goal))["regions"]["all"]["lab_mae"]
    distill(chosen)
    found = json.loads((tmp_path / "run" / "distilled.json").read_text())
    assert found["between"]["all"]["lab_mae"] < before / 4
    assert found["teacher"]["steps"] == 4
    assert found["student"]["steps"] == 1
    assert found["teacher"]["parameters"] != found["student"]["parameters"]
    for name, config, steps in (("teacher", TEACHER, 4), ("student", find_preset("tiny"), 1)):
        cost = model_cost(config, 256, 256)
        once, each = cost["encoder"].flop, cost["denoiser"].flop + cost["fusion"].flop
        assert found[name]["gflop"] == pytest.approx((once + steps * each) / 1e9)
    text = (tmp_path / "run" / "distilled.md").read_text()
    assert f"| {found['student']['regions']['shadow']['lab_mae']:.2f} |" in text
    recipe = json.loads(checkpoint.read_checkpoint(tmp_path / "run" / WEIGHTS).notes["recipe"])
    assert recipe["teacher"] == "teacher.safetensors"


def test_a_distillation_goes_on_where_it_paused(teacher: str, tmp_path: Path) -> None:
    write_scenes(tmp_path / "data", count=3, height=40, width=48)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    length = [str(tmp_path / "data"), "--images", "32", "--log-every", "8"]
    distill(options(teacher, whole, *length))
    distill(options(teacher, broken, *length, "--pause-after", "0.0001"))
    assert not (broken / "distilled.md").exists()
    distill(options(teacher, broken, *length, "--resume"))
    assert (broken / "distilled.md").exists()
    expected, found = (checkpoint.read_checkpoint(out / STATE).tensors for out in (whole, broken))
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the teacher"),
        (["sunny", "--images", "8"], "no weights 'sunny'"),
        (["{teacher}"], "say how long"),
        (["{teacher}", "--images", "8", "--truth", "2"], "--truth is a share"),
        (["{teacher}", "--images", "8", "--latent", "-1"], "--latent must be a number"),
        (["{teacher}", "--images", "8", "--teacher-steps", "0"], "number of steps"),
        (["{teacher}", "--images", "8", "--student-steps", "1001"], "number of steps"),
        (["{teacher}", "--images", "8", "--pretrain", "1"], "deshadow distill --help"),
        (["{teacher}", "--images", "8", "{missing}"], "missing"),
        (["{blind}", "--images", "8"], "sees no picture"),
        (["{other}", "--images", "8"], "another noise schedule"),
        (["{teacher}", "--images", "8", *BLIND_STUDENT], "student"),
        (["{teacher}", "--images", "8", "--preset", "detector-tiny"], "detector-tiny detects shadows"),
    ],
)
def test_what_is_wrong_is_said(teacher: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    places = {"teacher": teacher, "missing": str(tmp_path / "missing")}
    for name, config in (
        ("blind", make_unconditional(TEACHER)),
        ("other", replace(TEACHER, schedule=Schedule(length=500))),
    ):
        places[name] = str(tmp_path / f"{name}.safetensors")
        checkpoint.save_model(Path(places[name]), LFGDiffusion(config))
    filled = [argument.format(**places) for argument in arguments]
    with pytest.raises(ValueError, match=message):
        distill(parse_distillation([*filled, *SHORT, str(tmp_path / "run")]))
    assert not (tmp_path / "run" / STATE).exists()
