//! How a host migrates: what the scenario says, and else what its hypervisor's version does by itself.
//!
//! **Sources.** Concurrency and link speeds of vMotion: VMware, "vSphere Configuration Maximums" (8 at 10 Gb/s and
//! faster, 4 below). QEMU: `migration/options.c` (downtime 300 ms; one channel). ESXi's 500 ms, one migration at a time
//! on Linux and the other defaults are said with the keys `hosts.X.migration`. Zero pages: see [`ZERO_S_PER_BYTE`].
//! Streams: ESXi 7.0 U2 uses as many as
//! fill the link (VMware, "Faster vMotion makes balancing workloads invisible").

use hypertwin_cluster::{Convergence, Family, HostGroup, Hypervisor};

/// Time in which QEMU's migration thread finds that a byte is zero: 100 GB of zero pages migrate in 9.629 s on a Xeon
/// Platinum 8457C (qemu-devel, "Introduce multifd zero page checking", 2024, zero pages checked by the main thread).
/// ESXi knows which pages a VM has never touched.
const ZERO_S_PER_BYTE: f64 = 9.629 / 100e9;

/// 10 Gb/s in bytes per second.
const TEN_GIGABIT: f64 = 1.25e9;

/// How a host migrates, with all defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bytes per second in each direction.
    pub link: f64,
    /// The most that one migration sends, in bytes per second.
    pub most: f64,
    /// Migrations from and to the host at a time.
    pub concurrent: usize,
    /// Longest time for the last copy.
    pub downtime_s: f64,
    /// Time before the first page is sent.
    pub setup_s: f64,
    /// Time to find that a byte of a zero page need not be sent.
    pub zero_s_per_byte: f64,
    /// Time after the last page.
    pub resume_s: f64,
    /// What happens to a VM that writes too fast.
    pub convergence: Convergence,
    /// First and further steps of `auto-converge`, as fractions.
    pub throttle: [f64; 2],
    /// When a migration is given up, if at all.
    pub timeout_s: Option<f64>,
}

impl Settings {
    /// Those of a host.
    pub fn of(host: &HostGroup) -> Self {
        let said = &host.migration;
        let is_esxi = host.hypervisor.family() == Family::Esxi;
        let link = said.link.bytes_per_s();
        let stream = said.stream.bytes_per_s();
        let fills_link = is_esxi && host.hypervisor >= Hypervisor::Esxi70u2;
        let streams = match said.streams {
            Some(streams) => f64::from(streams),
            None if fills_link => f64::INFINITY,
            None => 1.0,
        };
        let concurrent = match (is_esxi, link < TEN_GIGABIT) {
            (false, _) => 1,
            (true, true) => 4,
            (true, false) => 8,
        };
        let convergence = if is_esxi {
            Convergence::SlowDown
        } else {
            Convergence::Nothing
        };
        Self {
            link,
            most: (streams * stream).min(link),
            concurrent: said.concurrent.unwrap_or(concurrent) as usize,
            downtime_s: said
                .downtime
                .map_or(if is_esxi { 0.5 } else { 0.3 }, hypertwin_cluster::Duration::seconds),
            setup_s: said.setup.seconds(),
            zero_s_per_byte: if is_esxi { 0.0 } else { ZERO_S_PER_BYTE },
            resume_s: said.resume.seconds(),
            convergence: said.convergence.unwrap_or(convergence),
            throttle: [said.throttle_initial_pct / 100.0, said.throttle_step_pct / 100.0],
            timeout_s: said.timeout.map(hypertwin_cluster::Duration::seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hypertwin_cluster::{Bandwidth, Scenario};

    fn host(hypervisor: &str, gbps: u64) -> Settings {
        let json = format!(
            r#"{{"name": "one", "run": {{"duration": "1 s"}}, "hosts": {{"h": {{"sockets": 1, "cores_per_socket": 4, "clock": "2 GHz",
            "memory_per_node": "64 GiB", "hypervisor": "{hypervisor}"}}}}, "vms": {{}}, "workloads": {{}}}}"#
        );
        let mut scenario = Scenario::from_json(&json).expect("a sound scenario");
        let host = scenario.hosts.get_mut("h").unwrap();
        host.migration.link = Bandwidth::from_bytes_per_s(gbps * 125_000_000);
        Settings::of(host)
    }

    #[test]
    fn defaults_follow_the_version_and_the_link() {
        // version, Gb/s; at a time, most in Gb/s, downtime
        for (version, gbps, concurrent, most, downtime) in [
            ("esxi-6.7", 1, 4, 1.0, 0.5),
            ("esxi-6.7", 10, 8, 10.0, 0.5),
            ("esxi-7.0", 40, 8, 15.0, 0.5),
            ("esxi-7.0u2", 100, 8, 100.0, 0.5),
            ("linux-6.6", 40, 1, 15.0, 0.3),
        ] {
            let found = host(version, gbps);
            assert_eq!(found.concurrent, concurrent, "{version}");
            assert!((found.most * 8e-9 - most).abs() < 1e-9, "{version}: {}", found.most);
            assert_eq!(found.downtime_s, downtime, "{version}");
            let slows = found.convergence == Convergence::SlowDown;
            assert_eq!(slows, version.starts_with("esxi"), "{version}");
        }
    }
}
