"""What tests share: the command line as a user runs it, and scenarios short enough to run many times."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from tests.forked import Server
from tests.unpacked import unpacked_here

from hypertwin import _core
from hypertwin.errors import ScenarioError
from hypertwin.ingest import parquet_table
from hypertwin.runs import runner, task

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]

os.environ["HYPERTWIN_CACHE"] = "off"  # no test leans on what was simulated before, or leaves anything with the user

TINY = """
name: tiny
run: {duration: 4 s, warmup: 1 s, sample_interval: 1 s, seed: 7, replications: 2}
hosts:
  esx1:
    sockets: 1
    cores_per_socket: 2
    clock: 2.5 GHz
    memory_per_node: 64 GiB
    hypervisor: esxi-8.0
vms:
  db: {vcpus: 2, memory: 4 GiB, workload: oltp}
  web: {count: 2, vcpus: 1, memory: 2 GiB, workload: oltp, load: 0.5}
workloads:
  oltp:
    arrivals: {closed: {population: 8, think: {mean: 40 ms}}}
    cpu: {mean: 4 ms}
    delay: {mean: 5 ms}
"""
"""One host, a group of one VM and a group of two; a run takes milliseconds."""

SOAK = int(os.environ.get("SOAK", "1"))
"""How many times as many random cases `make soak` tries."""
EXAMPLES = 30 * SOAK
"""Random cases of each test with `@given`."""

settings.register_profile(
    "tests",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    **({} if os.access(ROOT, os.W_OK) else {"database": None}),  # examples that failed are kept there
)
settings.load_profile("tests")

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The tiny scenario as a file."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def commands() -> Iterator[Server]:
    """What forks the processes of `cli`."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def cli(commands: Server, tmp_path: Path) -> Cli:
    """Run `hypertwin ARGUMENTS...` in an empty folder or `at` another, stdout and stderr apart, without a terminal.

    The test fails and shows stderr at a traceback, if the exit code is not `exits`, or if an error printed a result. It
    also fails unless stderr is what a success `says`.
    """

    def run(
        *arguments: object, at: Path = tmp_path, exits: int | None = None, says: str | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        words = [str(each) for each in arguments]
        if options:
            command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", *words]
            done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False, timeout=120, **options)  # type: ignore[call-overload]
        else:
            done = commands.run(words, at)
        assert exits in (None, done.returncode), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert exits != 2 or not done.stdout, done.stdout
        assert says is None or (done.returncode, done.stderr) == (0, says)
        return done  # type: ignore[no-any-return]

    return run


def simulated(cli: Cli, scenario: str = "cluster.yaml", seconds: int = 1) -> Any:
    """The only point of a short run of a scenario."""
    run = ("--duration", seconds, "--warmup", "1", "--replications", "1", "--format", "json")
    return json.loads(cli("simulate", scenario, *run, exits=0).stdout)["points"][0]


@pytest.fixture
def tables_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of telemetry are unpacked in this process. How they are in their own: ingest/test_telemetry_table.py."""
    monkeypatch.setattr(parquet_table, "_unpacked", unpacked_here)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the pages of a module."""
    from tests.e2e import browser as browsers  # other tests need no Playwright

    with browsers.chromium() as found:
        yield found


BeforeRun = Callable[[str, list[int], int], object]
"""Gets the scenario's JSON, the numbers of islands and the seed."""


@pytest.fixture
def watch_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[BeforeRun], None]]:
    """Call something before the core runs islands in this process; what it raises is what the run raises."""
    true_islands = _core.Islands

    def forget() -> None:
        for cache in (runner.cut, task.islands_of):
            cache.cache_clear()

    def watch(before: BeforeRun) -> None:
        class Watched:
            def __init__(self, scenario: str) -> None:
                self.scenario, self.islands = scenario, true_islands(scenario)

            def __getattr__(self, name: str) -> object:
                return getattr(self.islands, name)

            def run(self, numbers: list[int], seed: int, meter: _core.Meter | None = None) -> list[_core.Replication]:
                before(self.scenario, numbers, seed)
                return self.islands.run(numbers, seed)

        monkeypatch.setattr(_core, "Islands", Watched)
        forget()

    yield watch
    forget()


@contextmanager
def refused(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[ScenarioError]]:
    """Mistakes of this one kind are raised in the block."""
    with pytest.raises(ScenarioError, match=match) as caught:
        yield caught
    assert caught.value.code == code


# What is skipped where: everything that scripts/install_test_tools installs is there in continuous integration (CI is
# set), so that a test that lacks it fails; what a machine cannot have at all is skipped everywhere. The reasons are
# printed at the end of a run, and no other skip is allowed (tests/python/test_checks.py).


def needs(*tools: str | Path) -> None:
    """Commands and files that the test uses."""
    missing = [str(tool) for tool in tools if not (tool.is_file() if isinstance(tool, Path) else shutil.which(tool))]
    if missing:
        lacks(", ".join(missing))


def browser_core() -> Path:
    """The core for pages, if Rust can build it here; set-up says why it cannot."""
    core = ROOT / "python" / "hypertwin" / "show" / "core.wasm"
    only_where(core.is_file(), "there is no core for pages: Rust has no target for WebAssembly")
    return core


def needs_module(name: str) -> ModuleType:
    """An optional library that the test uses."""
    if importlib.util.find_spec(name) is None:
        lacks(name)
    return importlib.import_module(name)


def lacks(what: str) -> NoReturn:
    """Skip the test for what is not installed; in continuous integration fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"missing: {what}")
    pytest.skip(f"missing: {what}; see scripts/install_test_tools")


def only_where(possible: object, reason: str) -> None:
    """Skip the test on machines that cannot have what it measures."""
    if not possible:
        pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests measured and do not judge: what they gave to `record_property`."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture
def linux() -> None:
    """Only Linux."""
    only_where(sys.platform == "linux", "the lab measures Linux machines only")
