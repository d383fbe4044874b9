"""Connected regions of a mask, in numpy alone."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def label(mask: Mask) -> NDArray[np.int32]:
    """(H, W) → (H, W): 0 outside, 1, 2, … for each region of pixels that touch by a side.

    Runs of masked pixels along the rows are joined, because a mask has far fewer runs than pixels.
    """
    height, width = mask.shape
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    parents = list(range(len(rows)))

    def root(run: int) -> int:
        while parents[run] != run:
            parents[run] = parents[parents[run]]
            run = parents[run]
        return run

    # Two runs touch when they overlap in neighbouring rows. With all rows in one line, runs are sorted
    # intervals, so that those below a run are consecutive, and bisection finds the first and the last.
    top, bottom = rows * width + starts, rows * width + ends
    first = np.searchsorted(bottom, top + width, side="right")
    last = np.searchsorted(top, bottom + width, side="left")
    for run, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for below in range(begin, end):
            one, other = root(run), root(below)
            parents[max(one, other)] = min(one, other)
    _, names = np.unique([root(run) for run in range(len(rows))], return_inverse=True)
    steps = np.zeros(height * width + 1, np.int32)
    np.add.at(steps, top, names + 1)
    np.add.at(steps, bottom, -(names + 1))
    return np.cumsum(steps[:-1], dtype=np.int32).reshape(height, width)


def remove_small(mask: Mask, least: int) -> Mask:
    """(H, W) → (H, W) without the regions of fewer than `least` pixels."""
    labels = label(mask)
    keep = np.bincount(labels.ravel()) >= least
    keep[0] = False
    kept: Mask = keep[labels]
    return kept
