"""What the training of a detector minimises."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deshadow.nn.detector import ShadowDetector
from deshadow.training.detector_views import DetectorBatch

SMOOTHING = 0.005
"""Share of the picture that is added to numerator and denominator of the overlap, for empty masks."""

DARK = 3.0
"""How much more the cross-entropy weighs where a dark thing that is no shadow lies in the light."""


class DetectorLosses(NamedTuple):
    """One number each; `total` is what is minimised."""

    total: Tensor
    cross_entropy: Tensor
    overlap: Tensor
    """1 − the overlap (Dice) of the found and the true mask, a mean over pictures."""


class DetectorCriterion(nn.Module):
    """A detector with its losses."""

    def __init__(self, model: ShadowDetector) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: DetectorBatch, pretraining: bool = False) -> DetectorLosses:
        """Both losses of a batch, for each pixel and for the mask as a whole."""
        assert not pretraining
        logits, mask = self.model(batch.picture).float(), batch.mask
        weight = 1 + DARK * batch.dark * (1 - mask)
        cross_entropy = F.binary_cross_entropy_with_logits(logits, mask, weight)
        found = torch.sigmoid(logits)
        smoothing = SMOOTHING * mask[0].numel()
        both = (found * mask).sum((1, 2, 3)) + smoothing
        # Squares, so that in a penumbra too the overlap is largest where found and true mask are equal.
        sizes = (found.square() + mask.square()).sum((1, 2, 3)) + 2 * smoothing
        overlap = (1 - 2 * both / sizes).mean()
        return DetectorLosses(cross_entropy + overlap, cross_entropy, overlap)
