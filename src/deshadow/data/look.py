"""A data set at a glance: a contact sheet, a table of statistics, a histogram of dark rates."""

import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.table import Table

from deshadow.data.pairs.find import (
    Layout,
    PairSet,
    Problem,
    Sample,
    Triplet,
    find,
    list_problems,
    pick_evenly,
)
from deshadow.data.pairs.pictures import save_picture
from deshadow.data.pairs.statistics import Statistics, measure_all
from deshadow.image.sheets import Card, draw_sheet, fade_outside, outline
from deshadow.system.extras import require
from deshadow.system.files import write_whole
from deshadow.system.progress import track

_SHEET_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
_PLOT_ENDINGS = (".png", ".svg", ".pdf")
_TILE = 272  # width of one picture on the sheet
_OUTLINE = (255, 96, 0)


@dataclass(frozen=True, slots=True)
class Survey:
    """A data set whose every picture was decoded and measured."""

    pairs: PairSet
    samples: tuple[Sample, ...]
    """The samples that could be decoded."""
    figures: tuple[Statistics, ...]
    """The statistics of each sample."""
    problems: tuple[Problem, ...]
    """Problems of the set, and pictures that could not be decoded."""


def look(
    folder: Path,
    output: Path,
    split: str | None = None,
    layout: Layout | None = None,
    count: int = 24,
    dark_rate: Path | None = None,
    skip_problems: bool = False,
) -> Survey:
    """Measure a data set, draw `count` of its triplets to `output` and its dark rates to `dark_rate`."""
    # What is wrong is said at once, before the measuring, which may take minutes.
    if count < 1:
        raise ValueError(f"--count {count}: at least one triplet is needed")
    _check_ending(output, _SHEET_ENDINGS)
    if dark_rate is not None:
        _check_ending(dark_rate, _PLOT_ENDINGS)
        if dark_rate.resolve() == output.resolve():
            raise ValueError(f"the sheet and the plot cannot both be {output}")
        require("train", "matplotlib")
    pairs = find(folder, split, layout, skip_problems)
    outputs = [output] if dark_rate is None else [output, dark_rate]
    _keep_out_of(pairs, outputs)
    found = survey(pairs, skip_problems)
    for path in outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
    save_picture(output, draw_triplets(found, count))
    if dark_rate is not None:
        write_whole(dark_rate, plot_dark_rates(found, dark_rate.suffix.lower().lstrip(".")))
    return found


def survey(pairs: PairSet, skip_problems: bool = False) -> Survey:
    """Measure every sample, with a progress bar; ValueError lists what cannot be decoded, unless skipped."""
    measured = track(measure_all(pairs.samples), "Measuring", len(pairs))
    both = list(zip(pairs.samples, measured, strict=True))
    good = [(sample, found) for sample, found in both if isinstance(found, Statistics)]
    broken = [found for _, found in both if isinstance(found, Problem)]
    if broken and not (skip_problems and good):
        raise ValueError(
            f"{list_problems(broken, most=5)} (in {pairs.folder}; skip them with --skip-problems)"
        )
    samples, figures = zip(*good, strict=True)
    return Survey(pairs, samples, figures, (*pairs.problems, *broken))


def make_table(found: Survey) -> Table:
    """The statistics of a set, for a terminal."""
    figures, samples = found.figures, found.samples
    derived = sum(sample.mask_file is None for sample in samples)
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    grid.add_row("layout", found.pairs.layout)
    grid.add_row("pairs", f"{len(samples):,}{_in_splits(sample.split for sample in samples)}")
    grid.add_row("scenes", f"{len({(sample.split, sample.scene) for sample in samples}):,}")
    grid.add_row("sizes", _sizes(figures))
    grid.add_row("masks", f"{derived:,} derived from the pair" if derived else "all there")
    grid.add_row("shadow fraction", _spread((100 * each.shadow_fraction for each in figures), 0, " %"))
    grid.add_row("dark rate", _spread((each.dark_rate for each in figures), 1, ""))
    grid.add_row("misalignment", _spread((each.misalignment for each in figures), 2, " px"))
    grid.add_row("problems", f"{len(found.problems):,}")
    grid.add_row(
        "absent", f"{found.pairs.absent:,}" + (" (their shard is not here)" * bool(found.pairs.absent))
    )
    return grid


def plot_dark_rates(found: Survey, kind: str) -> bytes:
    """The histogram of a set's dark rates, as in the paper's appendix D, as png, svg or pdf."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rates = np.array([each.dark_rate for each in found.figures])
    rates = rates[np.isfinite(rates)]
    if not len(rates):
        raise ValueError(f"every mask of {found.pairs.folder} is empty, so there is no dark rate to plot")
    # A few near-black shadows would squeeze all others into one bar: the last bar collects them.
    last = min(float(rates.max()), 1.2 * float(np.percentile(rates, 99)))
    width = next((width for width in (0.1, 0.25, 0.5, 1, 2, 5) if last / width <= 50), last / 50)
    first = min(1.0, float(np.floor(rates.min() / width) * width))
    edges = np.arange(first, last + width, width)
    shares = np.histogram(np.minimum(rates, last), edges)[0] * 100 / len(rates)
    figure = Figure(figsize=(6.4, 4.0), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.bar(edges[:-1], shares, width, align="edge", color="#4c72b0", edgecolor="white", linewidth=0.6)
    if last < rates.max():
        axes.text(edges[-1], shares[-1], "and more", ha="right", va="bottom")
    median = float(np.median(rates))
    axes.axvline(median, color="#c44e52", linewidth=1.6, label=f"median {median:.1f}")
    axes.legend(frameon=False)
    axes.set_xlabel("dark rate (lit to shadow luminance, linear light)")
    axes.set_ylabel("pairs, %")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.set_title(f"{_title(found)}, {len(rates):,} pairs")
    axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    return buffer.getvalue()


def draw_triplets(found: Survey, count: int) -> NDArray[np.uint8]:
    """(H, W, 3): a contact sheet of `count` triplets, evenly spaced over the set."""
    shown = [
        (sample, figures, sample.load())
        for sample, figures in pick_evenly(list(zip(found.samples, found.figures, strict=True)), count)
    ]
    tile = (_TILE, _tile_height(triplet for *_, triplet in shown))
    cards = []
    for sample, figures, triplet in shown:
        shift = f"{figures.misalignment:.2f} px" if np.isfinite(figures.misalignment) else "? px"
        dark = f"dark rate {figures.dark_rate:.1f}" if np.isfinite(figures.dark_rate) else "no shadow"
        note = f"{100 * figures.shadow_fraction:.0f} % shadow, {dark}, off by {shift}"
        cards.append(Card(draw_views(triplet, tile), sample.name, note))
    note = f"{len(cards):,} of {len(found.samples):,} triplets: picture, mask, clean picture"
    return np.asarray(draw_sheet(cards, 2, title=_title(found), note=note))


def draw_views(triplet: Triplet, tile: tuple[int, int]) -> list[Image.Image]:
    """The picture, the picture with its mask outlined, and the clean picture, each within (width, height)."""
    height, width = triplet.mask.shape
    scale = min(tile[0] / width, tile[1] / height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    picture, clean = (
        Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
        for pixels in (triplet.picture, triplet.clean)
    )
    # By its mean over each pixel, so that thin or scattered parts of a mask do not vanish.
    inside = np.asarray(Image.fromarray(triplet.mask).resize(size, Image.Resampling.BOX)) > 96
    outlined = fade_outside(picture, inside)
    outlined[outline(inside)] = _OUTLINE
    return [picture, Image.fromarray(outlined), clean]


def _tile_height(triplets: Iterable[Triplet]) -> int:
    """The height that suits most pictures; taller ones are drawn narrower."""
    ratios = [triplet.mask.shape[0] / triplet.mask.shape[1] for triplet in triplets]
    return round(_TILE * min(max(float(np.median(ratios)), 0.4), 1.4))


def _title(found: Survey) -> str:
    splits = sorted({sample.split for sample in found.samples if sample.split})
    name = found.pairs.folder.resolve().name
    return f"{name}, {' and '.join(splits)}" if splits else name


def _spread(values: Iterable[float], digits: int, unit: str) -> str:
    """The median, the range of nine tenths, and how many values are unknown."""
    numbers = np.array(list(values))
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return "unknown"
    low, middle, high = (f"{value:.{digits}f}" for value in np.percentile(known, [5, 50, 95]))
    unknown = f"; unknown for {len(numbers) - len(known):,}" if len(known) < len(numbers) else ""
    return f"{middle}{unit} median, {low} to {high}{unit} for nine in ten{unknown}"


def _sizes(figures: Iterable[Statistics], most: int = 3) -> str:
    counts = Counter((each.width, each.height) for each in figures)
    named = [f"{width} × {height} ({count:,})" for (width, height), count in counts.most_common(most)]
    if len(counts) > most:
        sides = [side for size in counts for side in size]
        named.append(f"and {len(counts) - most:,} more, sides {min(sides)} to {max(sides)}")
    return ", ".join(named)


def _in_splits(splits: Iterable[str]) -> str:
    counts = sorted(Counter(splits).items())
    if len(counts) == 1:
        return f" ({counts[0][0]})" if counts[0][0] else ""
    return " (" + ", ".join(f"{count:,} {split or 'without a split'}" for split, count in counts) + ")"


def _check_ending(path: Path, endings: tuple[str, ...]) -> None:
    if path.suffix.lower() not in endings:
        raise ValueError(f"{path} should end in one of {', '.join(endings)}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file")


def _keep_out_of(pairs: PairSet, outputs: Iterable[Path]) -> None:
    """Refuse to write into the set, where a sheet would replace a picture or pass for one, links included."""
    sources = (
        source.path.resolve()
        for sample in pairs.samples
        for source in (sample.picture_file, sample.clean_file, sample.mask_file)
        if source is not None
    )
    files = set(sources)
    for output in outputs:
        if output.resolve().is_relative_to(pairs.folder.resolve()) or output.resolve() in files:
            raise ValueError(f"{output} lies among the pictures of the set: write it elsewhere")
