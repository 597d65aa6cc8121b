# SPDX-License-Identifier: GPL-2.0-only
"""Files of src/ stop at 500 lines and functions at 70, unless lint/waivers.json says why not."""

from pathlib import Path

from lint import cpp, files
from lint.waivers import Waivers

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70


def check(root: Path) -> list[str]:
    """Measures every source file."""
    file_waivers = Waivers(root, "file_lines")
    function_waivers = Waivers(root, "function_lines")
    problems = []
    for path in files.under(root, ["src"], [".h", ".cc"]):
        relative = str(path.relative_to(root))
        text = files.read(path)
        lines = text.count("\n")
        if lines > FILE_LINES_MAX and not file_waivers.covers(relative):
            problems.append(f"{relative}: {lines} lines, at most {FILE_LINES_MAX}")
        for function in cpp.functions(text):
            if function.line_count <= FUNCTION_LINES_MAX:
                continue
            if not function_waivers.covers(f"{relative}:{function.name}"):
                problems.append(f"{relative}:{function.first_line}: {function.name} has "
                                f"{function.line_count} lines, at most {FUNCTION_LINES_MAX}")
    return problems + file_waivers.unused() + function_waivers.unused()
