"""A plugin of pytest, `-p calls_plugin`: what each test runs and reads in all processes, and its CPU time."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from calls import INTO, OWNER, ROOT, Notes, start

CPU, FIXTURE = "<cpu>", "<fixture>"
"""In the place of the file, in lines that say what a test costs and which shared fixtures it uses."""
ONLY_CPU = "HYPERTWIN_CALLS_ONLY_CPU"
"""In the environment: nothing is noted but what tests cost, which notes make two to three times as much."""
IN_EACH_PROCESS = f"import os\n\nimport calls\n\ncalls.start(calls.Notes(os.environ[{INTO!r}]))\n"


def cpu_s(process: str = "self") -> float:
    """CPU time of a process and of all that it has started, running or ended."""
    try:
        own = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    children = list[str]()
    for each in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += each.read_text().split()
    return sum(int(ticks) for ticks in own[11:15]) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children))


class Plugin:
    """Takes notes of each test, and of fixtures that tests share apart."""

    def __init__(self) -> None:
        """Nothing is noted of the collection."""
        self.notes = Notes(os.environ[INTO])

    def pytest_collection_finish(self) -> None:
        """From now on."""
        if ONLY_CPU not in os.environ:
            start(self.notes)

    @contextmanager
    def on_behalf(self, owner: str) -> Iterator[None]:
        """What runs in here is noted under this name."""
        before = os.environ.get(OWNER, ""), self.notes.codes, self.notes.paths
        self.notes.forget()
        os.environ[OWNER] = owner
        try:
            yield
        finally:
            os.environ[OWNER], self.notes.codes, self.notes.paths = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, object, object]:
        """One test."""
        began = cpu_s()
        with self.on_behalf(item.nodeid):
            for fixtures in item._fixtureinfo.name2fixturedefs.values():
                if fixtures[-1].scope != "function":
                    self.notes.write(FIXTURE, name_of(fixtures[-1]))
            result = yield
            self.notes.write(CPU, f"{cpu_s() - began:.2f}")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """A fixture that several tests share: it runs for one of them, on behalf of all."""
        if fixturedef.scope == "function":
            return (yield)
        with self.on_behalf(name_of(fixturedef)):
            return (yield)


def name_of(fixture: Any) -> str:
    """Where it is defined and its name."""
    return f"{fixture.baseid}::{fixture.argname}"


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin: `pytest -p calls_plugin`. What it starts finds the `sitecustomize` beside its file of notes."""
    if ONLY_CPU not in os.environ:
        folder = Path(os.environ[INTO]).parent
        Path(folder, "sitecustomize.py").write_text(IN_EACH_PROCESS)
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), f"{ROOT}scripts", *filter(None, known)])
    config.pluginmanager.register(Plugin())
