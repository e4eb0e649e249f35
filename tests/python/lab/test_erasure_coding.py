"""Erasure coding with ISA-L: what is coded comes back, results have their shape, mistakes are told. No timing."""

from __future__ import annotations

import ctypes
import json
import random

import pytest
from tests.conftest import Cli, lacks

from hypertwin.errors import ScenarioError
from hypertwin.lab import erasure_coding, isal, machine, system
from hypertwin.lab.erasure_coding import SCHEMES, Buffer, Scheme, WrongResultError, measure, verify
from hypertwin.show import registry

SIZE = 4096


@pytest.fixture(scope="module")
def library() -> isal.Isal:
    """ISA-L."""
    try:
        return isal.Isal()
    except isal.LibraryMissingError:
        lacks("libisal2")


def fragment(memory: Buffer, index: int) -> bytes:
    return ctypes.string_at(memory.address + index * SIZE, SIZE)


def encoded(library: isal.Isal, scheme: Scheme) -> tuple[Buffer, bytes]:
    """A stripe of random data with its parity, and the matrix."""
    memory = Buffer((scheme.fragments + 1) * SIZE)
    pieces = memory.pieces(scheme.fragments, SIZE)
    matrix = library.matrix(scheme.data, scheme.parity)
    tables = library.tables(matrix[scheme.data**2 :], scheme.data)
    data, parity = isal.pointers(pieces[: scheme.data]), isal.pointers(pieces[scheme.data :])
    library.encode(SIZE, scheme.data, scheme.parity, tables, data, parity)
    return memory, matrix


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SCHEMES, "1+1", "2+4", "20+4"])
def test_every_scheme_survives_random_losses_and_overwrites(library, name):
    assert verify(library, Scheme.parse(name), losses=40, size=SIZE, seed=7) == 40


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3+2", "17+3"])
def test_coding_is_what_the_field_says(library, name):
    """Parity from the definition, byte by byte: products and sums in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1."""
    scheme = Scheme.parse(name)
    memory, matrix = encoded(library, scheme)
    for parity in range(scheme.parity):
        row = matrix[scheme.data * (scheme.data + parity) :][: scheme.data]
        for at in (0, 1, 63, 64, SIZE - 1):
            total = 0
            for index, coefficient in enumerate(row):
                total ^= product(coefficient, fragment(memory, index)[at])
            assert fragment(memory, scheme.data + parity)[at] == total


def product(left: int, right: int) -> int:
    total = 0
    while right:
        total ^= left if right & 1 else 0
        left = left << 1 ^ (0x11D if left & 0x80 else 0)
        right >>= 1
    return total


@pytest.mark.slow
def test_the_first_data_rows_are_the_data_itself(library):
    rows = library.matrix(4, 2)
    assert rows[:16] == bytes(int(row == column) for row in range(4) for column in range(4))
    assert all(rows[16:])


@pytest.mark.slow
def test_too_few_survivors_are_refused(library):
    matrix = library.matrix(3, 2)
    with pytest.raises(ValueError, match="do not determine the data"):
        library.rebuilding(matrix, 3, [0, 0, 1], [2])


@pytest.mark.slow
def test_a_library_that_codes_wrongly_is_found_out(library, monkeypatch):
    right = library.encode

    def wrong(length: int, sources: int, targets: int, *rest: object) -> None:
        right(length - 64, sources, targets, *rest)

    monkeypatch.setattr(library, "encode", wrong)
    with pytest.raises(WrongResultError, match="did not rebuild fragment"):
        verify(library, Scheme(3, 2), size=SIZE)


@pytest.mark.slow
def test_a_library_that_updates_wrongly_is_found_out(library, monkeypatch):
    monkeypatch.setattr(library, "update", lambda *arguments: None)
    with pytest.raises(WrongResultError, match="wrong parity"):
        verify(library, Scheme(3, 2), size=SIZE)


@pytest.mark.slow
def test_the_checksum_is_crc_32c(library):
    # the check value of CRC-32C in catalogues of CRCs; ISA-L leaves inversion to the caller
    text = ctypes.create_string_buffer(b"123456789", 9)
    assert library.crc32c(text, 9, 0xFFFFFFFF) ^ 0xFFFFFFFF == 0xE3069283


@pytest.fixture(scope="module")
def measured(library) -> dict:
    """A short measurement of three schemes, of stripes that go through memory once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(erasure_coding, "BEYOND_CACHE", 1)
        patch.setattr(erasure_coding, "REPETITIONS", 1)
        return measure(["3+1", "3+2", "14+3", "3+2"], fragment="256 KiB", seconds=0.01)


@pytest.mark.slow
def test_every_figure_is_there_once(measured):
    figures = [(row["scheme"], row["operation"], row["lost"], row["working_set"]) for row in measured["rows"]]
    assert len(figures) == len(set(figures))
    expected = {(None, "crc32c", 0)}
    for scheme, most in (("3+1", 1), ("3+2", 2), ("14+3", 3)):
        expected |= {(scheme, operation, 0) for operation in ("encode", "update")}
        expected |= {(scheme, "rebuild", lost) for lost in (1, most)}
    assert set(figures) == {(*figure, place) for figure in expected for place in ("memory", "l2")}


@pytest.mark.slow
def test_rows_have_units_and_working_sets(measured):
    caches = measured["machine"]
    for row in measured["rows"]:
        rate = row["gb_per_s"]
        assert 0 < rate["min"] <= rate["median"] <= rate["max"]
        assert row["cycles_per_byte"] * rate["median"] * 1e9 == pytest.approx(caches["clock_hz"])
        if row["working_set"] == "memory":
            assert row["working_set_bytes"] >= 0.99 * caches["llc_bytes"]
        else:
            assert caches["l2_bytes"] * 0.4 < row["working_set_bytes"] <= caches["l2_bytes"] // 2


@pytest.mark.slow
def test_the_machine_and_the_library_are_named(measured):
    assert set(measured) == {
        *("version", "machine", "library", "date", "fragment_bytes", "seconds", "repetitions"),
        *("losses_rebuilt", "rows", "fits", "scenario"),
    }
    assert all(measured["machine"][key] for key in ("cpu", "clock_hz", "clock_source", "l2_bytes", "llc_bytes"))
    assert all(measured["library"][key] for key in ("file", "isal_version", "instruction_set", "call_ns"))
    assert measured["losses_rebuilt"] == {"3+1": 25, "3+2": 25, "14+3": 25}
    assert list(measured["scenario"]) == ["3+1", "3+2", "14+3"]
    assert {(fit["operation"], fit["working_set"]) for fit in measured["fits"]} == {
        (operation, place) for operation in ("encode", "update") for place in ("memory", "l2")
    }


@pytest.mark.slow
def test_the_table_says_it_all(measured):
    from hypertwin.cli.output import render

    text = render(registry.CODING.table(measured))
    for part in ("3+1", "14+3", "L2 cache", "nominal", "CRC-32C", "byte for byte", measured["library"]["file"]):
        assert part in text
    assert f"{measured['scenario']['3+2']}  # 3+2, per core: {measured['machine']['cpu']}" in text


def row(operation: str, data: int, parity: int, lost: int, cycles: float) -> dict:
    return {
        **{"operation": operation, "data": data, "parity": parity, "lost": lost},
        **{"working_set": "memory", "cycles_per_byte": cycles},
    }


def test_a_fit_finds_the_costs_that_made_the_figures():
    draw = random.Random(3)
    a, b, c = (draw.uniform(0.01, 0.1) for _ in range(3))
    cost = lambda data, outputs: a + b * outputs + c * max(0, data + outputs - erasure_coding.STREAMS)  # noqa: E731
    schemes = [Scheme.parse(name) for name in SCHEMES]
    rows = [row("encode", s.data, s.parity, 0, cost(s.data, s.parity)) for s in schemes]
    rows += [row("rebuild", s.data, s.parity, 1, cost(s.data, 1)) for s in schemes]
    (fit,) = erasure_coding._fits(rows)
    keys = ("cycles_per_byte", "cycles_per_byte_and_output", "cycles_per_byte_and_extra_stream")
    assert [fit[key] for key in keys] == pytest.approx([a, b, c])
    assert (fit["points"], fit["mean_error_pct"]) == (14, pytest.approx(0))


def test_two_figures_make_no_fit():
    assert erasure_coding._fits([row("update", 3, 1, 0, 0.5), row("update", 3, 2, 0, 0.6)]) == []


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"schemes": ["3-2"]}, "bad-redundancy", "DATA+PARITY"),
        ({"schemes": ["3+"]}, "bad-redundancy", "DATA+PARITY"),
        ({"schemes": ["0+2"]}, "out-of-range", "at least 1+1"),
        ({"schemes": ["3+0"]}, "out-of-range", "at least 1+1"),
        ({"schemes": ["200+56"]}, "out-of-range", "at most 255"),
        ({"fragment": "1"}, "bad-quantity", "no unit"),
        ({"fragment": "1 KiB"}, "out-of-range", "4 KiB to 64 MiB"),
        ({"fragment": "5000 B"}, "out-of-range", "a multiple of 64 B"),
        ({"seconds": 0.0}, "out-of-range", "0.01 to 60"),
        ({"seconds": float("nan")}, "out-of-range", "0.01 to 60"),
        ({"clock": "fast"}, "bad-quantity", "2.6 GHz"),
        ({"clock": "0 GHz"}, "out-of-range", "more than 0 Hz"),
    ],
)
def test_a_bad_argument_is_a_mistake(arguments, code, says):
    with pytest.raises(ScenarioError) as caught:
        measure(**arguments)
    assert [mistake.code for mistake in caught.value.mistakes] == [code]
    assert says in str(caught.value)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(isal, "_candidates", lambda: iter(["libisal-that-is-nowhere.so"]))
    with pytest.raises(isal.LibraryMissingError, match="apt install libisal2") as caught:
        measure(["3+2"])
    assert caught.value.exit_code == 1


@pytest.mark.slow
def test_stripes_that_do_not_fit_are_refused(library, monkeypatch):
    monkeypatch.setattr(erasure_coding, "available_bytes", lambda: 64 << 20)
    with pytest.raises(erasure_coding.TooLittleMemoryError, match="64 MiB available"):
        measure(["3+2"])


def test_a_given_clock_replaces_the_systems(monkeypatch, tmp_path):
    assert machine.machine(3.0e9).clock_source == "given"
    cpu = machine.machine(1.0).logical_cpu
    told = tmp_path / "cpuinfo"
    told.write_text(f"processor\t: {cpu}\nmodel name\t: Some CPU @ 2.50GHz\nflags\t\t: avx2 hypervisor\n\n")
    monkeypatch.setattr(machine, "CPUINFO", told)
    found = machine.machine()
    assert (found.cpu, found.clock_hz, found.virtual) == ("Some CPU @ 2.50GHz", 2.5e9, True)
    told.write_text(f"processor\t: {cpu}\nmodel name\t: Some CPU\nflags\t\t: avx2\n\n")
    with pytest.raises(system.MachineUnknownError, match="--clock"):
        machine.machine()


@pytest.mark.slow
def test_the_command_prints_one_json_object(cli: Cli, library):
    done = cli("lab", "erasure-coding", "--scheme", "2+1", "--seconds", 0.01, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {row["scheme"] for row in json.loads(done.stdout)["rows"]} == {None, "2+1"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--scheme", "3+2", "--scheme", "3x2"), "--scheme 3x2: neither replicas nor an erasure code [bad-redundancy]"),
        (("--library", "nowhere.so"), "cannot load nowhere.so as ISA-L"),
        (("--library", ctypes.util.find_library("m") or "libm.so.6"), "ISA-L"),
        (("--seconds", "soon"), "'--seconds'"),
    ],
)
def test_the_command_refuses_bad_input(cli: Cli, arguments, says):
    done = cli("lab", "erasure-coding", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_lab_alone_lists_what_it_measures(cli: Cli):
    done = cli("lab")
    assert (done.returncode, done.stdout) == (2, "")
    assert "erasure-coding" in done.stderr
