# SPDX-License-Identifier: GPL-2.0-only
"""Every write and discard that goes to a disk, by the kernel's tracepoint block_rq_issue.

A child process mounts tracefs in a mount namespace of its own and reads from a trace instance of its own: nobody
else's tracing is disturbed, and nothing stays. As a program (`python3 -m cairn_cli.bench.block_trace DEVICE MOUNT OUT`)
the module is that child. Needs root.
"""

import array
import contextlib
import os
import re
import select
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from cairn_cli import paths, process
from cairn_cli.bench.flash import Request
from cairn_cli.errors import CairnError

_EVENT = re.compile(rb"block_rq_issue: \d+,\d+ (\w+) \d+ \(.*?\) (\d+) \+ (\d+) ")
_LOST = re.compile(rb"LOST (\d+) EVENTS")
_BUFFER_KB = 16384  # for each CPU
_READ_BYTES = 1 << 20
_STOP_TIMEOUT_S = 60
_PARENT_CHECK_S = 5.0  # a child whose parent was killed ends too


def parse(line: bytes) -> Request | None:
    """A line of the trace as a request; None if it is none, or a read, or a flush without data."""
    found = _EVENT.search(line)
    if not found:
        return None
    kind, sector, count = found[1], int(found[2]), int(found[3])
    if count and b"D" in kind:
        return sector, -count
    return (sector, count) if count and b"W" in kind else None


def check(device: str | None) -> None:
    """Raises CairnError when nothing can be captured."""
    if device is None:
        raise CairnError("--block-trace: the data folder is on no disk that the kernel counts")
    BlockTrace(device).close()


class BlockTrace:
    """One capture; as a context manager it never leaves the child behind."""

    def __init__(self, device: str) -> None:
        if os.geteuid() != 0 or not shutil.which("unshare"):
            raise CairnError("--block-trace needs root and the program unshare")
        self._folder = Path(tempfile.mkdtemp(prefix="cairn-trace-"))
        (self._folder / "mount").mkdir()
        self._out = self._folder / "requests"
        self._child = process.converse(
            ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", __name__, device,
             self._folder / "mount", self._out], env={"PYTHONPATH": str(paths.ROOT / "cli")})
        assert self._child.stdout
        if self._child.stdout.readline() != b"ready\n":
            _, said = self._child.communicate()
            self.close()
            why = said.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise CairnError(f"--block-trace: the kernel's tracing is not to be had: {why[-1]}")

    def stop(self) -> list[Request]:
        """Ends the capture; raises CairnError when events were lost."""
        self._child.send_signal(signal.SIGTERM)
        out, said = self._child.communicate(timeout=_STOP_TIMEOUT_S)
        if self._child.returncode or not out.startswith(b"lost "):
            raise CairnError(f"--block-trace: {said.decode(errors='replace').strip()}")
        if lost := int(out.split()[1]):
            raise CairnError(f"--block-trace: {lost} events were lost")
        numbers = array.array("q")
        numbers.frombytes(self._out.read_bytes())
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def close(self) -> None:
        """Ends the child if it still runs, and removes its files."""
        if self._child.poll() is None:
            self._child.terminate()
            self._child.communicate(timeout=_STOP_TIMEOUT_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> "BlockTrace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _capture(device: str, mount: Path, out: Path) -> None:
    """The child: captures until SIGTERM, then writes the requests and how many events were lost."""
    stopped, stop = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.close(stop))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    place = Path(f"/sys/class/block/{device}").resolve()
    if (place / "partition").exists():  # requests are told of the whole disk
        place = place.parent
    major, minor = map(int, (place / "dev").read_text(encoding="ascii").split(":"))
    code, said = process.result(["mount", "-t", "tracefs", "tracefs", mount])
    if code:
        sys.exit(said.strip())
    instance = mount / "instances" / f"cairn-{os.getpid()}"
    instance.mkdir()
    parent = os.getppid()
    requests, rest, lost = array.array("q"), b"", 0
    try:
        (instance / "buffer_size_kb").write_text(str(_BUFFER_KB), encoding="ascii")
        event = instance / "events/block/block_rq_issue"
        (event / "filter").write_text(f"dev == {major << 20 | minor}", encoding="ascii")
        pipe = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        (event / "enable").write_text("1", encoding="ascii")
        print("ready", flush=True)
        running = True
        while running:
            told = select.select([pipe, stopped], [], [], _PARENT_CHECK_S)[0]
            running = stopped not in told and os.getppid() == parent
            if not running:
                (event / "enable").write_text("0", encoding="ascii")
            with contextlib.suppress(BlockingIOError):
                while block := os.read(pipe, _READ_BYTES):
                    *lines, rest = (rest + block).split(b"\n")
                    for line in lines:
                        if request := parse(line):
                            requests.extend(request)
                        elif missed := _LOST.search(line):
                            lost += int(missed[1])
        os.close(pipe)
    finally:
        instance.rmdir()
    out.write_bytes(requests.tobytes())
    print(f"lost {lost}", flush=True)


if __name__ == "__main__":
    _capture(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
