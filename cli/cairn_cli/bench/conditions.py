# SPDX-License-Identifier: GPL-2.0-only
"""What surrounds a server while it is measured: its cgroup's limits, and the page cache.

A machine has the memory and block-IO controllers of cgroup v1 or those of v2, or lets us use
neither; a condition that was asked for and cannot be had is an error, never left out silently.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cairn_cli.errors import CairnError

_MOUNTS = Path("/proc/mounts")
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_REMOVE_TIMEOUT_S = 10
_POLL_S = 0.05


@dataclass(frozen=True)
class Device:
    """What a simulated device allows, all per second; None: not limited."""

    read_operations: int | None = None
    write_operations: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None

    @property
    def limited(self) -> bool:
        """Whether anything is to be throttled."""
        return self != Device()


DEVICES: dict[str, Device] = {
    "fast": Device(),  # the machine's own, whatever it is
    "volume": Device(3_000, 3_000, 125_000_000, 125_000_000),  # a cloud's block volume as it comes
    "slow-ssd": Device(10_000, 5_000, 250_000_000, 150_000_000),  # an older SATA drive
    "disk": Device(200, 200, 120_000_000, 120_000_000),  # one spindle with some queueing
}


@dataclass(frozen=True)
class Hierarchy:
    """Where the controllers are: of version 2 under one folder, of version 1 under one for each."""

    version: int
    roots: Mapping[str, Path]  # "memory" and "io" -> the folder in which ours is made

    @staticmethod
    def detect(mounts: str | None = None) -> "Hierarchy | None":
        """Reads the mounted controllers; None when there is no memory controller."""
        text = _MOUNTS.read_text(encoding="utf-8") if mounts is None else mounts
        rows = [line.split() for line in text.splitlines()]
        old: dict[str, Path] = {}
        unified: Path | None = None
        for row in rows:
            if row[2] == "cgroup":
                for controller, name in (("memory", "memory"), ("blkio", "io")):
                    if controller in row[3].split(","):
                        old[name] = Path(row[1])
            elif row[2] == "cgroup2":
                unified = unified or Path(row[1])
        if "memory" in old:
            return Hierarchy(1, old)
        if unified and "memory" in _words(unified / "cgroup.controllers"):
            names = {name: unified for name in ("memory", "io")
                     if name in _words(unified / "cgroup.controllers")}
            return Hierarchy(2, names)
        return None


@dataclass
class Group:
    """One server's cgroup. `create` first; `remove` when no process is in it any more."""

    hierarchy: Hierarchy
    name: str
    memory_bytes: int | None = None
    device: Device = field(default_factory=Device)
    device_number: str = ""  # "major:minor" of the whole disk, needed for a limited device

    def create(self) -> None:
        """Makes the group and sets its limits; raises CairnError where that is not allowed."""
        try:
            self._create()
        except OSError as error:
            self.remove()
            raise CairnError(
                f"cannot make a cgroup (v{self.hierarchy.version}): {error.strerror}: {error.filename}\n"
                "The limits of --memory and --device need the right to make cgroups: run as root, or "
                "measure without limits by --no-cgroup (and --device fast).") from error

    def wrapper(self) -> list[str]:
        """Put before a command line: enters the group and becomes the program, with the same pid."""
        joins = "".join(f"echo $$ > '{folder}/cgroup.procs' && " for folder in self._folders())
        return ["/bin/sh", "-c", f'{joins}exec "$@"', "sh"]

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has killed because of this group's limit."""
        if self.memory_bytes is None:
            return 0
        name = "memory.oom_control" if self.hierarchy.version == 1 else "memory.events"
        words = _words(self._folder("memory") / name)
        return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0

    def peak_bytes(self) -> int | None:
        """The most memory charged to the group so far, page cache included."""
        if self.memory_bytes is None:
            return None
        name = "memory.max_usage_in_bytes" if self.hierarchy.version == 1 else "memory.peak"
        words = _words(self._folder("memory") / name)
        return int(words[0]) if words else None

    def remove(self) -> None:
        """Deletes the group; waits a moment for the kernel to notice that it is empty."""
        deadline_s = time.monotonic() + _REMOVE_TIMEOUT_S
        for folder in self._folders():
            while folder.is_dir():
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                if time.monotonic() > deadline_s:
                    return
                time.sleep(_POLL_S)

    def _controllers(self) -> list[str]:
        wanted = ["memory"] if self.memory_bytes is not None else []
        return wanted + (["io"] if self.device.limited else [])

    def _folder(self, controller: str) -> Path:
        return self.hierarchy.roots[controller] / self.name

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(self._folder(name) for name in self._controllers()
                                  if name in self.hierarchy.roots))

    def _create(self) -> None:
        for controller in self._controllers():
            if controller not in self.hierarchy.roots:
                raise CairnError(f"this machine's cgroups (v{self.hierarchy.version}) have no block-IO "
                                 "controller: --device can only be fast")
            root = self.hierarchy.roots[controller]
            if self.hierarchy.version == 2 and controller not in _words(root / "cgroup.subtree_control"):
                _write(root / "cgroup.subtree_control", f"+{controller}")
            self._folder(controller).mkdir(exist_ok=True)
        if self.memory_bytes is not None:
            self._limit_memory(self._folder("memory"), self.memory_bytes)
        if self.device.limited:
            self._limit_device(self._folder("io"))

    def _limit_memory(self, folder: Path, limit: int) -> None:
        if self.hierarchy.version == 2:
            _write(folder / "memory.max", str(limit))
            with contextlib.suppress(FileNotFoundError):  # absent without swap accounting
                _write(folder / "memory.swap.max", "0")
            return
        _write(folder / "memory.limit_in_bytes", str(limit))
        with contextlib.suppress(OSError):
            _write(folder / "memory.memsw.limit_in_bytes", str(limit))

    def _limit_device(self, folder: Path) -> None:
        limits = {"riops": self.device.read_operations, "wiops": self.device.write_operations,
                  "rbps": self.device.read_bytes, "wbps": self.device.write_bytes}
        given = {name: value for name, value in limits.items() if value is not None}
        if self.hierarchy.version == 2:
            text = " ".join(f"{name}={value}" for name, value in given.items())
            _write(folder / "io.max", f"{self.device_number} {text}")
            return
        files = {"riops": "read_iops", "wiops": "write_iops", "rbps": "read_bps", "wbps": "write_bps"}
        for name, value in given.items():
            _write(folder / f"blkio.throttle.{files[name]}_device", f"{self.device_number} {value}")


def require_hierarchy() -> Hierarchy:
    """As `Hierarchy.detect`, or an error that says what to do."""
    if found := Hierarchy.detect():
        return found
    raise CairnError("this machine has no cgroup memory controller, so --memory and --device cannot be "
                     "enforced; --no-cgroup sizes the engines' caches by --memory without a limit")


def check(hierarchy: Hierarchy, memory_bytes: int | None, device: str, folder: Path) -> None:
    """Makes and removes a group with such limits, for data in `folder`; CairnError says why not."""
    make_group(hierarchy, "check", memory_bytes, device, folder).remove()


def limits_work() -> bool:
    """Whether a memory limit can be enforced here, by trying."""
    hierarchy = Hierarchy.detect()
    if hierarchy is None:
        return False
    try:
        check(hierarchy, 1 << 30, "fast", Path("/"))
    except CairnError:
        return False
    return True


def make_group(hierarchy: Hierarchy, name: str, memory_bytes: int | None, device: str, folder: Path) -> Group:
    """A group of this process for a server whose data is in `folder`."""
    disk = disk_of(folder)
    if DEVICES[device].limited and disk is None:
        raise CairnError(f"--device {device}: {folder} is on no block device that could be slowed down")
    group = Group(hierarchy, f"cairn-bench-{os.getpid()}-{name}", memory_bytes, DEVICES[device],
                  disk[1] if disk else "")
    group.create()
    return group


def disk_of(path: Path, sysfs: Path = Path("/sys/dev/block")) -> tuple[str, str] | None:
    """Name and "major:minor" of the whole disk a path lies on; None when it is on no block device."""
    number = os.stat(path).st_dev
    entry = sysfs / f"{os.major(number)}:{os.minor(number)}"
    if not entry.exists():
        return None
    folder = entry.resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    return folder.name, (folder / "dev").read_text(encoding="ascii").strip()


def check_drop_caches() -> None:
    """Raises CairnError when `drop_caches` would fail."""
    if not os.access(_DROP_CACHES, os.W_OK):
        raise CairnError(f"--cold needs the right to drop the page cache: no write access to {_DROP_CACHES} "
                         "(run as root)")


def drop_caches() -> None:
    """Empties the page cache of the machine."""
    os.sync()
    _write(_DROP_CACHES, "3")


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []


def _write(path: Path, text: str) -> None:
    # One write call, unbuffered: the kernel judges each write.
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode("ascii"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)
