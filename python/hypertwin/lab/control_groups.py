"""Control groups for experiments: one for each simulated VM, with its weight and its quota.

Both versions of the cpu controller work as mounted. Threads go one by one into `tasks` (version 1) or into
`cgroup.threads` of a threaded group (version 2).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypertwin.errors import HypertwinError

PERIOD_US = 100_000
"""Period of the quota: the kernel's default."""
MOST_SHARES = 262_144
"""Maximum of `cpu.shares`. The parent group of all experiments has it, so that other processes disturb little."""
MOST_WEIGHT = 10_000
"""Maximum of `cpu.weight`."""

PATIENCE_S = 5.0
"""Maximum seconds that a group stays busy with ended threads: the kernel removes them a little later."""
RETRY_S = 0.01
"""Time between two attempts to remove a group."""

_numbers = itertools.count(1)
"""Counter for unique names of sets of groups."""


class ControlGroupError(HypertwinError):
    """Raised if a control group could not be created or set."""

    code = "control-group"


class Tree:
    """Folder of the cpu controller where this process can create groups."""

    def __init__(self, folder: Path, version: int) -> None:
        """Use `find` to get `folder`."""
        self.folder = folder
        self.version = version
        self._busy: list[Path] = []

    @contextmanager
    def machines(self, settings: dict[str, tuple[float, float | None]]) -> Iterator[dict[str, str]]:
        """Create groups by shares (1000 is normal for one vCPU) and quota (CPUs).

        Yield the thread file of each group.
        """
        parent = self.folder / f"hypertwin-lab-{os.getpid()}-{next(_numbers)}"
        made: list[Path] = []
        try:
            self._make(parent, made)
            self._weight(parent, None)
            files = {}
            for name, (shares, quota_cpus) in settings.items():
                folder = parent / name
                self._make(folder, made)
                self._weight(folder, shares)
                if quota_cpus is not None:
                    self._quota(folder, quota_cpus)
                files[name] = str(folder / ("tasks" if self.version == 1 else "cgroup.threads"))
            yield files
        except OSError as error:
            raise ControlGroupError(f"control group {error.filename}: {error.strerror}") from error
        finally:
            self._busy += made
            self.clear()

    def clear(self) -> list[Path]:
        """Remove all created groups, after a wait for their ended threads. Returns groups that stay busy."""
        until = time.monotonic() + PATIENCE_S
        while True:
            self._busy = [folder for folder in reversed(self._busy) if not _removed(folder)][::-1]
            if not self._busy or time.monotonic() >= until:
                return self._busy
            time.sleep(RETRY_S)

    def _make(self, folder: Path, made: list[Path]) -> None:
        folder.mkdir()
        made.append(folder)
        if self.version == 2:
            (folder / "cgroup.type").write_text("threaded")
            if len(made) == 1:
                (folder / "cgroup.subtree_control").write_text("+cpu")

    def _weight(self, folder: Path, shares: float | None) -> None:
        if self.version == 1:
            value = MOST_SHARES if shares is None else max(2, round(1024 * shares / 1000))
            (folder / "cpu.shares").write_text(str(value))
        else:
            value = MOST_WEIGHT if shares is None else min(MOST_WEIGHT, max(1, round(100 * shares / 1000)))
            (folder / "cpu.weight").write_text(str(value))

    def _quota(self, folder: Path, cpus: float) -> None:
        quota_us = round(cpus * PERIOD_US)
        if self.version == 1:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")


def _removed(folder: Path) -> bool:
    """True if a group no longer exists."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def find(mounts: Path = Path("/proc/self/mounts"), own: Path = Path("/proc/self/cgroup")) -> tuple[Tree | None, str]:
    """Return the folder of the cpu controller that contains this process and is writable, or None with the reason."""
    try:
        found = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
        paths = [line.split(":", 2) for line in own.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        return None, f"control groups are not told: {error}"
    for number, controllers, path in paths:
        for _, place, kind, options, *_ in found:
            first = kind == "cgroup" and "cpu" in controllers.split(",") and "cpu" in options.split(",")
            second = kind == "cgroup2" and number == "0"
            if not (first or second):
                continue
            folder = Path(place) / path.lstrip("/")
            if second:
                with contextlib.suppress(OSError):
                    if "cpu" in (folder / "cgroup.controllers").read_text().split():
                        tree, reason = _usable(Tree(folder, 2))
                        if tree:
                            return tree, reason
                continue
            return _usable(Tree(folder, 1))
    return None, "no cpu controller of control groups is mounted for this process"


def _usable(tree: Tree) -> tuple[Tree | None, str]:
    """Return the tree if groups can be created and set below it, otherwise None with the reason."""
    try:
        with tree.machines({"probe": (1000, 0.5)}):
            return tree, f"version {tree.version} at {tree.folder}"
    except ControlGroupError as error:
        return None, f"{error} (run as root, or in a delegated control group)"
