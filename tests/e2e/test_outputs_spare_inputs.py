"""No output replaces an input: every command refuses it before anything runs, however the file is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from tests.conftest import TINY

from hypertwin import library
from hypertwin.cli import catalogue, commands, migrate
from hypertwin.errors import ScenarioError
from hypertwin.files import writing
from hypertwin.studies import study

COMMANDS = (
    ("simulate tiny.yaml --out {}", "tiny.yaml"),
    ("simulate tiny.yaml --report {}", "tiny.yaml"),
    ("simulate tiny.yaml --calibration fitted.yaml --out {}", "fitted.yaml"),
    ("simulate jobs.yaml --out {}", "job.fio"),
    ("simulate tiny.yaml --set workloads.oltp.fio=other.fio --out {}", "other.fio"),
    ("simulate tiny.yaml --sweep workloads.oltp.fio=job.fio,other.fio --report {}", "other.fio"),
    ("capacity tiny.yaml --out {}", "tiny.yaml"),
    ("capacity tiny.yaml --limits fitted.yaml --out {}", "fitted.yaml"),
    ("plan survive tiny.yaml --failures 0 --report {}", "tiny.yaml"),
    ("plan balance tiny.yaml --failures 0 -o {}", "tiny.yaml"),
    ("density tiny.yaml --vm web --slo guest_cpu_pct<90 --report {}", "tiny.yaml"),
    ("density tiny.yaml --vm web --slo guest_cpu_pct<90 --calibration fitted.yaml --report {}", "fitted.yaml"),
    ("calibrate tiny.yaml points.csv --free vms.web.load --out {}", "tiny.yaml"),
    ("calibrate tiny.yaml points.csv --free vms.web.load --report {}", "points.csv"),
    ("durability tiny.yaml --report {}", "tiny.yaml"),
    ("telemetry measured.csv -o {}", "measured.csv"),
    ("compare before.json machine.json --report {}", "machine.json"),
    ("telemetry benchmark -o {}", "benchmark/fio/vm1.json"),
    ("diagnose measured.csv --out {}", "measured.csv"),
    ("diagnose measured.csv more.csv --report {}", "more.csv"),
    ("diagnose --cluster tiny.yaml --report {}", "tiny.yaml"),
    ("diagnose --cluster jobs.yaml --out {}", "job.fio"),
    ("import export.csv -o {}", "export.csv"),
    ("import tabs -o {}", "tabs/RVTools_tabvInfo.csv"),
    ("import export.csv --telemetry measured.csv -o {}", "measured.csv"),
    ("import test://HERE/export.csv -o {}", "export.csv"),
    ("lab cpu --machine machine.json --report {}", "machine.json"),
    ("lab cpu --experiments mine.yaml --report {}", "mine.yaml"),
    ("lab vm --kernel vmlinuz --report {}", "vmlinuz"),
    ("telemetry benchmark -o {}", "benchmark/fio-res.txt"),
    ("telemetry benchmark/fio -o {}", "benchmark/fio-res.txt"),
    ("diagnose benchmark --report {}", "benchmark/fio/vm1.json"),
    ("import dump -o {}", "dump/nodes/pve1/status.json"),
    ("import export.csv --telemetry benchmark -o {}", "benchmark/fio/vm1.json"),
)
"""Commands, with {} for the output, and the input that it names."""


def itself(path: Path) -> Path:
    return path


def relative(path: Path) -> str:
    return f"../{path.parent.name}/./{path.name}"


def symbolic_link(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


def hard_link(path: Path) -> Path:
    link = path.with_name("link")
    os.link(path, link)
    return link


@pytest.fixture
def folder(tmp_path: Path, tiny: Path) -> Path:
    """An input of every kind. Most are not whole: outputs are refused before anything is read."""
    (tmp_path / "jobs.yaml").write_text("workloads: {scan: {fio: 'job.fio#one'}}\n")
    for name in ("tabs", "dump/cluster", "dump/nodes/pve1", "benchmark/fio"):
        (tmp_path / name).mkdir(parents=True)
    csv = ("measured.csv", "more.csv", "export.csv", "points.csv", "tabs/RVTools_tabvInfo.csv")
    parts = (
        "dump/cluster/resources.json",
        "dump/nodes/pve1/status.json",
        "benchmark/fio-res.txt",
        "benchmark/fio/vm1.json",
    )
    for name in (*csv, *parts, "job.fio", "other.fio", "fitted.yaml", "machine.json", "mine.yaml", "vmlinuz"):
        (tmp_path / name).write_text(f"{name}\n")
    return tmp_path


def refused(cli, line: str, output: object) -> str:
    """What a command says that is refused for its output."""
    ended = cli(*line.replace("HERE", str(Path.cwd())).format(output).split(), exits=2)
    return str(ended.stderr)


@pytest.mark.parametrize(("line", "name"), COMMANDS)
def test_every_command_refuses_an_output_that_is_an_input(cli, folder, line, name, monkeypatch):
    monkeypatch.chdir(folder)
    before = (folder / name).read_bytes()
    said = refused(cli, line, name)
    assert "[output-is-input]" in said
    assert said.startswith("error: names the input ") and f"\n  --> {name}\n" in said
    assert said.count(name) >= 2
    assert "give the output another name" in said
    assert (folder / name).read_bytes() == before
    assert not list(folder.glob(".hypertwin-*"))


SPELLED = (
    "simulate tiny.yaml --out {}",
    "simulate jobs.yaml --out {}",
    "telemetry measured.csv -o {}",
    "diagnose measured.csv more.csv --report {}",
)


@pytest.mark.parametrize("spelled", [itself, relative, symbolic_link, hard_link])
@pytest.mark.parametrize(("line", "name"), [each for each in COMMANDS if each[0] in SPELLED])
def test_an_input_is_known_by_identity(cli, folder, line, name, spelled: Callable[[Path], object]):
    before = (folder / name).read_bytes()
    assert "[output-is-input]" in refused(cli, line, spelled(folder / name))
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "simulate - --format json -o {}",
        "simulate - --report {}",
        "capacity - -o {}",
        "plan balance - --failures 0 -o {}",
        "plan survive - --failures 0 --report {}",
        "density - --vm web --slo guest_cpu_pct<90 -o {}",
        "diagnose --cluster - -o {}",
        "durability - -o {}",
    ],
)
def test_an_input_that_comes_through_stdin_is_known_too(cli, tiny, line):
    other = tiny.with_name("other.yaml")
    with tiny.open() as stream:
        ended = cli(*line.format(tiny).split(), stdin=stream)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "names the input /dev/stdin [output-is-input]" in ended.stderr
    assert tiny.read_text() == TINY
    other.write_text("of another command\n")
    with tiny.open() as stream:
        ended = cli("simulate", "-", "--format", "json", "-o", other, stdin=stream)
    assert ended.returncode == 0, ended.stderr
    assert other.read_text().startswith("{")


def test_an_input_is_known_by_its_own_link_too(cli, folder):
    (folder / "link.yaml").symlink_to("tiny.yaml")
    assert "names the input link.yaml" in refused(cli, "simulate link.yaml --out {}", "tiny.yaml")


@pytest.mark.parametrize("first", ["x", "./x"])
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(
    "line",
    [
        "simulate tiny.yaml --out {} --report x",
        "calibrate tiny.yaml points.csv --free vms.web.load --out {} --report x",
        "diagnose --cluster tiny.yaml --out {} --report x",
    ],
)
def test_two_outputs_are_two_files(cli, folder, line, exists, first):
    if exists:
        (folder / "x").write_text("kept")
    said = refused(cli, line, first)
    assert "[same-output]" in said
    assert "give them different files" in said
    assert not exists or (folder / "x").read_text() == "kept"


def test_other_files_are_written(cli, folder):
    (folder / "old.json").write_text("old")
    cli("simulate", "tiny.yaml", "--out", "old.json", "--report", "/dev/null", exits=0)
    assert (folder / "old.json").read_text().startswith("{")


def test_a_copy_of_an_input_is_another_file(cli, folder):
    copy = folder / "copy.yaml"
    copy.write_bytes((folder / "tiny.yaml").read_bytes())
    times = (folder / "tiny.yaml").stat()
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    cli("simulate", folder / "tiny.yaml", "--format", "json", "--out", copy, exits=0)
    assert copy.read_text().startswith("{")


def test_a_folder_of_outputs_spares_inputs(cli, folder):
    (folder / "esx1.csv").write_text("calibrated_on: here\nset: {vms.web.load: 0.5}\n")
    before = (folder / "esx1.csv").read_bytes()
    said = refused(cli, "simulate tiny.yaml --calibration esx1.csv --format esxtop --out {}", ".")
    assert said.startswith("error: names the input esx1.csv [output-is-input]\n  --> esx1.csv\n")
    assert (folder / "esx1.csv").read_bytes() == before
    quick = ("--seconds", "0.05", "--no-bandwidth", "--no-disk", "--no-coding")
    cli("lab", "profile", *quick, "--out", folder / "machine.json", exits=0)
    before = (folder / "machine.json").read_bytes()
    assert "[output-is-input]" in refused(cli, "lab cpu --only one-queue --machine machine.json --out {}", ".")
    assert (folder / "machine.json").read_bytes() == before


@pytest.mark.parametrize("name", ["README.md", "study.yaml", "published.csv", "scenario.yaml"])
def test_studies_are_inputs(cli, name):
    part = library.studies() / "monster-vm" / name
    before = part.read_bytes()
    assert "[output-is-input]" in refused(cli, "validate --report {}", part)
    assert part.read_bytes() == before


@pytest.mark.parametrize("name", ["san-fio.yaml", "random.fio"])
def test_the_files_of_an_example_are_inputs(cli, name):
    part = library.examples() / name
    before = part.read_bytes()
    assert "[output-is-input]" in refused(cli, "examples san-fio --force -o {}", part)
    assert part.read_bytes() == before


def test_a_page_beside_a_study_is_written_again(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    for name in ("study.yaml", "scenario.yaml", "published.csv", "README.md", "page.html"):
        (tmp_path / "mine" / name).write_text(f"{name}\n")
    monkeypatch.setattr(library, "studies", lambda: tmp_path)
    with writing.protecting(study.files):
        writing.check_writable(tmp_path / "mine" / "page.html")
        with pytest.raises(ScenarioError, match="output-is-input"):
            writing.check_writable(tmp_path / "mine" / "scenario.yaml")


@pytest.mark.parametrize("line", ["import tabs -o {}", "import dump -o {}", "telemetry benchmark -o {}"])
def test_of_a_folder_only_what_its_reader_reads_is_an_input(cli, folder, line):
    other = folder / line.split()[1] / "cluster.yaml"
    other.write_text("written before\n")
    assert "[output-is-input]" not in cli(*line.format(other).split()).stderr


@pytest.mark.parametrize("line", ["import {} -o tiny.yaml", "telemetry {} -o tiny.yaml --format csv"])
def test_a_source_with_a_name_too_long_for_a_file_is_refused(cli, folder, line):
    assert "[unreadable-file]" in refused(cli, line, "a" * 300)


def test_a_folder_that_no_reader_recognises_is_refused_as_such(cli, folder):
    (folder / "other").mkdir()
    (folder / "other" / "part.csv").write_text("kept")
    for line in ("import other -o {}", "telemetry other -o {}"):
        assert "[output-is-input]" not in refused(cli, line, "other/part.csv")
        assert (folder / "other" / "part.csv").read_text() == "kept"


def test_a_report_may_be_in_the_folder_that_the_command_makes(tmp_path):
    writing.check_writable(tmp_path / "out" / "lab" / "report.html", made=tmp_path / "out" / "lab")
    assert not list(tmp_path.iterdir())
    with pytest.raises(writing.OutputError, match="does not exist"):
        writing.check_writable(tmp_path / "out" / "report.html", made=tmp_path / "out" / "lab")


PAGES = [
    *(line for line, _ in COMMANDS if line.endswith("--report {}")),
    *("validate --report {}", "compare one.json two.json --report {}", "size --host 2x12 --memory 8GiB --report {}"),
    "vnuma --hypervisor esxi-8.0 --sockets 2 --cores 12 --vcpus 24 --report {}",
]


@pytest.mark.parametrize("line", PAGES)
def test_a_page_has_the_name_of_a_page(cli, folder, line):
    before = sorted(folder.rglob("*"))
    for name, hint in (("x.pdf", "write x.html, and print it"), ("-", "does not go to stdout"), ("x", "write x.html;")):
        said = refused(cli, line, name)
        assert f"cannot write '{name}': a page is HTML; allowed: names that end in .html or .htm" in said
        assert hint in said
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["x.html", "x.HTM", "/dev/null"])
def test_names_of_pages_and_devices_are_free(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    writing.check_writable(page=Path(name))
    assert not list(tmp_path.iterdir())


def test_files_outside_a_command_are_free(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    with writing.protecting(lambda: [file]), pytest.raises(ScenarioError):
        writing.write_atomically(file, "new")
    assert file.read_text() == "old"
    writing.write_atomically(file, "new")
    assert file.read_text() == "new"


def leaves(group: typer.Typer) -> Iterator[Callable[..., object]]:
    assert isinstance(group, commands.App), "commands of another group would write over what they read"
    for entry in group.registered_commands:
        yield entry.callback
    for entry in group.registered_groups:
        yield from leaves(entry.typer_instance)


def test_every_parameter_that_names_a_file_is_an_input_or_an_output():
    for command in [each for name, module in catalogue.COMMANDS.items() for each in leaves(commands.app(name, module))]:
        marked = commands.inputs(command)
        for parameter in typer.main.get_params_from_function(command).values():
            shown = str(getattr(parameter.default, "metavar", ""))
            a_file = "://" not in shown and any(
                part in shown for part in ("FILE", "SOURCE", ".yaml", ".csv", "STUDY", "HOST")
            )
            if a_file or "Path" in str(parameter.annotation):
                rewritten = {"files"} if command.__module__ == migrate.__name__ else set()
                known = {*marked, *commands.OUTPUTS, "folder", *rewritten}
                assert parameter.name in known, (command, parameter.name)
