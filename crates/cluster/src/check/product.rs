//! Product names of hypervisors and storage, and the scenario value to use instead.

use serde_json::Value;

/// A product: how its name begins (ignoring case, spaces and punctuation; `$` for a whole name), and the value to use
/// instead.
type Product = (&'static [&'static str], &'static str);

const HYPERVISORS: &[Product] = &[
    (
        &["proxmox", "pve"],
        "Proxmox VE is KVM on Linux: did you mean linux-6.6 (VE 8) or linux-6.12 (VE 9)?",
    ),
    (
        &["ahv", "nutanix", "acropolis"],
        "Nutanix AHV is KVM on Linux: did you mean linux-6.6?",
    ),
    (
        &[
            "kvm",
            "qemu",
            "libvirt",
            "ovirt",
            "rhev",
            "openstack",
            "virtuozzo",
            "ubuntu",
            "debian",
            "rhel",
        ],
        "it is KVM on Linux: did you mean linux-6.12?",
    ),
    (
        &["hyperv", "windows", "azure", "xen", "xcp", "citrix", "bhyve", "smartos"],
        "it is not simulated: use a version of ESXi or Linux, or none",
    ),
    (&["esxi70u3"], "did you mean esxi-7.0u2? it also covers later updates"),
    (&["esxi7"], "did you mean esxi-7.0?"),
    (&["esxi8"], "did you mean esxi-8.0? it also covers its updates"),
    (&["esxi9"], "did you mean esxi-9.0? it also covers its updates"),
    (&["vsphere7", "esx7"], "its hosts run ESXi: did you mean esxi-7.0?"),
    (
        &["vsphere", "vmware", "vcf", "esx8"],
        "its hosts run ESXi: did you mean esxi-8.0?",
    ),
    (&["esx$", "esxi$"], "add the version: did you mean esxi-8.0?"),
    (&["bare", "physical"], "did you mean none?"),
];

const POOLS: &[Product] = &[
    (
        &["powerflex", "scaleio", "vxflex"],
        "did you mean mirrored-mesh? preset: powerflex has its other keys, too",
    ),
    (
        &["storpool"],
        "did you mean mirrored-mesh? preset: storpool has its other keys, too",
    ),
    (
        &["nutanix", "ahv", "aos", "ndfs"],
        "did you mean mirrored-mesh? preset: nutanix-rf2 has its other keys, too",
    ),
    (
        &["virtuozzo", "vzstorage", "vstorage", "acronis"],
        "did you mean chunk-store? preset: virtuozzo-storage has its other keys, too",
    ),
    (
        &["proxmox", "pve"],
        "did you mean ceph? preset: proxmox-3-nodes has its other keys, too",
    ),
    (&["ceph", "rbd", "rook", "rados"], "did you mean ceph?"),
    (
        &["vsanosa"],
        "did you mean vsan? with vsan: { architecture: osa }; preset: vsan-osa-all-flash or vsan-osa-hybrid has its other keys, too",
    ),
    (
        &["vsanesa"],
        "did you mean vsan? with vsan: { architecture: esa }; preset: vsan-esa has its other keys, too",
    ),
    (&["vsan", "virtualsan"], "did you mean vsan?"),
];

/// Names of a hypervisor with its version that can mean one value only.
const VERSIONS: [(&[&str], &str); 5] = [
    (&["proxmox8", "proxmoxve8", "pve8"], "linux-6.6"),
    (&["proxmox9", "proxmoxve9", "pve9"], "linux-6.12"),
    (&["esxi7", "esx7"], "esxi-7.0"),
    (&["esxi8", "esx8"], "esxi-8.0"),
    (&["esxi9", "esx9"], "esxi-9.0"),
];

/// The value that a product's name with its version stands for.
pub(super) fn meant(path: &[String], text: &str) -> Option<Value> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let ["hosts", _, "hypervisor"] = path.as_slice() else {
        return None;
    };
    let name = plain(text);
    let known = VERSIONS.iter().find(|(names, _)| names.contains(&name.as_str()))?;
    Some(Value::from(known.1))
}

/// Letters and digits of a name, without case.
fn plain(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric);
    kept.take(80).collect::<String>().to_ascii_lowercase()
}

/// The value to use instead of a product name at this place, if it is one.
pub(super) fn hint(path: &[String], text: &str) -> Option<&'static str> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let products = match path.as_slice() {
        ["hosts", _, "hypervisor"] => HYPERVISORS,
        ["storage", _, "kind"] => POOLS,
        _ => return None,
    };
    let name = plain(text);
    let begins = |known: &str| match known.strip_suffix('$') {
        Some(whole) => name == whole,
        None => name.starts_with(known),
    };
    let is_it = |(names, _): &&Product| names.iter().any(|known| begins(known));
    products.iter().find(is_it).map(|(_, hint)| *hint)
}
