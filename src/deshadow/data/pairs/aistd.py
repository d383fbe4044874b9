"""AISTD from ISTD: the colours of shadow-free pictures matched to those of their shadow pictures."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.find import PairSet, Problem, Sample, find, list_problems
from deshadow.data.pairs.new_folder import make_new_folder
from deshadow.data.pairs.pictures import PictureFile, save_picture
from deshadow.system.progress import track


def adjust_colours(
    picture: NDArray[np.uint8], mask: NDArray[np.uint8], clean: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """(H, W, 3), (H, W), (H, W, 3) → (H, W, 3): the clean picture in the colours of the picture.

    The two were taken minutes apart, so ISTD's pairs differ where there is no shadow. Le and Samaras (ICCV
    2019) fit, for each channel of the encoded pictures, a gain and an offset by least squares over all pixels
    outside the mask, and apply them to the whole clean picture.
    """
    gain, offset = fit_colours(picture, mask, clean)
    adjusted: NDArray[np.float64] = clean * gain + 255 * offset
    return adjusted.round().clip(0, 255).astype(np.uint8)


def fit_colours(
    picture: NDArray[np.uint8], mask: NDArray[np.uint8], clean: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """(H, W, 3), (H, W), (H, W, 3) → (2, 3): gain and offset of each channel, for values in [0, 1]."""
    outside = mask == 0
    source, target = (view[outside].astype(np.float64) / 255 for view in (clean, picture))
    if not len(source):
        raise ValueError("the mask covers the whole picture, so no pixel is left to compare")
    mean_source, mean_target = source.mean(0), target.mean(0)
    variance = ((source - mean_source) ** 2).mean(0)
    covariance = ((source - mean_source) * (target - mean_target)).mean(0)
    # A channel that is the same everywhere shows no gain; the least change is to shift it.
    gain = np.divide(covariance, variance, out=np.ones(3), where=variance > 0)
    return np.stack([gain, mean_target - gain * mean_source])


def adjust_folder(
    folder: Path, output: Path, split: str | None = None, skip_problems: bool = False
) -> tuple[int, float, float, list[Problem]]:
    """Make AISTD from ISTD, in AISTD's own layout: train/train_A, train_B, train_C_fixed_official, …

    Returns the number of pairs, the mean absolute difference outside the shadow (in levels of 255) before and
    after, and what was left out.
    """
    pairs = find(folder, split, "istd", skip_problems)
    with make_new_folder(output, folder) as beside:
        done = _adjust_all(pairs, beside)
        broken = [result for result in done if isinstance(result, Problem)]
        differences = np.array([result for result in done if not isinstance(result, Problem)])
        if broken and not (skip_problems and len(differences)):
            raise ValueError(f"{list_problems(broken, most=5)} (in {folder}; skip them with --skip-problems)")
    before, after = differences.mean(0).tolist()
    return len(differences), before, after, [*pairs.problems, *broken]


def _adjust_all(pairs: PairSet, output: Path) -> list[tuple[float, float] | Problem]:
    for split in sorted({sample.split for sample in pairs}):
        for part in ("A", "B", "C_fixed_official"):
            (output / split / f"{split}_{part}").mkdir(parents=True)
    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        jobs = pool.map(lambda sample: _adjust_one(sample, output / sample.split), pairs)
        return list(track(jobs, "Adjusting", len(pairs)))
    finally:
        pool.shutdown(cancel_futures=True)


def _adjust_one(sample: Sample, output: Path) -> tuple[float, float] | Problem:
    """Write one triplet; the mean absolute difference outside the shadow before and after."""
    try:
        picture, mask, clean = sample.load()
        adjusted = adjust_colours(picture, mask, clean)
    except ValueError as error:
        return Problem(str(sample.clean_file), str(error))
    _copy(sample.picture_file, output / f"{sample.split}_A")
    if sample.mask_file is not None:
        _copy(sample.mask_file, output / f"{sample.split}_B")
    else:
        save_picture(output / f"{sample.split}_B" / f"{sample.name}.png", mask)
    save_picture(output / f"{sample.split}_C_fixed_official" / f"{sample.name}.png", adjusted)
    outside = mask == 0
    before, after = (
        float(np.abs(view[outside].astype(np.int16) - picture[outside]).mean()) for view in (clean, adjusted)
    )
    return before, after


def _copy(source: PictureFile, folder: Path) -> None:
    shutil.copyfile(source.path, folder / source.path.name)
