//! What each VM may keep of a host's memory: by shares, or what it used least recently goes first.

use super::policy::Tenant;
use hypertwin_sharing::{Claim, proportional_share};

/// Memory of `available` bytes that each VM keeps if an idle page costs `idle_cost` times as much as an active one.
pub fn by_shares(available: f64, tenants: &[Tenant], idle_cost: f64) -> Vec<f64> {
    let claim = |tenant: &Tenant| {
        let cost = tenant.active + idle_cost * (1.0 - tenant.active);
        let most = tenant.most();
        Claim::new(tenant.shares / cost, most).reserved(tenant.reservation.min(most))
    };
    let claims: Vec<Claim> = tenants.iter().map(claim).collect();
    proportional_share(available, &claims)
}

/// What each VM may keep of `available` bytes: idle pages of all go first, in proportion to what each has, then active
/// ones likewise.
pub fn least_recent(available: f64, tenants: &[Tenant]) -> Vec<f64> {
    let active: Vec<f64> = tenants
        .iter()
        .map(|tenant| (tenant.active * tenant.touched).min(tenant.most()))
        .collect();
    let needed: f64 = active.iter().sum();
    let idle_too = available > needed;
    let claim = |(tenant, &active): (&Tenant, &f64)| {
        let kept = tenant.reservation.min(tenant.most());
        match idle_too {
            true => Claim::new(tenant.touched * (1.0 - tenant.active), tenant.most() - active)
                .reserved((kept - active).max(0.0)),
            false => Claim::new(tenant.active * tenant.touched, active.max(kept)).reserved(kept),
        }
    };
    let claims: Vec<Claim> = tenants.iter().zip(&active).map(claim).collect();
    let divided = proportional_share(if idle_too { available - needed } else { available }, &claims);
    let base = |active: &f64| if idle_too { *active } else { 0.0 };
    active
        .iter()
        .zip(divided)
        .map(|(active, more)| base(active) + more)
        .collect()
}
