"""Names of storage appliances, and names that only look like one."""

from __future__ import annotations

import pytest

from hypertwin.ingest.appliances import is_storage_appliance

APPLIANCES = {
    "NTNX-18SM6F020100-A-CVM": "Nutanix: block, position",
    "NTNX-1A-A-CVM": "the same, short",
    "ntnx-node1-cvm": "whatever the case",
    "OmniStackVC-10-1-1-5": "HPE SimpliVity: the address of its management",
    "OmniStackVC-1": "SimpliVity, numbered",
    "stCtlVM-FCH1936V0GD": "Cisco HyperFlex: the serial number of the server",
    "stCtlVM-198.18.134.201": "the same, by address",
    "SX-1234-STCTLVM": "an older form",
    "springpath-scvm-1": "HyperFlex by the name of its maker",
    "ScaleIO-10.0.0.11": "as ScaleIO's plug-in names it",
    "ScaleIOSVM2": "product and role in one word",
    "ScaleIO SVM 3": "with spaces",
    "VxFlexOS-SVM-1": "ScaleIO's next name",
    "VxFlex-SVM-esx4": "VxFlex OS, with its host",
    "powerflex_svm_4": "and the name after that",
    "SVM1": "what ScaleIO calls the VM, as the whole name",
    "SVM-10.0.0.11": "with its address",
    "svm_02": "with an underscore",
    "SvSAN-01": "StorMagic, numbered",
    "StorMagic-SvSAN-esx1": "with its host",
    "StoreVirtual-2": "HPE, numbered",
    "hp_storevirtual_vsa2": "with underscores, which are no boundary of a word to `\\b`",
    "vsa-01": "VMware's vSphere Storage Appliance named its VMs so",
    "scvm-3": "a storage controller VM, as the whole name",
    "cvm": "a controller VM, as the whole name",
    "CVM07": "numbered without a hyphen",
    "StarWindVSA": "StarWind Virtual SAN, its appliance's first name",
    "StarWind-CVM-1": "and its present one",
    "Datrium-1": "Datrium DVX",
    "PetaSAN-node-2": "PetaSAN, a node of the cluster",
}

OTHERS = {
    "web-svm": "a support vector machine behind a web server; or NetApp's storage virtual machine, which is no VM",
    "svm-training": "one that is trained",
    "svmtrain1": "no word of its own",
    "kaseya-vsa": "remote administration",
    "cvm-build": "a build of something",
    "confidential-cvm-2": "a confidential VM",
    "esx1-vsa": "may be one: a cluster file says so",
    "vsan-witness": "a witness holds no data of VMs",
    "SvSAN-witness": "the same of StorMagic",
    "SvSAN-NSH": "StorMagic's older witness",
    "NTNX-10-0-0-9-PCVM": "Prism Central manages",
    "NTNX-files-1": "a file server, served by the CVMs",
    "ScaleIO-GW": "gateway",
    "powerflex-gateway-1": "gateway",
    "PowerFlex-Manager": "management",
    "HyperFlex-Installer": "installs the others",
    "springpath-installer": "the same",
    "StoreVirtual FOM": "Failover Manager: a vote only",
    "StarWind-Management-Console": "management",
    "OmniStack-Arbiter": "a vote only",
    "storevirtualization-docs": "another word",
    "Archivematica-CVM1": "a product's name would have to stand before it",
    "svm-test": "a test of something",
    "db-1": "nothing of the kind",
    "": "no name",
}


@pytest.mark.parametrize("name", APPLIANCES)
def test_a_products_appliance_is_known_by_its_name(name: str) -> None:
    assert is_storage_appliance(name)


@pytest.mark.parametrize("name", OTHERS)
def test_a_name_that_only_looks_like_one_is_none(name: str) -> None:
    assert not is_storage_appliance(name)
