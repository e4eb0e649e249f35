//! placeholder until the measured table comes
/// x
pub fn encode_ns(bytes: f64, data: u32, parity: u32, hz: f64) -> f64 {
    bytes * (0.05 + 0.08 * f64::from(parity)) / f64::from(data.max(1)) / hz * 1e9
}
