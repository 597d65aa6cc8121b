# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn report DIR`: one Markdown page and pictures from the JSON results in a folder."""

import argparse
import importlib
import importlib.util
from pathlib import Path

from cairn_cli import console, paths
from cairn_cli.errors import CairnError
from cairn_cli.report import goals, load, readme, summary
from cairn_cli.report.model import Result

HELP = "make a page with tables and pictures from benchmark results"
PAGE = "report.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    parser.add_argument("directory", type=Path, metavar="DIR",
                        help=f"folder of results; {PAGE} and the pictures are written there")
    parser.add_argument("--base", metavar="ENGINE", help="compare with this engine (default: innodb)")
    parser.add_argument("--no-pictures", action="store_true", help="only the page")
    parser.add_argument("--pages", action="store_true",
                        help="also put a summary between the markers in README.md, the goals in docs/performance.md")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand."""
    results = load.directory(arguments.directory)
    if arguments.base and not any(arguments.base in result.engines for result in results):
        known = sorted({engine for result in results for engine in result.engines})
        raise CairnError(f"no results of the engine {arguments.base} (there are: {' '.join(known)})")
    pictures = {} if arguments.no_pictures else _draw(results, arguments.base, arguments.directory)
    page = arguments.directory / PAGE
    page.write_text(summary.document(results, arguments.base, pictures), encoding="utf-8")
    console.say(f"{page}: {len(results)} results, {sum(map(len, pictures.values()))} pictures")
    if arguments.pages:
        readme.refresh(paths.ROOT / "README.md", "results", readme.block(results, arguments.base, page))
        readme.refresh(paths.ROOT / "docs" / "performance.md", "goals", goals.block(arguments.directory))
        console.say("README.md and docs/performance.md: refreshed")
    return 0


def _draw(results: list[Result], base: str | None, folder: Path) -> dict[str, list[tuple[str, str]]]:
    # Here, not above: the pictures' library takes half a second to load and only setup installs it.
    if importlib.util.find_spec("matplotlib") is None:
        raise CairnError("pictures need matplotlib: run ./cairn setup, or use --no-pictures")
    charts = importlib.import_module("cairn_cli.report.charts")
    return {result.name: charts.draw(result, result.base(base), folder) for result in results}
