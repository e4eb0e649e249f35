"""What can go wrong, as exceptions with a stable code and an exit code.

A scenario with mistakes raises one `ScenarioError` that lists all of them. When they are all of one kind it is that
kind's own class (`UnknownKeyError`, `VmWiderThanHostError`, ...), so that a caller can catch what it can handle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


class HypertwinError(Exception):
    """Anything that hypertwin reports to its user, with a stable `code` and the command line's `exit_code`."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


@dataclass(frozen=True)
class Mistake:
    """One mistake in a scenario or in an override of it."""

    code: str
    """Stable name of the kind of mistake, such as `unknown-key`."""
    path: str
    """Where in the scenario: keys joined by dots (`vms.db.vcpus`); empty for the file as a whole."""
    value: str
    """The value as written, shortened when long; `(missing)` where there is none."""
    allowed: str
    """What would be accepted."""
    hint: str
    """What to do about it."""
    file: str = ""
    """The scenario file, or the override (`--set vms.db.vcpus=0`)."""
    line: int | None = None
    """Line in the file, from 1; None for an override or where no line is known."""

    @property
    def location(self) -> str:
        """`file:line`, as editors understand it."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """Three lines: where and what, what is allowed, and the hint."""
        what = f"{self.path}: {self.value}" if self.path else self.value
        where = f"{self.location}: " if self.file else ""
        return printable(f"{where}{what} [{self.code}]\n  allowed: {self.allowed}\n  hint: {self.hint}")


class ScenarioError(HypertwinError):
    """A scenario, or an override of it, has mistakes; `mistakes` lists every one."""

    code = "scenario"
    exit_code = 2

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        """Keep the mistakes in the order given; there must be at least one."""
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        super().__init__(self.mistakes)

    @staticmethod
    def of(mistakes: Iterable[Mistake]) -> ScenarioError:
        """The exception for these mistakes: of their kind's class if they are all of one kind."""
        listed = tuple(mistakes)
        codes = {mistake.code for mistake in listed}
        kind = _CLASSES.get(codes.pop(), ScenarioError) if len(codes) == 1 else ScenarioError
        return kind(listed)

    def __str__(self) -> str:
        """Every mistake, with a count in front when there are several."""
        if len(self.mistakes) == 1:
            return str(self.mistakes[0])
        listed = "\n".join(str(mistake) for mistake in self.mistakes)
        return f"{len(self.mistakes)} mistakes\n{listed}"


class FileError(ScenarioError):
    """The scenario file cannot be read at all."""


class FileMissingError(FileError):
    """There is no such file."""

    code = "file-not-found"


class NotAFileError(FileError):
    """It is a directory or another thing that holds no text."""

    code = "not-a-file"


class UnreadableFileError(FileError):
    """The operating system refuses to read it."""

    code = "unreadable-file"


class FileTooLargeError(FileError):
    """It is larger than any scenario should be."""

    code = "file-too-large"


class NotUtf8Error(FileError):
    """It is not text in UTF-8."""

    code = "not-utf-8"


class ControlCharacterError(FileError):
    """It has a control character, such as NUL, which text has not."""

    code = "control-character"


class EmptyFileError(FileError):
    """There is nothing in it."""

    code = "empty-file"


class YamlError(ScenarioError):
    """The text is not the YAML that a scenario is made of."""


class NotYamlError(YamlError):
    """Not YAML."""

    code = "not-yaml"


class SeveralDocumentsError(YamlError):
    """More than one YAML document in the file."""

    code = "several-documents"


class TooDeepError(YamlError):
    """Nested deeper than any scenario."""

    code = "too-deep"


class TooManyValuesError(YamlError):
    """More values than any scenario has, aliases written out."""

    code = "too-many-values"


class BadAliasError(YamlError):
    """An alias without its anchor, or within it."""

    code = "bad-alias"


class YamlTagError(YamlError):
    """A YAML tag, which could ask for any type."""

    code = "yaml-tag"


class MergeKeyError(YamlError):
    """A YAML merge key (`<<`)."""

    code = "merge-key"


class BadKeyError(YamlError):
    """A key that is a list or a mapping."""

    code = "bad-key"


class DuplicateKeyError(YamlError):
    """A key that is there twice."""

    code = "duplicate-key"


class OverrideError(ScenarioError):
    """An override or sweep that is not PATH=VALUE."""

    code = "bad-override"


class UnknownPathError(ScenarioError):
    """An override of a place that the scenario does not have."""

    code = "unknown-path"


class UnknownKeyError(ScenarioError):
    """A key that does not exist, often a misspelt one."""

    code = "unknown-key"


class MissingKeyError(ScenarioError):
    """A key that must be there and is not."""

    code = "missing-key"


class WrongTypeError(ScenarioError):
    """A value of another type."""

    code = "wrong-type"


class BadUnitError(ScenarioError):
    """A quantity with a wrong unit or without one."""

    code = "bad-unit"


class BadQuantityError(ScenarioError):
    """Not a quantity."""

    code = "bad-quantity"


class OutOfRangeError(ScenarioError):
    """Less or more than is allowed."""

    code = "out-of-range"


class NotFiniteError(ScenarioError):
    """Infinity, or not a number."""

    code = "not-finite"


class UnknownValueError(ScenarioError):
    """None of the values to choose from."""

    code = "unknown-value"


class BadNameError(ScenarioError):
    """A name with characters that names have not."""

    code = "bad-name"


class DuplicateNameError(ScenarioError):
    """Two hosts or machines of one name."""

    code = "duplicate-name"


class OneOfError(ScenarioError):
    """None, or several, of keys of which there must be exactly one."""

    code = "one-of"


class UnknownReferenceError(ScenarioError):
    """A workload, host or array that is not in the scenario."""

    code = "unknown-reference"


class VmWiderThanHostError(ScenarioError):
    """A virtual machine with more vCPUs than its host has logical CPUs."""

    code = "vm-wider-than-host"


class MoreVcpusThanCoresError(ScenarioError):
    """A virtual machine to be sized with more vCPUs than its host has physical cores."""

    code = "more-vcpus-than-cores"


class BadHostError(ScenarioError):
    """Not the description of a host."""

    code = "bad-host"


class MemoryExceedsHostError(ScenarioError):
    """A virtual machine with more memory than its host."""

    code = "memory-exceeds-host"


class NoHostFitsError(ScenarioError):
    """A virtual machine that no host fits as a whole."""

    code = "no-host-fits"


class BadAffinityError(ScenarioError):
    """Not a list of logical CPUs."""

    code = "bad-affinity"


class AffinityOutsideHostError(ScenarioError):
    """Logical CPUs that the host does not have."""

    code = "affinity-outside-host"


class OddTopologyError(ScenarioError):
    """Virtual sockets of different sizes."""

    code = "odd-topology"


class CellsNotVcpusError(ScenarioError):
    """Cells of a guest that do not hold exactly its vCPUs."""

    code = "cells-not-vcpus"


class NodesNotCellsError(ScenarioError):
    """More or fewer nodes than cells to bind to them."""

    code = "nodes-not-cells"


class NodeOutsideHostError(ScenarioError):
    """A NUMA node that the host does not have."""

    code = "node-outside-host"


class LimitBelowReservationError(ScenarioError):
    """A limit under the reservation."""

    code = "limit-below-reservation"


class OverReservedError(ScenarioError):
    """A host with more CPU reserved than it has."""

    code = "over-reserved"


class TurboBelowClockError(ScenarioError):
    """A turbo clock under the nominal clock."""

    code = "turbo-below-clock"


class WrongHypervisorError(ScenarioError):
    """An option of another hypervisor or version, or a reservation where there is none (Linux)."""

    code = "wrong-hypervisor"


class CostartAboveCostopError(ScenarioError):
    """Co-stopped vCPUs would start above the lead at which they stop."""

    code = "costart-above-costop"


class ZeroCycleError(ScenarioError):
    """A closed workload without any time in its cycle."""

    code = "zero-cycle"


class ZeroRateError(ScenarioError):
    """Open arrivals that never come."""

    code = "zero-rate"


class NotParallelError(ScenarioError):
    """A parallel workload with something that only sequential ones have."""

    code = "not-parallel"


class BadFioError(ScenarioError):
    """A fio job file that cannot be read as a workload."""

    code = "bad-fio"


class SourceError(ScenarioError):
    """Something of another system's (an export, a log, an answer) has mistakes."""


class BadSourceError(SourceError):
    """It is not what it should be: broken, cut off, or of another form than it says."""

    code = "bad-source"


class UnknownSourceError(SourceError):
    """No reader recognises it."""

    code = "unknown-source"


class SourceTooLargeError(SourceError):
    """It has more of something than any real one."""

    code = "source-too-large"


class SourceLacksError(SourceError):
    """It lacks what cannot be assumed, such as any host."""

    code = "source-lacks"


class BadAddressError(SourceError):
    """The address of a system is not one, or has a password in it."""

    code = "bad-address"


class UnreachableError(HypertwinError):
    """A system does not answer, or refuses. The message never has a password."""

    code = "unreachable"


class MissingLibraryError(HypertwinError):
    """An optional library that a source needs is not installed."""

    code = "missing-library"


class NotIoError(ScenarioError):
    """Something that an io workload, whose transactions are single I/Os, does not have."""

    code = "not-io"


class NoArrayError(ScenarioError):
    """Virtual disks or an io workload of a machine without an array."""

    code = "no-array"


class TooManyVdisksError(ScenarioError):
    """More virtual disks than the controllers take."""

    code = "too-many-vdisks"


class DepthOverMaximumError(ScenarioError):
    """More requests outstanding on a virtual disk than its controller allows."""

    code = "depth-over-maximum"


class NotPvscsiError(ScenarioError):
    """Ring pages of a controller that is not PVSCSI."""

    code = "not-pvscsi"


class MixOver100Error(ScenarioError):
    """Sizes of I/Os whose shares are more than 100 % in all."""

    code = "mix-over-100"


class UnorderedStepsError(ScenarioError):
    """Load steps out of order."""

    code = "unordered-steps"


class BadRedundancyError(ScenarioError):
    """Neither copies nor an erasure code."""

    code = "bad-redundancy"


class TooFewDomainsError(ScenarioError):
    """More copies or fragments than a pool has failure domains."""

    code = "too-few-domains"


class PoolOverCapacityError(ScenarioError):
    """More data, with copies and parity, than a pool's devices hold."""

    code = "pool-over-capacity"


class NoComputeLayerError(ScenarioError):
    """A two-layer deployment in which every host is a node of the pool."""

    code = "no-compute-layer"


class WrongLayerError(ScenarioError):
    """A machine on a host where the deployment of its storage has none."""

    code = "wrong-layer"


class TwoStoragesError(ScenarioError):
    """A machine with both an array and a pool."""

    code = "two-storages"


class TooManyMetadataServersError(ScenarioError):
    """More metadata servers than nodes."""

    code = "too-many-metadata-servers"


class FragmentOverChunkError(ScenarioError):
    """A fragment larger than the chunk that holds it."""

    code = "fragment-over-chunk"


class UnknownComponentError(ScenarioError):
    """Something that fails and is not there."""

    code = "unknown-component"


class ReturnsBeforeFailingError(ScenarioError):
    """A return that is not after the failure."""

    code = "returns-before-failing"


class HostsOfRuleError(ScenarioError):
    """A rule about hosts without any, or hosts in one that is about none."""

    code = "hosts-of-rule"


class BadObjectiveError(ScenarioError):
    """A service-level objective that is not METRIC, a sign and a number."""

    code = "bad-objective"


class UnknownMetricError(ScenarioError):
    """A figure that reports do not have."""

    code = "unknown-metric"


class UnknownColumnError(ScenarioError):
    """A column of measured points that is neither a place in the scenario nor a figure of a report."""

    code = "unknown-column"


class TooFewValuesError(ScenarioError):
    """Fewer measured values than parameters to fit."""

    code = "too-few-values"


class NotMeasurableError(ScenarioError):
    """A figure for which the twin has no value at a measured point."""

    code = "not-measurable"


class TooLargeError(ScenarioError):
    """A scenario too large to simulate."""

    code = "too-large"


def printable(text: str) -> str:
    """`text` without what a terminal or a UTF-8 file cannot take."""
    kept = "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return kept.encode("utf-8", "backslashreplace").decode("utf-8")


def _kinds(base: type[ScenarioError]) -> Iterable[type[ScenarioError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


_CLASSES: dict[str, type[ScenarioError]] = {kind.code: kind for kind in _kinds(ScenarioError) if "code" in vars(kind)}
