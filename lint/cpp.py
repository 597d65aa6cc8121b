# SPDX-License-Identifier: GPL-2.0-only
"""Just enough reading of C++ to know where functions begin and end."""

import re
from dataclasses import dataclass, field

_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NAMESPACE = re.compile(r'\b(namespace|extern)\b')
_TYPE = re.compile(r"\b(class|struct|union|enum)\b(?!.*\)\s*(const|noexcept|override|final|->.*)?\s*$)",
                   re.DOTALL)
_INITIALISERS = re.compile(r"\)\s*(noexcept(\(.*\))?\s*)?:(?!:)", re.DOTALL)
_LEADING = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")
_NAME = re.compile(r"([~\w:]+|operator\s*\S+?)\s*\(")


@dataclass(frozen=True)
class Function:
    """A function with a body: lines count from its signature to its closing brace."""

    name: str
    first_line: int
    last_line: int

    @property
    def line_count(self) -> int:
        """Signature, body and braces."""
        return self.last_line - self.first_line + 1


@dataclass
class _Scan:
    """State of one pass: what each open brace belongs to, and where the current text began."""

    text: str
    kinds: list[str] = field(default_factory=list)
    starts: list[tuple[str, int]] = field(default_factory=list)
    header_at: int = 0
    functions: list[Function] = field(default_factory=list)

    def open_brace(self, at: int) -> None:
        """Decides what a brace opens by the text before it."""
        header = self.text[self.header_at:at]
        kind = _kind(header) if not self.inside_function() else "block"
        self.kinds.append(kind)
        if kind == "function":
            begin = self.header_at + _LEADING.match(header).end()
            self.starts.append((_name(header), begin))
        if kind != "initialiser":
            self.header_at = at + 1

    def close_brace(self, at: int) -> None:
        """Ends what the matching brace opened."""
        if not self.kinds:
            return
        kind = self.kinds.pop()
        if kind == "function":
            name, begin = self.starts.pop()
            self.functions.append(Function(name, self.line(begin), self.line(at)))
        if kind != "initialiser":
            self.header_at = at + 1

    def inside_function(self) -> bool:
        """Whether braces are now just blocks."""
        return any(kind in ("function", "value") for kind in self.kinds)

    def line(self, at: int) -> int:
        """The line number of a position."""
        return self.text.count("\n", 0, at) + 1


def functions(source: str) -> list[Function]:
    """All functions with a body, in the order of their ends."""
    scan = _Scan(_DIRECTIVE.sub(_blank, _NOISE.sub(_blank, source)))
    for found in re.finditer(r"[{};]", scan.text):
        if found[0] == "{":
            scan.open_brace(found.start())
        elif found[0] == "}":
            scan.close_brace(found.start())
        elif "initialiser" not in scan.kinds:
            scan.header_at = found.end()
    return scan.functions


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _kind(header: str) -> str:
    stripped = header[_LEADING.match(header).end():].strip()
    if _INITIALISERS.search(stripped) and re.search(r"[\w>]$", stripped):
        return "initialiser"
    if _NAMESPACE.search(stripped) and "(" not in stripped:
        return "namespace"
    if _TYPE.search(stripped) and "=" not in stripped:
        return "type"
    if ")" in stripped and not re.search(r"=\s*$", stripped):
        return "function"
    return "value"


def _name(header: str) -> str:
    found = _NAME.search(header)
    return found[1] if found else "?"
