"""An evaluation as tables for the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deshadow.evaluation.detectors import DetectorEvaluation, summarise
from deshadow.evaluation.protocol import Evaluation
from deshadow.evaluation.record import median_seconds, scores_of
from deshadow.evaluation.report.words import TITLES, count_line, millions, number
from deshadow.metrics.pooling import headline, pool
from deshadow.metrics.scores import REGIONS


def print_tables(evaluations: Sequence[Evaluation]) -> None:
    """Print the tables, the number of pictures, and the files that were left out."""
    console = Console(highlight=False, soft_wrap=True)
    for native in (False, True):
        console.print(score_table(evaluations, native=native))
        console.print()
    console.print(cost_table(evaluations))
    console.print()
    lines = {evaluation.method.name: count_line(evaluation) for evaluation in evaluations}
    if len(set(lines.values())) == 1:
        lines = {"": next(iter(lines.values()))}
    for name, line in lines.items():
        console.print(f"{name}: {line}" if name else line, markup=False)
    problems = dict.fromkeys(str(problem) for each in evaluations for problem in each.problems)
    for problem in problems:
        console.print(f"problem: {problem}", markup=False)


def score_table(evaluations: Sequence[Evaluation], *, native: bool = False) -> Table:
    """LAB error, PSNR and SSIM of each region, a row for each method, as in the paper's Tab. 1."""
    size = "native size" if native else "256×256"
    table = Table(
        title=f'{size}: LAB error ("RMSE" in papers), PSNR (dB), SSIM',
        box=None,
        padding=(0, 1, 0, 0),
        title_justify="left",
    )
    table.add_column("\nmethod", style="bold", no_wrap=True)
    for region in REGIONS:
        for place, heading in enumerate(("LAB", "PSNR", "SSIM")):
            title = TITLES[region] if place == 0 else ""
            table.add_column(f"{title}\n{heading}", justify="right", no_wrap=True)
    for heading in ("sharp", "corr."):
        table.add_column(f"\n{heading}", justify="right", no_wrap=True)
    for evaluation in evaluations:
        columns = headline(scores_of(evaluation, native))
        cells = [number(value, 3 if place % 3 == 2 else 2) for place, value in enumerate(columns)]
        table.add_row(evaluation.method.name, *cells)
    return table


def cost_table(evaluations: Sequence[Evaluation]) -> Table:
    """Size and time of each method, and further errors in the shadow at 256 × 256."""
    table = Table(title="Cost, and further errors in the shadow (256×256)", box=None, padding=(0, 1, 0, 0))
    table.title_justify = "left"
    table.add_column("\nmethod", style="bold", no_wrap=True)
    headings = ("params\n(M)", "time\n(s)", "true\nRMSE", "LAB per\npicture", "PSNR of\nits pixels")
    for heading in headings:
        widest = max(map(len, heading.split("\n")))
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(widest, 6))
    table.add_column("\nwhat it is", no_wrap=True, overflow="ellipsis")
    for evaluation in evaluations:
        shadow = pool(scores_of(evaluation, native=False))["shadow"]
        table.add_row(
            evaluation.method.name,
            millions(evaluation),
            number(median_seconds(evaluation), 3),
            number(shadow.lab_rmse),
            number(shadow.lab_mae_per_picture),
            number(shadow.psnr_region),
            evaluation.method.note,
        )
    return table


def print_detection(evaluation: DetectorEvaluation) -> None:
    """Print the figures, and the files that were left out."""
    console, found = Console(highlight=False, soft_wrap=True), summarise(evaluation)
    table = Table(title="256×256, threshold 0.5", box=None, padding=(0, 1, 0, 0), title_justify="left")
    columns = {
        "IoU": number(found["iou"], 3),
        "IoU per\npicture": number(found["iou_per_picture"], 3),
        "BER\n(%)": number(found["balanced_error_rate"]),
        "false neg.\n(%)": number(found["false_negative_rate"]),
        "false pos.\n(%)": number(found["false_positive_rate"]),
        "params\n(M)": f"{evaluation.parameters / 1e6:.2f}",
        "time\n(s)": number(found["seconds_per_picture"], 3),
    }
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*columns.values())
    console.print(table)
    console.print()
    count = len(evaluation.pictures)
    left_out = f", {len(evaluation.problems):,} left out" if evaluation.problems else ""
    console.print(f"{count:,} picture{'s' * (count != 1)}{left_out}")
    for problem in evaluation.problems:
        console.print(f"problem: {problem}", markup=False)
