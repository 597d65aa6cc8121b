# SPDX-License-Identifier: GPL-2.0-only
"""The report: its page against a recorded one, its pictures' properties, its complaints about bad files."""

import argparse
import contextlib
import copy
import io
import json
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

from cairn_cli import report
from cairn_cli.errors import CairnError
from cairn_cli.report import load, markdown, model, readme, summary
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Figure

from tests import report_samples

_EXPECTED = Path(report_samples.__file__).parent / "expected.md"
_SVG_BYTES_MAX = 100_000


def make(folder: Path, *options: str) -> None:
    """`./cairn report FOLDER`."""
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    with contextlib.redirect_stdout(io.StringIO()):
        report.run(parser.parse_args([str(folder), *options]))


def page() -> str:
    """What the report says of the samples."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report_samples.write(folder)
        make(folder)
        return (folder / report.PAGE).read_text(encoding="utf-8")


class SamplesTest(unittest.TestCase):
    """A folder of samples, anew for each test."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def store(self, content: Any, name: str = "a.json") -> Path:
        """Writes one file, as JSON unless it is text."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def complaint(self, content: Any) -> str:
        """What the report says of a bad file."""
        path = self.store(content)
        with self.assertRaises(CairnError) as raised:
            load.directory(self.folder)
        self.assertTrue(str(raised.exception).startswith(f"{path}: "), raised.exception)
        return str(raised.exception).removeprefix(f"{path}: ")


class PageTest(SamplesTest):
    """The Markdown page."""

    maxDiff = None

    def test_as_recorded(self) -> None:
        self.assertEqual(page(), _EXPECTED.read_text(encoding="utf-8"))

    def test_rejected_figures_appear_nowhere(self) -> None:
        content = report_samples.linkbench()
        for run in content["runs"]:
            if run["status"] != "ok" or run["engine"] == "innodb-compressed":
                run["rate"] = 987654.0
        self.store(content)
        make(self.folder, "--no-pictures", "--base", "cairn")
        self.assertNotIn("987,654", (self.folder / report.PAGE).read_text(encoding="utf-8"))

    def test_text_of_others_cannot_break_a_table(self) -> None:
        content = report_samples.oltp()
        content["machine"]["cpu_model"] = "A | B\n<script>"
        self.store(content)
        make(self.folder, "--no-pictures")
        self.assertIn("| CPU | A \\| B &lt;script>, 2 cores |", (self.folder / report.PAGE).read_text(encoding="utf-8"))

    def test_unknown_base(self) -> None:
        report_samples.write(self.folder)
        with self.assertRaisesRegex(CairnError, "no results of the engine oracle .*: cairn innodb"):
            make(self.folder, "--base", "oracle")

    def test_a_run_without_any_result(self) -> None:
        content = report_samples.linkbench()
        content.update(runs=[], complete=False)
        self.store(content)
        make(self.folder)
        self.assertIn("**Partial", (self.folder / report.PAGE).read_text(encoding="utf-8"))


class LinesTest(SamplesTest):
    """Micro-benchmarks are compared and sorted."""

    def test_worst_first(self) -> None:
        lines = Lines(load.one(self.store(report_samples.oltp())), "innodb")
        ratios = [lines.relative_rate("cairn", name) or 0 for name in lines.names]
        self.assertEqual(len(ratios), 12)
        self.assertEqual(ratios, sorted(ratios))
        self.assertAlmostEqual(ratios[0], 0.75, places=3)

    def test_ratios_are_of_the_same_repeat(self) -> None:
        content = report_samples.oltp()
        for run in content["runs"]:
            for line in run["outcome"]["lines"].values():  # the machine is half as fast in the second repeat
                line["seconds"] *= 1 + run["repeat"]
        lines = Lines(load.one(self.store(content)), "innodb")
        self.assertAlmostEqual(lines.relative_rate("cairn", lines.names[0]) or 0, 0.75, places=3)
        self.assertIn("| 0.75 [0 %] |", "\n".join(lines.table()))

    def test_a_line_with_problems_is_left_out(self) -> None:
        content = report_samples.oltp()
        for run in content["runs"]:
            if run["engine"] == "cairn":
                run["outcome"]["lines"]["points-zipf"]["problems"] = ["an error"]
        lines = Lines(load.one(self.store(content)), "innodb")
        self.assertIsNone(lines.relative_rate("cairn", "points-zipf"))
        self.assertEqual(lines.names[-1], "points-zipf")


class ConditionsTest(unittest.TestCase):
    """What held for all engines."""

    def test_in_words(self) -> None:
        given = {"cold": False, "one_core": True, "side_by_side": True, "flush_setting": 1}
        self.assertEqual(summary.conditions(given),
                         "warm page cache; servers and clients on one core; servers paused while another has its turn;"
                         " flush_log_at_trx_commit 1")


class PicturesTest(SamplesTest):
    """The pictures: whole, small, the same each time, for light and dark pages."""

    def test_properties(self) -> None:
        report_samples.write(self.folder)
        make(self.folder)
        first = {path.name: path.read_bytes() for path in self.folder.glob("*.svg")}
        self.assertLessEqual({"insert-insert-rate.svg", "linkbench-rate.svg", "linkbench-size.svg",
                              "linkbench-p99.svg", "linkbench-written.svg", "oltp-relative.svg",
                              "memtable-memtable.svg"}, set(first))
        shown = (self.folder / report.PAGE).read_text(encoding="utf-8")
        for name, svg in first.items():
            with self.subTest(name):
                self.assertIn(f"]({name})", shown)
                self.assertLess(len(svg), _SVG_BYTES_MAX)
                self.assertNotIn(b"matplotlib.org", svg)
                root = xml.etree.ElementTree.fromstring(svg)
                self.assertTrue(root.findtext("{http://www.w3.org/2000/svg}title"))
                self._every_colour_has_a_dark_one(svg.decode())
        make(self.folder)
        self.assertEqual(first, {path.name: path.read_bytes() for path in self.folder.glob("*.svg")})

    def _every_colour_has_a_dark_one(self, svg: str) -> None:
        style, _, drawing = svg.partition("</style>")
        for what in ("fill", "stroke"):
            used = {part[:7] for part in drawing.split(f"{what}: ")[1:] if part.startswith("#")}
            for colour in used:
                self.assertIn(f'[style*="{what}: {colour}"]', style)

    def test_a_long_run_stays_small(self) -> None:
        content = report_samples.linkbench()
        content["runs"] = [report_samples.run(engine, "query", 1e4, seconds=20_000)
                           for engine in ("cairn", "innodb", "myrocks")]
        self.store(content)
        make(self.folder)
        sizes = [path.stat().st_size for path in self.folder.glob("*.svg")]
        self.assertTrue(sizes)
        self.assertLess(max(sizes), _SVG_BYTES_MAX)

    def test_a_sweep_of_clients(self) -> None:
        content = report_samples.linkbench()
        steps, runs = [], []
        for kind in ("qr100", "qp100"):
            for clients in (1, 4, 16):
                steps.append(report_samples.step(f"{kind}-{clients}", clients, repeatable=True))
                runs += [report_samples.run(engine, f"{kind}-{clients}", 1e4 * clients, clients=clients)
                         for engine in ("cairn", "innodb")]
        for kept, panels in ((steps, 2), (steps[:3], 1)):
            content.update(steps=kept, runs=[run for run in runs if run["step"] in {step["name"] for step in kept}])
            self.store(content)
            make(self.folder)
            svg = (self.folder / "a-clients.svg").read_text(encoding="utf-8")
            self.assertEqual(svg.count(">16</text>"), panels)

    def test_what_is_gone_is_removed(self) -> None:
        (self.folder / "memtable-rate.svg").write_text("old", encoding="utf-8")
        self.store(report_samples.memtable(), "memtable.json")
        make(self.folder)
        self.assertEqual([path.name for path in self.folder.glob("*.svg")], ["memtable-memtable.svg"])


class BadFilesTest(SamplesTest):
    """Each complaint names the file and what is wrong."""

    def test_no_folder(self) -> None:
        with self.assertRaisesRegex(CairnError, "none: no such folder"):
            load.directory(self.folder / "none")

    def test_nothing_there(self) -> None:
        self.store({"kind": "something else"})
        with self.assertRaisesRegex(CairnError, r"no results there; make some with \./cairn bench"):
            load.directory(self.folder)

    def test_no_file(self) -> None:
        with self.assertRaisesRegex(CairnError, "none.json: No such file"):
            load.one(self.folder / "none.json")

    def test_not_a_result(self) -> None:
        with self.assertRaisesRegex(CairnError, "not a result of ./cairn bench"):
            load.one(self.store({"options": {}}))

    def test_cut_off(self) -> None:
        whole = json.dumps(report_samples.memtable())
        for length in (0, 1, len(whole) // 2, len(whole) - 1):
            self.assertIn("not whole JSON (cut off?)", self.complaint(whole[:length]))

    def test_other_format(self) -> None:
        content = report_samples.memtable()
        content["format"] = 2
        self.assertEqual(self.complaint(content), "format 2; this version reads format 1")

    def test_missing_and_wrong_parts(self) -> None:
        whole = report_samples.memtable()
        for change, said in (
                (lambda made: made.pop("runs"), "runs is missing or not a list"),
                (lambda made: made.update(workload=7), "workload is missing or not text"),
                (lambda made: made.update(engines=[]), "engines is missing or not an object"),
                (lambda made: made["runs"][0].pop("step"), "runs[0].step is missing or not text"),
                (lambda made: made["runs"].insert(0, 5), "runs[0] is not an object"),
                (lambda made: made["runs"][0].update(clients="two"), "runs[0].clients is not a number"),
                (lambda made: made.update(steps=["load"]), "steps[0] is not an object"),
                (lambda made: made.update(machine="here"), "machine is not an object"),
                (lambda made: made["columns"][0].update(digits="many"), "columns[0].digits is not a number")):
            content = copy.deepcopy(whole)
            change(content)
            self.assertEqual(self.complaint(content), said)


class ReadmeTest(SamplesTest):
    """The summary between the markers."""

    def test_refresh(self) -> None:
        report_samples.write(self.folder)
        results = load.directory(self.folder)
        path = self.folder / "README.md"
        path.write_text("# A\n\n<!-- results:begin: old -->\nold\n<!-- results:end -->\n\nafter \\1\n",
                        encoding="utf-8")
        block = readme.block(results, None, self.folder / report.PAGE)
        readme.refresh(path, "results", block)
        once = path.read_text(encoding="utf-8")
        readme.refresh(path, "results", block)
        self.assertEqual(once, path.read_text(encoding="utf-8"))
        self.assertTrue(once.startswith("# A\n\n<!-- results:begin"))
        self.assertTrue(once.endswith("<!-- results:end -->\n\nafter \\1\n"))
        self.assertNotIn("old", once)
        self.assertIn("| cairn | 1.94 | 0.75 (points-covered-pk) | 3.13 (scan-zipf) |", once)
        self.assertIn("[report.md](report.md)", once)
        self.assertIn("Conditions: server limited to 1 GiB (cgroup v1); device fast", once)

    def test_no_markers(self) -> None:
        path = self.folder / "README.md"
        path.write_text("# A\n", encoding="utf-8")
        with self.assertRaisesRegex(CairnError, "has 0 blocks"):
            readme.refresh(path, "results", "text")


class NumbersTest(unittest.TestCase):
    """Figures as people read them."""

    def test_numbers(self) -> None:
        self.assertEqual(markdown.number(1234567.8, 0), "1,234,568")
        self.assertEqual(markdown.number(0.0032, 2), "0.003")
        self.assertEqual(markdown.number(0, 2), "0.00")

    def test_spread(self) -> None:
        self.assertEqual(markdown.shown(Figure(100, 90, 110, 3), 0), "100 [45 %]")
        self.assertEqual(markdown.shown(Figure(1000, 999, 1001, 3), 0), "1,000 [0 %]")
        self.assertEqual(markdown.shown(Figure(100, 100, 100, 1), 0), "100")
        self.assertEqual(markdown.shown(None, 0), "–")

    def test_ratio(self) -> None:
        one, hundred = Figure(1, 1, 1, 1), Figure(100, 100, 100, 1)
        self.assertEqual(markdown.ratio(one, hundred), "0.01")
        self.assertEqual(markdown.ratio(hundred, one), "100")
        self.assertEqual(markdown.ratio(one, Figure(0, 0, 0, 1)), "–")

    def test_path(self) -> None:
        self.assertEqual(model.at({"a": {"b.c": {"d": 1}}}, "a.b.c.d"), 1)
        self.assertIsNone(model.at({"a": 1}, "a.b"))

    def test_families(self) -> None:
        self.assertEqual(model.last_of_families(["load", "query-1", "query-2", "qr100"]), ["load", "query-2", "qr100"])
