"""The protocol: a method runs on every picture of a set and is scored at 256 × 256 and at native size."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.find import PairSet, Problem, Sample, Triplet, pick_evenly
from deshadow.data.pairs.statistics import dark_rate, shadow_fraction
from deshadow.evaluation.methods import BATCH, Input, Method, RemoveBatch, load_input, make_input
from deshadow.image.resize import PROTOCOL_SIDE, bicubic, nearest
from deshadow.metrics.scores import InstanceScore, Scores, score, score_instance
from deshadow.system.progress import track

Pixels = NDArray[np.uint8]
Perceptual = Callable[[Pixels, Pixels], float]
Scored = TypeVar("Scored")


@dataclass(frozen=True, slots=True)
class PictureScore:
    """The figures of one picture."""

    name: str
    split: str
    width: int
    height: int
    shadow_fraction: float
    dark_rate: float
    """See `deshadow.data.pairs.statistics.dark_rate`; nan when the mask is empty."""
    grey: bool
    """Whether the input has no colour."""
    resized: bool
    """Whether the result came in another size than the truth."""
    seconds: float
    small: Scores
    """At 256 × 256."""
    native: Scores
    instance: InstanceScore | None = None
    """At native size, where the sample is one shadow of several."""
    lpips: float | None = None
    """At 256 × 256, where it was asked for."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that the report shows, at native size."""

    score: PictureScore
    triplet: Triplet
    result: Pixels


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of a method on a set."""

    method: Method
    pictures: tuple[PictureScore, ...]
    """In the order of their names."""
    problems: tuple[Problem, ...]
    """The pictures that could not be scored, and why."""
    worst: tuple[Shown, ...] = ()
    best: tuple[Shown, ...] = ()


def evaluate_method(
    method: Method,
    samples: Sequence[Sample],
    *,
    workers: int = 1,
    shown: int = 0,
    perceptual: Perceptual | None = None,
) -> Evaluation:
    """Run a method on samples and score it; the `shown` worst and best results are kept for the report."""
    if method.prepare is not None:
        method.prepare(samples, load_input)
    done: list[PictureScore] = []
    problems: list[Problem] = []
    worst: list[Shown] = []
    best: list[Shown] = []
    for outcome in _progress(method, samples, workers, perceptual):
        if isinstance(outcome, Problem):
            problems.append(outcome)
            continue
        done.append(outcome.score)
        if shown and outcome.score.small.regions["shadow"].pixels:
            worst = sorted([*worst, outcome], key=_error, reverse=True)[:shown]
            best = sorted([*best, outcome], key=_error)[:shown]
    if not done:
        first = f": {problems[0]}" if problems else ""
        raise ValueError(f"no picture could be scored for {method.name}{first}")
    # In a small set a picture could be among the worst and among the best: it is shown once.
    half = (len({*map(_error, worst), *map(_error, best)}) + 1) // 2
    return Evaluation(
        method,
        tuple(sorted(done, key=lambda each: (each.split, each.name))),
        tuple(sorted(problems, key=str)),
        tuple(worst[:half]),
        tuple(each for each in best if _error(each) not in set(map(_error, worst[:half]))),
    )


def score_sample(
    method: Method,
    sample: Sample,
    perceptual: Perceptual | None = None,
    turn: AbstractContextManager[object] | None = None,
) -> Shown:
    """Run a method on one picture and score it; ValueError if a file cannot be read.

    `turn` is held while the method runs, so that nothing else runs beside it and its time can be measured.
    """
    triplet = sample.load()
    given = make_input(sample, triplet)
    with turn or nullcontext():
        start = time.perf_counter()
        result = method.remove(given)
        seconds = time.perf_counter() - start
    return score_result(sample, triplet, given, result, seconds, perceptual)


def score_result(
    sample: Sample,
    triplet: Triplet,
    given: Input,
    result: Pixels,
    seconds: float,
    perceptual: Perceptual | None = None,
) -> Shown:
    """The figures of one result at 256 × 256 and at native size."""
    picture, mask, truth = triplet
    height, width = mask.shape
    small, small_truth = (bicubic(each, PROTOCOL_SIDE, PROTOCOL_SIDE) for each in (result, truth))
    native = bicubic(result, height, width)
    scored = PictureScore(
        name=sample.name,
        split=sample.split,
        width=width,
        height=height,
        shadow_fraction=shadow_fraction(mask),
        dark_rate=dark_rate(picture, mask, truth),
        grey=bool((picture == picture[..., :1]).all()),
        resized=result.shape != truth.shape,
        seconds=seconds,
        small=score(small, small_truth, nearest(mask, PROTOCOL_SIDE, PROTOCOL_SIDE) > 127),
        native=score(native, truth, mask > 127),
    )
    if sample.instance is not None:
        protected = given.selection.protected
        others = np.zeros(mask.shape, bool) if protected is None else protected
        scored = replace(scored, instance=score_instance(native, picture, truth, mask > 127, others))
    if perceptual is not None:
        scored = replace(scored, lpips=perceptual(small, small_truth))
    return Shown(scored, triplet, native)


def choose_samples(pairs: PairSet, limit: int | None) -> tuple[Sample, ...]:
    """All samples of a set, or at most `limit` of them, evenly spaced over it."""
    if limit is None:
        return pairs.samples
    if limit < 1:
        raise ValueError(f"--limit {limit}: at least 1 is needed")
    return tuple(pick_evenly(pairs.samples, limit))


def _progress(
    method: Method, samples: Sequence[Sample], workers: int, perceptual: Perceptual | None
) -> Iterator[Shown | Problem]:
    pool, turn = ThreadPoolExecutor(max_workers=workers), Lock()

    def score_one(sample: Sample) -> Shown | Problem:
        return _or_problem(sample, lambda: score_sample(method, sample, perceptual, turn))

    try:
        if method.remove_batch is None:
            outcomes: Iterable[Shown | Problem] = pool.map(score_one, samples)
        else:
            outcomes = _score_batches(method.remove_batch, samples, pool, perceptual, score_one)
        yield from track(outcomes, method.name, len(samples))
    finally:
        pool.shutdown(cancel_futures=True)


def _score_batches(
    remove: RemoveBatch,
    samples: Sequence[Sample],
    pool: ThreadPoolExecutor,
    perceptual: Perceptual | None,
    score_one: Callable[[Sample], Shown | Problem],
) -> Iterator[Shown | Problem]:
    """Run a method on batches of samples; the pool reads the next batch meanwhile, and scores the results."""

    def read(sample: Sample) -> tuple[Sample, Triplet, Input] | Problem:
        def load() -> tuple[Sample, Triplet, Input]:
            triplet = sample.load()
            return sample, triplet, make_input(sample, triplet)

        return _or_problem(sample, load)

    batches = [samples[first : first + BATCH] for first in range(0, len(samples), BATCH)]
    coming = pool.map(read, batches[0] if batches else [])
    for place in range(len(batches)):
        loaded = list(coming)
        coming = pool.map(read, batches[place + 1] if place + 1 < len(batches) else [])
        yield from (each for each in loaded if isinstance(each, Problem))
        good = [each for each in loaded if not isinstance(each, Problem)]
        if not good:
            continue
        start = time.perf_counter()
        try:
            results = remove([given for _, _, given in good])
        except ValueError:  # of one of them, which is found one by one
            yield from (score_one(sample) for sample, *_ in good)
            continue
        seconds = (time.perf_counter() - start) / BATCH
        yield from pool.map(
            score_result,
            [sample for sample, _, _ in good],
            [triplet for _, triplet, _ in good],
            [given for _, _, given in good],
            results,
            [seconds] * len(good),
            [perceptual] * len(good),
        )


def _or_problem(sample: Sample, work: Callable[[], Scored]) -> Scored | Problem:
    try:
        return work()
    except ValueError as error:
        return Problem(sample.name, str(error))


def _error(shown: Shown) -> tuple[float, str, str]:
    lab_mae = shown.score.small.regions["shadow"].lab_mae
    assert not math.isnan(lab_mae)
    return lab_mae, shown.score.split, shown.score.name
