"""Detection of storage appliances by their names. They are VMs of hyperconverged products that serve storage to their
host.

A name counts if it contains a product's own name as a word, from the installer (`NTNX-18SM6F-A-CVM`,
`OmniStackVC-10-1-1-5`, `stCtlVM-FCH1936V0GD`, `ScaleIO-10.0.0.11`) or from users (`SvSAN-01`, `hp_storevirtual`). The
short names of such VMs (SVM, CVM, SCVM, VSA) are ambiguous: `web-svm` can serve a support vector classifier, and
`kaseya-vsa` is no storage. A short name counts only as the whole name, with a number or an address: `SVM1`, `vsa-01`,
`scvm-3`. VMs of a product that serve no data (gateways, managers, witnesses, Prism Central's `NTNX-...-PCVM`) do not
count.

If the name is not clear, set `vms.NAME.storage_appliance` in the cluster file.
"""

from __future__ import annotations

import re

_PRODUCTS = (
    r"^ntnx[-_].*[-_]cvm",  # Nutanix
    r"omnistackvc",  # HPE SimpliVity
    r"stctlvm|springpath",  # Cisco HyperFlex, Springpath
    r"scaleio|vxflex(?:os)?|powerflex",  # Dell
    r"svsan|stormagic",  # StorMagic
    r"storevirtual|lefthand",  # HPE
    r"starwind|datrium|petasan",
)
_ROLE = r"(?:svm|s?cvm|vsa)"
_APPLIANCE = re.compile(
    rf"(?<![a-z0-9])(?:{'|'.join(_PRODUCTS)}){_ROLE}?(?![a-z])|^{_ROLE}[-_. 0-9]*$",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"(?<![a-z])(?:gw|gateway|manager|management|mgmt|console|installer|witness|arbiter|fom|nsh)(?![a-z])",
    re.IGNORECASE,
)


def is_storage_appliance(name: str) -> bool:
    """True if a VM of this name serves storage to its host."""
    return _APPLIANCE.search(name) is not None and _BESIDE.search(name) is None
