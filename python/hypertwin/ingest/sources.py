"""Readers of inventories: the list for `hypertwin import`.

A reader is a module. `recognises(head)` checks the first bytes of a file. `schemes` are its address schemes.
`read(sources)` returns an `Inventory` from files or addresses of its kind. For folders, `files(folder)` returns its
input files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypertwin.errors import fail
from hypertwin.ingest import address, outside
from hypertwin.ingest.hyperv import cmdlets
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.kvm import libvirt_uri, lscpu, nova, ovirt, proxmox, proxmox_api, virsh_files
from hypertwin.ingest.nutanix import prism, prism_api
from hypertwin.ingest.vmware import rvtools, vcenter


@dataclass(frozen=True)
class Reader:
    """Reader of a kind of inventory."""

    name: str
    """Common name of its inventories: `RVTools .xlsx`, `vcenter://USER@HOST`."""
    read: Callable[[Sequence[str]], Inventory]
    recognises: Callable[[bytes], bool] = lambda _head: False
    """True if the first bytes of a file match this kind."""
    schemes: tuple[str, ...] = ()
    files: Callable[[Path], Iterable[Path]] = lambda _folder: ()
    """Function that returns the input files of a folder. The result is empty if the folder is of another kind."""


READERS: tuple[Reader, ...] = (
    Reader("RVTools .xlsx or .csv", rvtools.read, rvtools.recognises, files=rvtools.files),
    Reader("vcenter://USER@HOST", vcenter.read, schemes=("vcenter",)),
    Reader(
        "libvirt URI (qemu:///system) or a list of them", libvirt_uri.read, libvirt_uri.recognises, libvirt_uri.SCHEMES
    ),
    Reader("proxmox://USER@REALM!TOKENID@HOST", proxmox_api.read, schemes=(proxmox_api.SCHEME,)),
    Reader("nutanix://USER@HOST", prism_api.read, schemes=(prism_api.SCHEME,)),
    Reader("Proxmox VE API dump", proxmox.read, proxmox.recognises, files=proxmox.files),
    Reader("oVirt API answers", ovirt.read, ovirt.recognises, files=ovirt.files),
    Reader("OpenStack answers", nova.read, nova.recognises, files=nova.files),
    Reader("Nutanix Prism answers", prism.read, prism.recognises, files=prism.files),
    Reader("Hyper-V Get-VM and Get-VMHost", cmdlets.read, cmdlets.recognises, files=cmdlets.files),
    Reader("virsh dumpxml", virsh_files.read, virsh_files.recognises, files=virsh_files.files),
    Reader("lscpu", lscpu.read, lscpu.recognises),
)
"""Readers, in the order in which they are tried."""


def files(source: str) -> Iterator[Path]:
    """Yield the files with the inventory: the source itself, the file in its address, or the files of its folder."""
    path = address.path(source)
    yield path
    if outside.is_folder(path):
        yield from (file for reader in READERS for file in reader.files(path))


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory in files or addresses of one kind. Raises SourceError if no reader recognises them."""
    if not sources:
        fail("missing-key", "sources", "(nothing)", "files, folders or addresses", "name what the inventory is in")
    first = sources[0]
    if address.is_address(first):
        scheme = first.partition("://")[0]
        found = next((candidate for candidate in READERS if scheme in candidate.schemes), None)
    elif outside.is_folder(Path(first)):
        found = next((candidate for candidate in READERS if any(candidate.files(Path(first)))), None)
    else:
        head = outside.head(Path(first))
        found = next((candidate for candidate in READERS if candidate.recognises(head)), None)
    if found is None:
        known = ", ".join(candidate.name for candidate in READERS)
        outside.Source(address.shown(first)).refuse(
            "a source that no reader recognises", f"one of: {known}", "check the file and its format", "unknown-source"
        )
    for other in sources[1:]:
        if address.is_address(other) and other.partition("://")[0] not in found.schemes:
            hint = "import each kind of source separately"
            outside.Source(address.shown(other)).refuse("a source of a different kind", f"more of {found.name}", hint)
    return found.read(sources)
