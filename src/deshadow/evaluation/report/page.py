"""The report: one HTML page with its tables, plots and pictures inside; it loads nothing else."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from deshadow import __version__
from deshadow.evaluation.protocol import Evaluation, Shown
from deshadow.evaluation.published import PUBLISHED_TABLES, Published, Row, impossible
from deshadow.evaluation.record import median_seconds, scores_of
from deshadow.evaluation.report.gallery import MOST_ERROR, RAMP, data_uri, error_map
from deshadow.evaluation.report.scatter import scatter
from deshadow.evaluation.report.words import TITLES, count_line, millions, number
from deshadow.metrics.pooling import headline, pool
from deshadow.metrics.scores import REGIONS

_STYLE = Path(__file__).with_name("page.css")
_COLOURS = 6  # as many as the style has
_DIGITS = (2, 2, 3)

Cells = Sequence[float | None]


def draw_page(evaluations: Sequence[Evaluation], title: str) -> str:
    """The HTML of a report on one method or several, on the set of this title."""
    names = ", ".join(evaluation.method.name for evaluation in evaluations)
    sections = [
        f"<h1>Shadow removal on {escape(title)}</h1>",
        f'<p class="soft">{escape(names)}: {escape(count_line(evaluations[0]))}. deshadow {__version__}</p>',
        _tables(evaluations),
        _plots(evaluations),
        _pictures(evaluations),
        _published(),
        _problems(evaluations),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Shadow removal on {escape(title)}</title>"
        f"<style>{_STYLE.read_text(encoding='utf-8')}</style></head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body></html>\n"
    )


def _tables(evaluations: Sequence[Evaluation]) -> str:
    return (
        f"<h2>At 256&nbsp;×&nbsp;256, as papers print it</h2>{_scores(evaluations, native=False)}"
        '<p class="soft">LAB: mean absolute difference in CIE LAB, summed over the three channels, over all '
        "pixels of the region in the set; papers call this number RMSE. PSNR in dB and SSIM are those of the "
        "frame with everything outside the region black in both pictures, so a small region scores high. "
        "Sharpness: gradient energy in the shadow, result over truth; under 1 is blurred, over 1 is noisy. "
        "Correlation: of the gradients in the shadow with those of the truth.</p>"
        f"<h2>At native size</h2>{_scores(evaluations, native=True)}"
        '<p class="soft">A result of another size is resized to that of the truth, so a network that works '
        "at 256&nbsp;×&nbsp;256 loses here what it cannot draw.</p>"
        f"<h2>Cost, and further errors in the shadow</h2>{_costs(evaluations)}"
    )


def _scores(evaluations: Sequence[Evaluation], native: bool) -> str:
    rows: list[tuple[str, Cells]] = [
        (evaluation.method.name, headline(scores_of(evaluation, native))) for evaluation in evaluations
    ]
    marked = _best([cells for _, cells in rows])
    body = "".join(
        _row(name, cells, digits=(*_DIGITS * 3, 2, 2), best=marked[place])
        for place, (name, cells) in enumerate(rows)
    )
    return _table(body, sharp=True)


def _best(rows: Sequence[Cells]) -> list[set[int]]:
    """The columns in which each row is best; none if there is only one row. The last two have no best."""
    best: list[set[int]] = [set() for _ in rows]
    if len(rows) > 1:
        for column in range(9):
            lowest = column % 3 == 0
            values = [row[column] for row in rows]
            known = [value for value in values if value is not None and value == value]
            wanted = (min if lowest else max)(known, default=None)
            for place, value in enumerate(values):
                if value is not None and value == wanted:
                    best[place].add(column)
    return best


def _row(name: str, cells: Cells, digits: Sequence[int], best: set[int], flag: str = "") -> str:
    columns = "".join(
        f'<td class="{"first " * (place % 3 == 0)}{"best" * (place in best)}">'
        f"{number(value, digits[place])}</td>"
        for place, value in enumerate(cells)
    )
    flagged = ' class="flagged"' if flag else ""
    return f"<tr{flagged}><th>{escape(name)}{flag}</th>{columns}</tr>"


def _table(body: str, sharp: bool) -> str:
    groups = "".join(f'<th class="group" colspan="3">{TITLES[name]}</th>' for name in REGIONS)
    last = '<th class="first">{}</th><th>{}</th>'
    headings = '<th class="first">LAB ↓</th><th>PSNR ↑</th><th>SSIM ↑</th>' * 3
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{groups}{last.format("", "") * sharp}</tr>'
        f"<tr><th>method</th>{headings}{last.format('sharpness → 1', 'correlation → 1') * sharp}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _costs(evaluations: Sequence[Evaluation]) -> str:
    headings = ("parameters (M)", "time (s)", "true RMSE", "LAB per picture", "PSNR of its pixels")
    rows = []
    for evaluation in evaluations:
        shadow = pool(scores_of(evaluation, native=False))["shadow"]
        figures = (shadow.lab_rmse, shadow.lab_mae_per_picture, shadow.psnr_region)
        cells = (millions(evaluation), number(median_seconds(evaluation), 3), *map(number, figures))
        rows.append(
            f"<tr><th>{escape(evaluation.method.name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}"
            f'<td class="left">{escape(evaluation.method.note)}</td></tr>'
        )
    return (
        '<div class="scroll"><table><thead><tr><th>method</th>'
        f"{''.join(f'<th>{heading}</th>' for heading in headings)}"
        '<th class="left">what it is</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="soft">Time: median of a picture. The errors are those of the shadow at '
        "256&nbsp;×&nbsp;256: the root of the mean squared LAB distance, the mean over "
        "pictures of their own mean errors, and the PSNR of the shadow's own pixels.</p>"
    )


def _plots(evaluations: Sequence[Evaluation]) -> str:
    drawn = evaluations[:_COLOURS]
    sizes, depths = (
        {
            evaluation.method.name: [
                (scale * getattr(each, field), each.small.regions["shadow"].lab_mae)
                for each in evaluation.pictures
            ]
            for evaluation in drawn
        }
        for field, scale in (("shadow_fraction", 100), ("dark_rate", 1))
    )
    legend = "".join(
        f'<span class="series-{place}"><b>{escape(each.method.name)}</b></span>'
        for place, each in enumerate(drawn, start=1)
    )
    error = "LAB error in the shadow"
    return (
        "<h2>Which shadows are hard</h2>"
        + (f'<div class="legend">{legend}</div>' if len(drawn) > 1 else "")
        + '<div class="plots">'
        + scatter(sizes, "share of the picture in shadow, %", error)
        + scatter(depths, "dark rate: lit to shadow luminance, linear light", error)
        + "</div>"
    )


def _pictures(evaluations: Sequence[Evaluation]) -> str:
    """The worst and best pictures of each method, those of the best method open."""
    drawn = [each for each in evaluations if each.worst]
    if not drawn:
        return ""
    drawn.sort(key=lambda each: pool(scores_of(each, native=False))["shadow"].lab_mae)
    scale = f'<span class="ramp" style="background:linear-gradient(to right,{",".join(RAMP)})"></span>'
    return (
        '<h2>Worst and best pictures</h2><p class="soft">By LAB error in the shadow. The error map runs '
        f'from<span class="whole">0{scale}{MOST_ERROR} and more.</span></p>'
        + "".join(
            f"<details{' open' * (place == 0)}><summary>{escape(each.method.name)}</summary>"
            f"<h3>Worst</h3>{_figures(each.worst)}"
            + (f"<h3>Best</h3>{_figures(each.best)}" if each.best else "")
            + "</details>"
            for place, each in enumerate(drawn)
        )
    )


def _figures(shown: Iterable[Shown]) -> str:
    return "".join(map(_figure, shown))


def _figure(shown: Shown) -> str:
    score, (picture, mask, truth) = shown.score, shown.triplet
    views = {
        "input": picture,
        "mask": mask,
        "result": shown.result,
        "truth": truth,
        "error": error_map(shown.result, truth),
    }
    shadow, whole = score.small.regions["shadow"], score.small.regions["all"]
    images = "".join(
        f'<div><img src="{data_uri(view)}" width="{score.width}" height="{score.height}" '
        f'alt="{title} of {escape(score.name, quote=True)}">{title}</div>'
        for title, view in views.items()
    )
    return (
        f"<figure><figcaption>{escape(score.name)} "
        f'<span class="soft">LAB {number(shadow.lab_mae)} in the shadow, {number(whole.lab_mae)} everywhere; '
        f"{100 * score.shadow_fraction:.0f} % in shadow, dark rate {number(score.dark_rate, 1)}</span>"
        f'</figcaption><div class="views">{images}</div></figure>'
    )


def _published() -> str:
    flagged = sum(impossible(row) for table in PUBLISHED_TABLES for row in table.rows)
    return (
        "<h2>Published, for comparison</h2>"
        "<p>Compare with care: these methods ran on the test parts of their sets, and their masks are not "
        "those used here (for SRD, another network predicted them). A row says which method is better only "
        "beside rows that were measured on the same pictures with the same masks.</p>"
        + "".join(map(_published_table, PUBLISHED_TABLES))
        + f'<p class="soft">† Cannot be right: the error of the whole picture lies outside those of its two '
        f"parts, of which it is a weighted mean ({flagged} rows).</p>"
    )


def _published_table(table: Published) -> str:
    body = "".join(
        _row(row.method, _cells(row), _DIGITS * 3, set(), " †" if impossible(row) else "")
        for row in table.rows
    )
    return (
        f"<details><summary>{escape(table.data)} "
        f'<span class="soft">{escape(table.source)}</span></summary>{_table(body, sharp=False)}</details>'
    )


def _cells(row: Row) -> list[float | None]:
    return [*row.shadow, *row.non_shadow, *row.all]


def _problems(evaluations: Sequence[Evaluation]) -> str:
    problems = dict.fromkeys(str(problem) for each in evaluations for problem in each.problems)
    if not problems:
        return ""
    items = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    return f"<h2>Left out</h2><ul>{items}</ul>"
