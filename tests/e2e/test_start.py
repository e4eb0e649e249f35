"""What a command or an import loads: nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hypertwin
from hypertwin.cli import catalogue

LOADED = "import sys; print(*sys.modules, file=sys.stderr)"
RUN = f"from hypertwin.cli.main import main\ntry: main()\nexcept SystemExit: {LOADED}"
VNUMA = "vnuma --hypervisor esxi-6.5 --sockets 2 --cores 20 --vcpus 24"


def loaded(code: str, *arguments: str) -> set[str]:
    """Modules in memory after code ran; it prints them on stderr."""
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ended.stderr.split())


def test_the_version_loads_no_command_and_no_rich():
    modules = loaded(RUN, "--version")
    assert "hypertwin.cli.main" in modules
    assert not modules & {
        *catalogue.COMMANDS.values(),
        "rich",
        "yaml",
        "hypertwin.runs.simulation",
        "hypertwin.show.registry",
    }


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], ["version"], ["help"]])
def test_what_needs_no_command_loads_no_typer(arguments):
    assert not loaded(RUN, *arguments) & {"typer", "pydantic", "rich"}


def test_a_command_loads_no_other():
    modules = loaded(RUN, *VNUMA.split())
    assert modules & set(catalogue.COMMANDS.values()) == {"hypertwin.cli.vnuma"}
    assert not modules & {"numpy", "polars", "pydantic", "hypertwin.calibration"}


def test_the_package_loads_what_is_used():
    assert not loaded(f"import hypertwin; {LOADED}") & {
        "hypertwin.runs.simulation",
        "hypertwin.scenario",
        "hypertwin.errors",
    }
    assert "hypertwin.runs.simulation" in loaded(f"import hypertwin; hypertwin.simulate; {LOADED}")


def test_the_package_offers_what_it_says():
    assert {name for name in dir(hypertwin) if name[0] != "_"} >= set(hypertwin.__all__)
    assert all(getattr(hypertwin, name).__name__ == name for name in hypertwin.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'simulte'"):
        _ = hypertwin.simulte
