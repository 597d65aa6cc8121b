# SPDX-License-Identifier: GPL-2.0-only
"""A small client of MariaDB Connector/C through ctypes: text protocol, buffered results.

A Connection belongs to one thread. The interpreter lock is free while a query runs, so one
thread per connection gives real concurrency. Values come back as str, or None for NULL.
"""

from __future__ import annotations

import ctypes
import ctypes.util

# Errors after which the connection is of no more use: server gone, lost, cannot connect.
LOST_CONNECTION = frozenset({2002, 2003, 2006, 2013, 1927, 1053})
ER_LOCK_WAIT_TIMEOUT = 1205
ER_LOCK_DEADLOCK = 1213
ER_DUP_ENTRY = 1062

_CHARSET_NAME_OPTION = 7
_UTF8 = "utf8mb4"


class SqlError(Exception):
    """What the server answered, or the client library said, instead of a result."""

    def __init__(self, code: int, message: str, sql: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" in: {sql[:200]}" if sql else ""))
        self.code = code

    @property
    def lost_connection(self) -> bool:
        return self.code in LOST_CONNECTION


def _load_library() -> ctypes.CDLL:
    name = ctypes.util.find_library("mariadb") or "libmariadb.so.3"
    library = ctypes.CDLL(name)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "mysql_init": (pointer, [pointer]),
        "mysql_options": (ctypes.c_int, [pointer, ctypes.c_int, pointer]),
        "mysql_real_connect": (
            pointer,
            [pointer, text, text, text, text, ctypes.c_uint, text, ctypes.c_ulong],
        ),
        "mysql_real_query": (ctypes.c_int, [pointer, text, ctypes.c_ulong]),
        "mysql_store_result": (pointer, [pointer]),
        "mysql_field_count": (ctypes.c_uint, [pointer]),
        "mysql_num_fields": (ctypes.c_uint, [pointer]),
        "mysql_fetch_row": (ctypes.POINTER(pointer), [pointer]),
        "mysql_fetch_lengths": (ctypes.POINTER(ctypes.c_ulong), [pointer]),
        "mysql_free_result": (None, [pointer]),
        "mysql_affected_rows": (ctypes.c_uint64, [pointer]),
        "mysql_errno": (ctypes.c_uint, [pointer]),
        "mysql_error": (text, [pointer]),
        "mysql_close": (None, [pointer]),
    }
    for function, (result, arguments) in signatures.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


_library = _load_library()


class Connection:
    """One session on a server's socket, as root without a password."""

    def __init__(self, socket: str, database: str = "") -> None:
        self._handle = _library.mysql_init(None)
        if not self._handle:
            raise MemoryError("mysql_init")
        _library.mysql_options(self._handle, _CHARSET_NAME_OPTION, _UTF8.encode())
        connected = _library.mysql_real_connect(
            self._handle, None, b"root", b"", database.encode() or None, 0, socket.encode(), 0
        )
        if not connected:
            error = self._error("connect")
            self.close()
            raise error

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """Runs one statement; gives its rows (none for a statement without a result)."""
        raw = sql.encode()
        if _library.mysql_real_query(self._handle, raw, len(raw)):
            raise self._error(sql)
        result = _library.mysql_store_result(self._handle)
        if not result:
            if _library.mysql_field_count(self._handle):
                raise self._error(sql)
            return []
        try:
            rows = list(self._rows(result))
        finally:
            _library.mysql_free_result(result)
        if _library.mysql_errno(self._handle):
            raise self._error(sql)
        return rows

    def value(self, sql: str) -> str | None:
        """The first column of the only row."""
        rows = self.query(sql)
        if len(rows) != 1:
            raise ValueError(f"{len(rows)} rows instead of one: {sql}")
        return rows[0][0]

    @property
    def affected_rows(self) -> int:
        return int(_library.mysql_affected_rows(self._handle))

    def close(self) -> None:
        if self._handle:
            _library.mysql_close(self._handle)
            self._handle = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, result: int):
        count = _library.mysql_num_fields(result)
        while row := _library.mysql_fetch_row(result):
            lengths = _library.mysql_fetch_lengths(result)
            yield tuple(
                None if row[i] is None else ctypes.string_at(row[i], lengths[i]).decode("utf-8", "backslashreplace")
                for i in range(count)
            )

    def _error(self, sql: str) -> SqlError:
        message = _library.mysql_error(self._handle) or b""
        return SqlError(_library.mysql_errno(self._handle), message.decode("utf-8", "replace"), sql)
