"""`hypertwin examples` lists the scenarios that come with the package, and gives them away in a form that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hypertwin import library
from hypertwin.scenario import example

NAMES = example.names()


def test_the_list_has_every_example_with_a_line_that_says_what_it_shows(cli):
    done = cli("examples", says="")
    listed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert listed == {name: example.find(name).description for name in NAMES}
    assert len(NAMES) >= 5
    assert all(text.endswith(".") for text in listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_where_it_was_written(cli, tmp_path, name):
    written = cli("examples", name, "-o", f"{name}.yaml", exits=0)
    assert written.stdout == ""
    assert {f"wrote {path.name}" for path in tmp_path.iterdir()} == set(written.stderr.splitlines())
    assert (tmp_path / f"{name}.yaml").read_bytes() == example.find(name).scenario.read_bytes()
    short = ("--duration", "1s", "--warmup", "0s", "--replications", "1")
    cli("simulate", f"{name}.yaml", *short, exits=0)


def test_an_example_is_printed_and_what_belongs_to_it_is_named(cli):
    done = cli("examples", "san-fio")
    assert done.stdout == (library.examples() / "san-fio.yaml").read_text()
    assert done.stderr == "with it: random.fio; hypertwin examples san-fio -o san-fio.yaml writes all\n"
    assert cli("examples", "small-kvm").stderr == ""


def test_an_example_of_several_files_is_written_whole(cli, tmp_path):
    cli("examples", "old-hosts", "-o", ".", exits=0)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"cluster.yaml", "export.xlsx", "prices.yaml", "r760.yaml", "r7725.yaml"}


def test_an_example_goes_into_a_folder_under_its_own_name(cli, tmp_path):
    cli("examples", "san-fio", "-o", ".", exits=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["random.fio", "san-fio.yaml"]


@pytest.mark.parametrize("kept", ["mine.yaml", "random.fio"])
def test_what_exists_is_replaced_only_when_asked(cli, tmp_path, kept):
    (tmp_path / kept).write_text("mine")
    refused = cli("examples", "san-fio", "-o", "mine.yaml", exits=2)
    assert refused.stderr == f"error: {kept} exists; --force replaces it\n"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {kept: "mine"}
    cli("examples", "san-fio", "-o", "mine.yaml", "--force", exits=0)
    assert (tmp_path / kept).read_text() != "mine"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ("examples", "smal-esxi"),
            "no example 'smal-esxi'; did you mean small-esxi? (examples: backup-window, benchmarks, clusters, ",
        ),
        (("examples", "../studies"), "no example '../studies' (examples: "),
        (("examples", ""), "no example '' (examples: "),
        (
            ("examples", "-o", "x.yaml"),
            "--out needs the NAME of an example: backup-window, benchmarks, clusters, disk-failure, ",
        ),
        (("examples", "small-kvm", "-o", "missing/x.yaml"), "cannot write missing/x.yaml: the folder "),
    ],
)
def test_what_cannot_be_given_is_refused(cli, tmp_path, line, said):
    done = cli(*line, exits=2)
    assert done.stderr.startswith(f"error: {said}")
    assert not list(Path(tmp_path).iterdir())
