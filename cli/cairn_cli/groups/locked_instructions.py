# SPDX-License-Identifier: GPL-2.0-only
"""Counts atomic read-modify-writes in dumps of callgrind that were made with `--dump-instr=yes`.

Each needs its line of the cache for itself: a mutex taken and given back without waiting is two of them. They are what
threads on many cores meet at, and can be counted on a machine that has few. Format: the Callgrind Format Specification
of Valgrind's manual.
"""

import re
from collections.abc import Callable
from functools import cache

from cairn_cli import process

_NAME = re.compile(r"^(c?)ob=\((\d+)\)(?: (.*))?$")
_COST = re.compile(r"^(0x[0-9a-f]+|\+\d+|-\d+|\*) \S+ (\d+)$")
# On memory, XCHG locks without saying so.
_LOCKED = re.compile(r"^\s*([0-9a-f]+):\s+(?:lock\s|xchg\s.*\()", re.MULTILINE)


@cache
def addresses(path: str) -> frozenset[int]:
    """Where an object's code has them, by objdump; CairnError when it cannot be read."""
    listing = process.capture(["objdump", "-d", "--no-show-raw-insn", path])
    return frozenset(int(address, 16) for address in _LOCKED.findall(listing))


def executed(dump: str, addresses_of: Callable[[str], frozenset[int]] = addresses) -> int:
    """How many times the dump's code executed one."""
    objects: dict[str, str] = {}
    locked: frozenset[int] = frozenset()
    address = total = 0
    of_a_call = False  # the next line has what the call cost
    for line in dump.splitlines():
        if found := _COST.match(line):
            where, count = found.groups()
            if where != "*":
                address = int(where, 16) if where.startswith("0x") else address + int(where)
            if not of_a_call and address in locked:
                total += int(count)
            of_a_call = False
        elif line.startswith("calls="):
            of_a_call = True
        elif found := _NAME.match(line):
            called, number, path = found.groups()
            objects.setdefault(number, path or "")
            if not called:
                locked = addresses_of(objects[number]) if objects[number].startswith("/") else frozenset()
    return total
