import math

import numpy as np
import pytest
import torch
from scenes import scene

from deshadow.metrics.detection import Confusion, confusion
from deshadow.metrics.scores import lab_difference, score_instance


def test_detection_is_what_counting_pixels_gives() -> None:
    rng = np.random.default_rng(0)
    mask, truth = (rng.integers(0, 256, (20, 30), dtype=np.uint8) for _ in range(2))
    pairs = list(zip((mask > 127).ravel().tolist(), (truth > 127).ravel().tolist(), strict=True))
    true_positives, false_negatives = pairs.count((True, True)), pairs.count((False, True))
    false_positives, true_negatives = pairs.count((True, False)), pairs.count((False, False))
    ours = confusion(mask, truth)
    assert (
        ours
        == confusion(torch.from_numpy(mask), torch.from_numpy(truth))
        == confusion(mask > 127, truth > 127)
    )
    assert ours == Confusion(true_positives, false_negatives, false_positives, true_negatives)
    hits = (
        true_positives / (true_positives + false_negatives)
        + true_negatives / (true_negatives + false_positives)
    ) / 2
    assert ours.balanced_error_rate == pytest.approx(100 * (1 - hits))
    assert ours.iou == pytest.approx(true_positives / (true_positives + false_negatives + false_positives))


def test_a_perfect_mask_an_inverted_one_and_none() -> None:
    _, truth, _ = scene()
    assert (confusion(truth, truth).balanced_error_rate, confusion(truth, truth).iou) == (0, 1)
    inverted = confusion(255 - truth, truth)
    assert (inverted.balanced_error_rate, inverted.iou) == (100, 0)
    assert confusion(truth * 0, truth).balanced_error_rate == 50
    nothing = confusion(truth * 0, truth * 0)
    assert math.isnan(nothing.balanced_error_rate)
    assert nothing.iou == 1


def test_a_set_is_pooled_over_its_pixels() -> None:
    one, other = Confusion(8, 2, 1, 89), Confusion(0, 10, 0, 90)
    assert (one + other).balanced_error_rate == pytest.approx(50 * (12 / 20 + 1 / 180))


def test_an_instance_is_wrong_inside_its_shadow_and_where_others_were_touched() -> None:
    picture, mask, clean = scene()
    target, others = mask > 0, mask > 0
    target, others = target.copy(), others.copy()
    target[:, 80:], others[:, :80] = False, False
    truth = np.where(target[..., None], clean, picture)
    perfect = score_instance(truth, picture, truth, target, others)
    assert perfect == (0, 0, 0)
    untouched = score_instance(picture, picture, truth, target, others)
    assert untouched.inside > 10
    assert untouched[1:] == (0, 0)
    too_much = score_instance(clean, picture, truth, target, others)
    assert too_much.inside == 0
    assert too_much.others == pytest.approx(lab_difference(clean, picture, others))
    assert too_much.outside == pytest.approx(too_much.others * others.sum() / (~target).sum())
    assert math.isnan(score_instance(truth, picture, truth, target, others & False).others)
