# SPDX-License-Identifier: GPL-2.0-only
"""One engine's private server under the conditions of an invocation."""

import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from cairn_cli import paths, tree
from cairn_cli.bench import conditions, engines
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.workload import Conditions, Target
from cairn_cli.errors import CairnError
from cairn_cli.server import Server

_LOG_LINES = 40


def frozen_plugins(folder: Path, build_type: str) -> Path:
    """Makes `folder` a copy of the plugins as they are now: a build meanwhile would change what is
    measured, as servers are restarted between steps."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = paths.plugin(build_type)
    for item in tree.plugin_directory(tree.prepare(build_type)).iterdir():
        if item.name != own.name:
            (folder / item.name).symlink_to(item.resolve())
    shutil.copyfile(own, folder / own.name)
    return folder


@dataclass
class Instance:
    """Data, server and cgroup of one engine; they live from `prepare` to `remove`."""

    engine: Engine
    conditions: Conditions
    memory_bytes: int  # the caches are sized by it, whether the limit is enforced or not
    hierarchy: conditions.Hierarchy | None  # None: no limits
    server: Server
    scratch: Path
    build_type: str = "release"
    group: conditions.Group | None = None
    pid: int = 0
    paused: bool = False

    @property
    def options(self) -> list[str]:
        """The server's settings beside those every private server has."""
        limited = conditions.DEVICES[self.conditions.device].limited
        # Version 1 cannot attribute what the page cache writes back later to a group.
        direct = limited and self.hierarchy is not None and self.hierarchy.version == 1
        return engines.server_options(self.engine, memory_bytes=self.memory_bytes,
                                      flush_setting=self.conditions.flush_setting, direct_writes=direct)

    def prepare(self) -> None:
        """Removes what an earlier invocation left, makes the data folder and the cgroup."""
        self.server.remove()
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.server.initialise()
        self.group = self._make_group()

    def start(self) -> Target:
        """Starts the server, or lets it go on; nothing when it runs."""
        self._resume()
        if not self.pid:
            wrapper = self.group.wrapper() if self.group else []
            try:
                self.pid = self.server.start(self.options, with_cairn=self.engine.kind == "cairn",
                                             wrapper=wrapper)
            except CairnError as error:
                raise CairnError(self.why_dead() if self._was_killed() else str(error)) from error
        return Target(self.engine, self.server.socket, self.pid, self.server.data, self.scratch,
                      self.server.query)

    def stop(self) -> None:
        """Ends the server in good order, so that the next start needs no recovery."""
        self._resume()
        if self.pid:
            self.pid = 0
            self.server.stop()

    def pause(self) -> None:
        """Stops all of the server's threads where they are, until `start` or `stop`; nothing when it does not run."""
        if self.pid and not self.paused:
            os.kill(self.pid, signal.SIGSTOP)
            self.paused = True

    def alive(self) -> bool:
        """Whether the server still runs."""
        return bool(self.pid) and self.server.pid() == self.pid

    def why_dead(self) -> str:
        """Says why the server is gone: the kernel for want of memory, or its own log's end."""
        if self._was_killed():
            limit_mib = self.memory_bytes >> 20
            cache_mib = engines.cache_bytes(self.memory_bytes, self.engine) >> 20
            return (f"{self.engine.name}: the kernel killed the server: out of memory, the cgroup's limit "
                    f"is {limit_mib} MiB (its cache was {cache_mib} MiB)")
        said = [line for line in self.server.log_tail(_LOG_LINES).splitlines()
                if "[Note]" not in line and not line.startswith("Version:")]
        kept = self.scratch / "server.log"  # the server's folder will be deleted
        shutil.copyfile(self.server.log, kept)
        where = os.path.relpath(kept, paths.ROOT)
        return "\n".join([f"{self.engine.name}: the server died; its log is {where}", *said[-5:]])

    def give_up(self) -> None:
        """After the server died: nothing is running any more."""
        self.pid, self.paused = 0, False

    def keep(self) -> None:
        """Lets the server go on without limits, for the user to look into."""
        self.stop()
        self._remove_group()
        self.server.start(self.options, with_cairn=self.engine.kind == "cairn")

    def remove(self) -> None:
        """Kills the server and deletes its data and its cgroup."""
        self.pid, self.paused = 0, False
        self.server.remove()
        self._remove_group()

    def cgroup_peak_bytes(self) -> int | None:
        """The most memory charged so far, page cache included."""
        return self.group.peak_bytes() if self.group else None

    def _resume(self) -> None:
        if self.paused:
            self.paused = False
            with contextlib.suppress(ProcessLookupError):  # the kernel may have killed it meanwhile
                os.kill(self.pid, signal.SIGCONT)

    def _make_group(self) -> conditions.Group | None:
        device = conditions.DEVICES[self.conditions.device]
        if self.hierarchy is None or (self.conditions.memory_bytes is None and not device.limited):
            return None
        return conditions.make_group(self.hierarchy, self.engine.name, self.conditions.memory_bytes,
                                     self.conditions.device, self.server.data)

    def _remove_group(self) -> None:
        if self.group:
            self.group.remove()
            self.group = None

    def _was_killed(self) -> bool:
        return self.group is not None and self.group.out_of_memory_kills() > 0
