"""`deshadow tables`: the tables of ablations and distillations. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def tables(
    *results: Annotated[
        Path,
        Parameter(
            help="Folders of ablations, of their rows and of distillations, or files of theirs: row.json, "
            "distilled.json, tables.json."
        ),
    ],
    json: Annotated[
        Path | None,
        Parameter(help="Write the merged results to this file, which this command can read again."),
    ] = None,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Write the tables to this file instead of printing them.")
    ] = None,
) -> None:
    """Merge the results of ablations and distillations, and draw their tables in Markdown."""
    from deshadow.system.files import write_whole
    from deshadow.training.tables import format_results, format_tables, read_results

    if not results:
        raise ValueError("name folders or files of results: deshadow tables runs/ablation")
    found = read_results(results)
    text = format_tables(found)
    for path, content in ((json, format_results(found)), (output, text.encode())):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
            print(path)  # noqa: T201
    if output is None:
        print(text)  # noqa: T201
