# SPDX-License-Identifier: GPL-2.0-only
"""The engines that can be compared, and good stated settings for each under one memory budget."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """One engine, or one way of using it."""

    name: str  # on the command line: "cairn", "innodb", "innodb-compressed", …
    client_name: str  # in ENGINE=…: "CAIRN", "InnoDB", "ROCKSDB"
    table_options: str = ""  # SQL appended to CREATE TABLE, e.g. "ROW_FORMAT=COMPRESSED …"
    database_files: tuple[str, ...] = ()  # what counts as the database, relative to the data folder


ENGINES: dict[str, Engine] = {engine.name: engine for engine in (
    Engine("cairn", "CAIRN", "", ("#cairn",)),
    Engine("innodb", "InnoDB", "", ("{database}",)),
    Engine("innodb-compressed", "InnoDB", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
           ("{database}",)),
    Engine("innodb-page-compressed", "InnoDB", "PAGE_COMPRESSED=1", ("{database}",)),
    Engine("myrocks", "ROCKSDB", "", ("#rocksdb",)),
)}

# Of workloads that need no server.
NONE = Engine("rocksdb", "")
