# SPDX-License-Identifier: GPL-2.0-only
"""Each rule finds what it is for, and leaves good code alone."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from lint import cpp, rule_includes, rule_license, rule_size, rule_words

_HEAD = "// SPDX-License-Identifier: GPL-2.0-only\n"


class RuleTest(unittest.TestCase):
    """A small repository for the rules to read."""

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        here = Path(__file__).parent
        (self.root / "lint").mkdir()
        shutil.copy(here / "layers.json", self.root / "lint")
        self.waive({})

    def waive(self, table: dict) -> None:
        """Writes the waivers."""
        (self.root / "lint/waivers.json").write_text(json.dumps(table), encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """Writes a file of the small repository."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HEAD + text, encoding="utf-8")


class IncludesTest(RuleTest):
    """Ranks, and the two outside worlds."""

    def test_downward_is_fine(self) -> None:
        self.write("src/codec/a.cc", '#include <vector>\n#include "base/status.h"\n')
        self.write("src/store/a.cc", '#include <rocksdb/db.h>\n#include "db/db_impl/db_impl.h"\n')
        self.write("src/server/a.cc", '#include <handler.h>\n#include "engine/engine.h"\n')
        self.write("src/base/a_test.cc", "#include <gtest/gtest.h>\n")
        self.assertEqual(rule_includes.check(self.root), [])

    def test_upward_and_outward_are_not(self) -> None:
        for name, line in (("base/a.h", '#include "codec/b.h"'),
                           ("txn/a.h", '#include "catalog/b.h"'),
                           ("txn/b.h", '#include <rocksdb/db.h>'),
                           ("server/a.h", '#include <rocksdb/db.h>'),
                           ("codec/a.h", '#include <handler.h>'),
                           ("codec/b.h", '#include "b.h"'),
                           ("codec/c.cc", "#include <gtest/gtest.h>"),
                           ("novel/a.h", "")):
            with self.subTest(name):
                self.write(f"src/{name}", line + "\n")
                self.assertEqual(len(rule_includes.check(self.root)), 1)
                (self.root / "src" / name).unlink()


class SizeTest(RuleTest):
    """Lines of files and functions, and their waivers."""

    LONG = "int Long(int a) {\n" + "  a++;\n" * 70 + "  return a;\n}\n"

    def test_long_function_and_its_waiver(self) -> None:
        self.write("src/base/a.cc", self.LONG)
        self.assertIn("Long has 73 lines", rule_size.check(self.root)[0])
        self.waive({"function_lines": {"src/base/a.cc:Long": "a table"}})
        self.assertEqual(rule_size.check(self.root), [])

    def test_long_file(self) -> None:
        self.write("src/base/a.h", "int a;\n" * 500)
        self.assertIn("501 lines", rule_size.check(self.root)[0])

    def test_waiver_without_need(self) -> None:
        self.waive({"file_lines": {"src/base/gone.h": "was long"}})
        self.assertIn("needs no waiver", rule_size.check(self.root)[0])


class FunctionsTest(unittest.TestCase):
    """The reader of C++ sees functions in all their forms."""

    def names(self, source: str) -> list[str]:
        """Names and lengths as text."""
        return [f"{each.name} {each.line_count}" for each in cpp.functions(source)]

    def test_forms(self) -> None:
        self.assertEqual(self.names("namespace a {\nint F() {\n  if (x) { y(); }\n}\n}\n"), ["F 3"])
        self.assertEqual(self.names("class A {\n public:\n  int f() const { return 1; }\n};\n"),
                         ["f 1"])
        self.assertEqual(self.names("A::A(int b)\n    : b_{b}, c_(2) {\n  F();\n}\n"), ["A::A 4"])
        self.assertEqual(self.names("const int a[] = {1, 2};\nint b{3};\n"), [])
        self.assertEqual(self.names("template <class T>\nvoid G(T t) {\n}\n"), ["G 3"])

    def test_noise_does_not_matter(self) -> None:
        self.assertEqual(self.names('void F() {\n  // {\n  g("{", \'{\');\n#define A {\n}\n'),
                         ["F 5"])


class TextTest(RuleTest):
    """Words and licences."""

    def test_word(self) -> None:
        self.write("src/base/a.h", "// TO" "DO: later\n")
        self.assertEqual(len(rule_words.check(self.root)), 1)

    def test_licence(self) -> None:
        self.write("src/base/a.h", "")
        self.assertEqual(rule_license.check(self.root), [])
        (self.root / "src/base/b.h").write_text("int a;\n", encoding="utf-8")
        self.assertEqual(len(rule_license.check(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
