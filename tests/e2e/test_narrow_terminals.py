"""What commands print on a terminal of so many columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

PROGRAM = (sys.executable, "-c", "from hypertwin.cli.main import main; main()")


@pytest.fixture
def printed(tmp_path):
    """Run `hypertwin ARGUMENTS...` on a terminal; what it printed there, without colours."""
    env = {**os.environ, "TERM": "xterm"}  # all of it: readline, which pytest imports, adds COLUMNS behind its back
    env.pop("COLUMNS", None)

    def run(width, *arguments):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        command = subprocess.Popen(
            [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env
        )
        os.close(theirs)
        parts = []
        while part := _read(ours):
            parts.append(part)
        os.close(ours)
        command.wait()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(parts).decode()).replace("\r\n", "\n")

    return run


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: nobody has the other end any more
        return b""


@pytest.mark.parametrize("width", [60, 80, 100])
def test_help_is_as_wide_as_the_terminal(printed, width):
    text = printed(width, "density", "-h")
    assert "Examples:" in text
    options = text.partition("Examples:")[0]  # which are to be copied, and whole
    assert width - 12 < max(map(len, options.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 140])
def test_figures_of_durability_are_whole(printed, width):
    text = printed(width, "durability", "--scheme", "3:2", "--scheme", "4+1", "--afr", "1%", "--repair", "6h")
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for scheme in ("replicas-3:2", r"ec-4\+1"):
        assert re.search(rf"^ +{scheme}.* \d\.\d{{3}}e-\d\d", text, re.M)


@pytest.mark.parametrize("width", [60, 80])
def test_half_widths_stay_and_what_is_left_out_is_named(printed, tmp_path, width):
    printed(80, "examples", "small-esxi", "-o", "./")
    text = printed(width, "simulate", "small-esxi.yaml", "--duration", "2", "--replications", "2", "--explain")
    assert re.search(r"^ +db .* ±\d", text, re.M)
    assert "Columns omitted: run %" in " ".join(text.split())


def test_what_fails_at_once_draws_no_bar(printed):
    assert printed(80, "simulate", "none.yaml").startswith("error: no such file [file-not-found]\n  --> none.yaml\n")


def test_lists_of_what_is_allowed_are_wrapped_between_words(printed):
    printed(80, "examples", "small-esxi", "-o", "./")
    text = printed(40, "capacity", "small-esxi.yaml", "--vm", "4x")
    assert max(map(len, text.splitlines())) <= 40
    allowed = re.search(r"^  allowed: (.*?)^  help: ", text, re.M | re.S)[1].split()
    assert {"vCPUs", "4x16GiB,", "4x16GiBx900MHz"} <= set(allowed)
    assert "allowed:" not in printed(60, "simulate", "small-esxi.yaml", "--set", "vms.db.vcpu=2")  # keys: too many
