//! Facts of the source system about VMs and clusters, for a move to another hypervisor. A run does not read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::{lines_of_text, plain_enum};
use crate::quantity::Bytes;

/// Text on one line.
const LINE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

facts! {
    /// Facts of the source system about the VM, for a move to another hypervisor. An absent key is unknown. No run
    /// reads them.
    pub struct SourceVm {
        /// Configured guest: its identifier in vSphere, such as `rhel9_64Guest`, or its name if the guest tools report
        /// another one.
        #[schemars(with = "String", length(min = 1, max = 128), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 128 characters on one line", "examples" = ["windows2019srv_64Guest"]))]
        pub guest_id: Option<String>,
        /// Firmware of the VM.
        #[schemars(with = "Firmware")]
        pub firmware: Option<Firmware>,
        /// Secure Boot is enabled.
        #[schemars(with = "bool")]
        pub secure_boot: Option<bool>,
        /// The VM has a virtual TPM.
        #[schemars(with = "bool")]
        pub tpm: Option<bool>,
        /// Virtual hardware version, such as 19 for `vmx-19`.
        #[schemars(with = "u32", range(min = 1, max = 100))]
        pub hardware_version: Option<u32>,
        /// State of the guest tools (VMware Tools, QEMU guest agent): `running`, `not-running` or `not-installed`.
        #[schemars(with = "Tools")]
        pub tools: Option<Tools>,
        /// Host name that the guest reports; empty if it reports none.
        #[schemars(with = "String", length(max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "at most 256 characters on one line", "examples" = ["db1.example.com"]))]
        pub host_name: Option<String>,
        /// The guest reports at least one IP address.
        #[schemars(with = "bool")]
        pub has_ip: Option<bool>,
        /// Folder of the VM in the source system.
        #[schemars(with = "String", length(min = 1, max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["/Frankfurt/Shop"]))]
        pub folder: Option<String>,
        /// Tags, such as the application that the VM belongs to.
        #[schemars(
            with = "Vec<String>",
            length(max = 32),
            inner(length(min = 1, max = 128), regex(pattern = LINE)),
            extend("examples" = [["shop"]]),
            transform = lines_of_text
        )]
        pub tags: Option<Vec<String>>,
        /// Memory can be added to the running VM.
        #[schemars(with = "bool")]
        pub hot_add_memory: Option<bool>,
        /// vCPUs of the VM are bound to logical CPUs of its host.
        #[schemars(with = "bool")]
        pub cpu_affinity: Option<bool>,
        /// Memory of the VM is bound to NUMA nodes of its host.
        #[schemars(with = "bool")]
        pub numa_affinity: Option<bool>,
        /// Changed block tracking (CBT) is enabled, which a warm migration needs.
        #[schemars(with = "bool")]
        pub changed_block_tracking: Option<bool>,
        /// Disks of removed snapshots need consolidation.
        #[schemars(with = "bool")]
        pub consolidation_needed: Option<bool>,
        /// vSphere Fault Tolerance protects the VM.
        #[schemars(with = "bool")]
        pub fault_tolerance: Option<bool>,
        /// The guest sees serial numbers of its disks (`disk.EnableUUID`).
        #[schemars(with = "bool")]
        pub disk_uuid: Option<bool>,
        /// Connected CD-ROM drives.
        #[schemars(with = "u32", range(min = 0, max = 1_000))]
        pub cds_connected: Option<u32>,
        /// USB devices and controllers.
        #[schemars(with = "u32", range(min = 0, max = 1_000))]
        pub usb_devices: Option<u32>,
        /// Devices of the host that are passed through to the VM.
        #[schemars(with = "u32", range(min = 0, max = 1_000))]
        pub passthrough_devices: Option<u32>,
        /// Notes of the VM or of its snapshots look as if they contain a password or a key. Their text is not kept.
        #[schemars(with = "bool")]
        pub secret_in_notes: Option<bool>,
        /// Virtual disks; an empty list if the VM has none.
        #[schemars(with = "Vec<SourceDisk>", length(max = 256))]
        pub disks: Option<Vec<SourceDisk>>,
        /// Virtual network adapters; an empty list if the VM has none.
        #[schemars(with = "Vec<SourceNetwork>", length(max = 32))]
        pub networks: Option<Vec<SourceNetwork>>,
        /// File systems that the guest reports; an empty list if it reports none.
        #[schemars(with = "Vec<SourcePartition>", length(max = 256))]
        pub partitions: Option<Vec<SourcePartition>>,
    }

    /// Facts of the source system about a cluster. An absent key is unknown. No run reads them.
    pub struct SourceCluster {
        /// DRS is enabled, at any level of automation. A simulation moves VMs only with `drs` of the cluster.
        #[schemars(with = "bool")]
        pub drs: Option<bool>,
        /// Distributed Power Management (DPM) is enabled: it powers off hosts.
        #[schemars(with = "bool")]
        pub dpm: Option<bool>,
        /// `rules` has all placement rules of the cluster.
        #[schemars(with = "bool")]
        pub all_rules: Option<bool>,
    }

    /// A virtual disk in the source system. An absent key is unknown.
    pub struct SourceDisk {
        /// Name of the disk.
        #[schemars(with = "String", length(min = 1, max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["Hard disk 1"]))]
        pub label: Option<String>,
        /// Capacity that the guest sees.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub capacity: Option<Bytes>,
        /// Controller, as the source names it.
        #[schemars(with = "String", length(min = 1, max = 128), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 128 characters on one line", "examples" = ["VMware paravirtual SCSI"]))]
        pub controller: Option<String>,
        /// Number of the controller among those of its kind, from 0.
        #[schemars(with = "u32", range(min = 0, max = 255))]
        pub controller_number: Option<u32>,
        /// Number of the disk at its controller, from 0.
        #[schemars(with = "u32", range(min = 0, max = 255))]
        pub unit: Option<u32>,
        /// Mode of the disk.
        #[schemars(with = "DiskMode")]
        pub mode: Option<DiskMode>,
        /// Raw device mapping.
        #[schemars(with = "RawMapping")]
        pub raw: Option<RawMapping>,
        /// Other VMs can write to the disk too.
        #[schemars(with = "bool")]
        pub shared: Option<bool>,
        /// The disk is thin-provisioned.
        #[schemars(with = "bool")]
        pub thin: Option<bool>,
        /// File of the disk, with its datastore; empty if the disk has none.
        #[schemars(with = "String", length(max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "at most 256 characters on one line", "examples" = ["[san-1] db/db.vmdk"]))]
        pub path: Option<String>,
    }

    /// A virtual network adapter in the source system. An absent key is unknown.
    pub struct SourceNetwork {
        /// Model of the adapter, as the source names it.
        #[schemars(with = "String", length(min = 1, max = 64), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 64 characters on one line", "examples" = ["Vmxnet3"]))]
        pub adapter: Option<String>,
        /// Port group or network.
        #[schemars(with = "String", length(min = 1, max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["VLAN 20"]))]
        pub network: Option<String>,
        /// Virtual switch.
        #[schemars(with = "String", length(min = 1, max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["vSwitch0"]))]
        pub switch: Option<String>,
        /// VLAN of the port group; 0 for none, 4095 for all.
        #[schemars(with = "u32", range(min = 0, max = 4_095))]
        pub vlan: Option<u32>,
        /// The adapter is connected.
        #[schemars(with = "bool")]
        pub connected: Option<bool>,
    }

    /// A file system of the guest. An absent key is unknown.
    pub struct SourcePartition {
        /// Mount point or drive letter.
        #[schemars(with = "String", length(min = 1, max = 256), regex(pattern = LINE))]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["/boot"]))]
        pub path: Option<String>,
        /// Capacity.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub capacity: Option<Bytes>,
        /// Free capacity.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub free: Option<Bytes>,
    }
}

plain! {
    DiskMode: "str";
    Firmware: "str";
    RawMapping: "str";
    Tools: "str";
}

/// Firmware of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Firmware {
    /// BIOS.
    Bios,
    /// UEFI.
    Efi,
}

/// State of the guest tools of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Tools {
    /// Installed and running.
    Running,
    /// Installed, but not running.
    NotRunning,
    /// Not installed.
    NotInstalled,
}

/// Mode of a virtual disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum DiskMode {
    /// Included in snapshots.
    Persistent,
    /// Not included in snapshots.
    IndependentPersistent,
    /// Not included in snapshots; changes are lost at power-off.
    IndependentNonpersistent,
}

/// Raw device mapping of a virtual disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum RawMapping {
    /// No mapping: a disk on a datastore.
    None,
    /// Mapping of a LUN that snapshots include.
    Virtual,
    /// Mapping of a LUN that passes SCSI commands through.
    Physical,
}
