"""Errors at full resolution: synthetic shadows on photos of 12 megapixels, scored at their own size.

python benchmarks/full_resolution.py BACKGROUNDS [--count 8] [--seed 0] [--crops FOLDER]

BACKGROUNDS is backgrounds-1.tar, whose pictures were kept out of training; benchmarks/stitched_photos.py
makes the photos of them, others for each seed. Quick and Removal are given the true mask, as is the network's
own result at 512 pixels, merely enlarged and composited over the photo by the same weight; Quick is scored
with detected masks as well. The tables are Markdown. `--crops` writes crops of all results at 100 %, side by
side.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from stitched_photos import LAYOUTS, StitchedPhoto, stitch_photos

from deshadow.image.colour import round_to_8_bits, srgb_to_lab
from deshadow.image.filters import resize
from deshadow.image.sheets import Card, draw_sheet
from deshadow.image.strips import for_each_strip
from deshadow.metrics.pooling import gradient_correlation, pool, sharpness
from deshadow.metrics.scores import REGIONS, Energy, RegionScore, Scores, gradient_energy, lab_sums, psnr
from deshadow.metrics.ssim import ssim
from deshadow.removal.modes import composite, make_network_input
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import weigh
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection
from deshadow.runtime.backend import sample_picture
from deshadow.system.memory import release_freed_memory

Codes = NDArray[np.uint8]
CROP, CROPS = 480, 3
"""Side of a crop, and crops of each photo."""
WINDOW = 11
"""Side of a window of SSIM."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("backgrounds", type=Path)
    parser.add_argument("--count", type=int, default=len(LAYOUTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", default="light")
    parser.add_argument("--crops", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.crops:
        given.crops.mkdir(parents=True, exist_ok=True)
    remover, scores = Remover(given.weights), defaultdict[str, list[Scores]](list)
    print("| photo | share in shadow | input | enlarged | Quick | Removal | Quick, detected |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for photo in stitch_photos(given.backgrounds, given.seed, given.count):
        release_freed_memory()
        results = dict(remove_shadows(remover, photo))
        for method, result in results.items():
            scores[method].append(score_in_strips(result, photo.truth, photo.mask))
        errors = " | ".join(f"{own[-1].regions['shadow'].lab_mae:.2f}" for own in scores.values())
        print(f"| {photo.name} | {photo.mask.mean():.0%} | {errors} |", flush=True)
        if given.crops:
            draw_crops(photo, results).save(given.crops / f"{photo.name.replace(', ', '-')}.png")
    places = "shadow", "outside", "all"
    columns = [f"{name}, {place}" for name in ("LAB", "PSNR", "SSIM") for place in places]
    print(f"\n| | {' | '.join(columns)} | sharpness | gradient correlation |")
    print("|---" * (len(columns) + 3) + "|")
    for method, own in scores.items():
        regions = [pool(own)[name] for name in REGIONS]
        cells = [f"{each.lab_mae:.2f}" for each in regions] + [f"{each.psnr:.2f}" for each in regions]
        cells += [f"{each.ssim:.4f}" for each in regions]
        cells += [f"{sharpness(own):.2f}", f"{gradient_correlation(own):.2f}"]
        print(f"| {method} | {' | '.join(cells)} |")


def remove_shadows(remover: Remover, photo: StitchedPhoto) -> Iterator[tuple[str, Codes]]:
    """The results of all methods, (H, W, 3), by their names."""
    pixels = photo.picture.astype(np.float32) / np.float32(255)
    selection = remover.select(pixels, photo.mask)
    yield "input", photo.picture
    yield "enlarged", enlarge_network_result(remover, pixels, selection)
    for mode in ("quick", "removal"):
        result = remover.relight(pixels, selection, RemovalOptions(mode=mode))
        assert result is not None
        yield mode.capitalize(), round_to_8_bits(result.composite(pixels))
    found = remover.relight(pixels)
    yield "Quick, detected", photo.picture if found is None else round_to_8_bits(found.composite(pixels))


def enlarge_network_result(remover: Remover, pixels: NDArray[np.float32], selection: Selection) -> Codes:
    """(H, W, 3): what the network makes of the photo at 512 pixels, resized and composited over the photo."""
    options, backend = RemovalOptions(), remover.backend
    _, picture, mask = make_network_input(pixels, selection, options.dilate)
    noise = np.random.default_rng(options.seed).standard_normal(picture.shape).astype(np.float32)
    found = sample_picture(backend, picture, mask, noise, steps=options.steps)
    small = (found[0].transpose(1, 2, 0) + 1) / 2
    weight = weigh(selection, options.dilate, options.feather)
    large: Codes = round_to_8_bits(composite(pixels, resize(small, *weight.shape), weight))
    return large


def score_in_strips(result: Codes, truth: Codes, inside: NDArray[np.bool_]) -> Scores:
    """`deshadow.metrics.scores.score`, in little memory: sums over strips of rows.

    The windows of SSIM that begin in a strip and the differences to the row below it need further rows.
    """
    height, width = inside.shape
    totals = defaultdict[str, list[NDArray[np.float64]]](list)

    def measure(rows: slice) -> None:
        own, top = rows.stop - rows.start, rows.start
        similar = slice(top, min(rows.stop + WINDOW - 1, height))
        if similar.stop - top >= WINDOW:
            windows = similar.stop - top - WINDOW + 1
            means = ssim(result[similar], truth[similar], inside[similar])
            totals["ssim"].append(windows * np.array(means))
        wider = slice(top, min(rows.stop + 1, height))
        lab_result, lab_truth = srgb_to_lab(result[wider]), srgb_to_lab(truth[wider])
        difference = (lab_result - lab_truth)[:own]
        levels = ((result[rows].astype(np.int32) - truth[rows]) ** 2).sum(axis=-1)
        shadow = inside[rows]
        for name, region in zip(REGIONS, (shadow, ~shadow, np.ones_like(shadow)), strict=True):
            sums = lab_sums(difference, region)
            totals[name].append(np.array([region.sum(), levels[region].sum(), *sums], np.float64))
        lightness = lab_result[..., 0], lab_truth[..., 0], inside[wider]
        energy = np.array(gradient_energy(*lightness))
        below = np.array(gradient_energy(*(each[own:] for each in lightness)))  # belongs to the next strip
        totals["energy"].append(energy - below)

    for_each_strip(measure, height, width, multiple=128)
    sums = {name: [math.fsum(column) for column in zip(*own, strict=True)] for name, own in totals.items()}
    similarity = [each / (height - WINDOW + 1) for each in sums["ssim"]]
    regions = {}
    for name, similar in zip(REGIONS, similarity, strict=True):
        pixels, error, absolute, squared = sums[name]
        whole, part = psnr(error, 3 * inside.size), psnr(error, 3 * round(pixels))
        regions[name] = RegionScore(round(pixels), absolute, squared, whole, part, similar)
    return Scores(regions, Energy(*sums["energy"]))


def draw_crops(photo: StitchedPhoto, results: dict[str, Codes]) -> Image.Image:
    """Crops of the photo, the truth and the results at 100 %: along the edge of the shadow and inside it."""
    rng = np.random.default_rng(0)
    share = resize(photo.mask, photo.mask.shape[0] // CROP, photo.mask.shape[1] // CROP)
    views = {"input": photo.picture, "truth": photo.truth, **results}
    cards, shown = [], np.zeros(share.shape, bool)
    for wanted in np.linspace(0.4, 1.0, CROPS):
        near = np.where(shown, np.inf, np.abs(share - wanted))
        chosen = rng.choice(np.argwhere(near <= near.min() + 0.1))
        shown[tuple(chosen)] = True
        row, column = chosen * CROP
        place = slice(row, row + CROP), slice(column, column + CROP)
        crops = [Image.fromarray(np.ascontiguousarray(view[place])) for view in views.values()]
        cards.append(Card(crops, f"row {row}, column {column}"))
    return draw_sheet(cards, title=photo.name, headings=list(views))


if __name__ == "__main__":
    main()
