"""The core for pages: built here, of this build, without paths of this computer; and what its absence says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.conftest import browser_core as browser_core_here

from hypertwin import _core
from hypertwin.errors import CODES
from hypertwin.show import browser_core


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package without the module."""
    monkeypatch.setattr(browser_core.resources, "files", lambda _: tmp_path)
    browser_core.module.cache_clear()
    yield tmp_path
    browser_core.module.cache_clear()


def test_the_module_is_of_this_build_and_names_no_folder_of_this_computer():
    browser_core_here()
    module = browser_core.module()
    assert module.startswith(b"\0asm")
    for path in (ROOT, Path.home(), Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))):
        assert f"{path}/".encode() not in module


def test_without_the_module_the_error_says_how_to_get_it(folder):
    with pytest.raises(browser_core.NoBrowserCoreError) as error:
        browser_core.module()
    assert (error.value.code, error.value.exit_code) == ("no-browser-core", 2)
    assert str(folder / "core.wasm") in str(error.value)
    assert "make page" in str(error.value)
    assert "no-browser-core" in CODES


def test_a_module_of_another_build_is_refused(folder):
    (folder / "core.wasm").write_bytes(b"\0asm 0.5.0+0123456789abcdef")
    with pytest.raises(browser_core.NoBrowserCoreError, match="not of this build") as error:
        browser_core.module()
    assert _core.build() in str(error.value)
    browser_core.module.cache_clear()
    (folder / "core.wasm").write_bytes(b"\0asm " + _core.build().encode())
    assert browser_core.module().startswith(b"\0asm")
