//! Division of a capacity among claims.
//!
//! Both solvers find one level λ: each claim gets λ times its weight, but no less than its floor and no more than it
//! wants. For max-min fairness see Bertsekas and Gallager, "Data Networks", section 6.5.2; for shares, reservations and
//! limits Waldspurger, "Memory resource management in VMware ESX server", OSDI 2002, and the vSphere Resource
//! Management guide.

/// What one party asks for, in [`proportional_share`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Relative weight, 0 or more.
    pub shares: f64,
    /// Granted before any sharing as far as demanded; 0 for none.
    pub reservation: f64,
    /// Never exceeded; infinite for none.
    pub limit: f64,
    /// What the party would use if it were alone; infinite for all there is.
    pub demand: f64,
}

impl Claim {
    /// A claim without reservation and limit.
    #[must_use]
    pub fn new(shares: f64, demand: f64) -> Self {
        Self {
            shares,
            reservation: 0.0,
            limit: f64::INFINITY,
            demand,
        }
    }

    /// The same with a reservation.
    #[must_use]
    pub fn reserved(self, reservation: f64) -> Self {
        Self { reservation, ..self }
    }

    /// The same with a limit.
    #[must_use]
    pub fn limited(self, limit: f64) -> Self {
        Self { limit, ..self }
    }

    fn want(&self) -> f64 {
        self.demand.min(self.limit).max(0.0)
    }

    fn floor(&self) -> f64 {
        self.reservation.clamp(0.0, self.want())
    }
}

/// Weighted max-min fair division of `capacity`: no demand gets more than it asks for, and none can get more except
/// from one that has no more per weight. All capacity is used if the demands allow it.
///
/// # Panics
/// When the slices differ in length.
#[must_use]
pub fn max_min(capacity: f64, demands: &[f64], weights: &[f64]) -> Vec<f64> {
    assert_eq!(demands.len(), weights.len(), "each demand needs a weight");
    let claims: Vec<Claim> = demands
        .iter()
        .zip(weights)
        .map(|(&demand, &weight)| Claim::new(weight, demand))
        .collect();
    proportional_share(capacity, &claims)
}

/// Division of `capacity` by shares, reservations and limits, in the order of `claims`.
///
/// Each claim gets its reservation first (as far as it has demand), a limit caps it, and what each gets in the end is
/// in proportion to the shares among all who are neither held up by a reservation nor satisfied. Should the
/// reservations exceed the capacity (admission control prevents that), the capacity is divided in proportion to the
/// reservations. Claims without shares get what all others leave, in equal parts.
#[must_use]
pub fn proportional_share(capacity: f64, claims: &[Claim]) -> Vec<f64> {
    let capacity = capacity.max(0.0);
    let reserved: f64 = claims.iter().map(Claim::floor).sum();
    if reserved >= capacity {
        let scale = if reserved > 0.0 { capacity / reserved } else { 0.0 };
        return claims.iter().map(|claim| claim.floor() * scale).collect();
    }
    let mut given: Vec<f64> = match level(capacity, reserved, claims) {
        Some(level) => claims
            .iter()
            .map(|claim| {
                if claim.shares > 0.0 {
                    (level * claim.shares).clamp(claim.floor(), claim.want())
                } else {
                    claim.floor()
                }
            })
            .collect(),
        None => claims
            .iter()
            .map(|claim| {
                if claim.shares > 0.0 {
                    claim.want()
                } else {
                    claim.floor()
                }
            })
            .collect(),
    };
    let left = capacity - given.iter().sum::<f64>();
    let without: Vec<usize> = (0..claims.len())
        .filter(|&i| claims[i].shares <= 0.0 && claims[i].want() > given[i])
        .collect();
    if left > 0.0 && !without.is_empty() {
        let rest: Vec<Claim> = without
            .iter()
            .map(|&i| Claim::new(1.0, claims[i].want() - given[i]))
            .collect();
        for (&i, more) in without.iter().zip(proportional_share(left, &rest)) {
            given[i] += more;
        }
    }
    given
}

/// The level at which the claims with shares use up `capacity`, above the floors, which sum to `reserved`; `None` when
/// all of them can be satisfied.
fn level(capacity: f64, reserved: f64, claims: &[Claim]) -> Option<f64> {
    // The sum given is linear in the level between the levels at which a claim leaves its floor or reaches what it
    // wants.
    let mut bends: Vec<(f64, f64)> = Vec::with_capacity(2 * claims.len());
    for claim in claims
        .iter()
        .filter(|claim| claim.shares > 0.0 && claim.want() > claim.floor())
    {
        bends.push((claim.floor() / claim.shares, claim.shares));
        bends.push((claim.want() / claim.shares, -claim.shares));
    }
    bends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut sum, mut slope, mut level) = (reserved, 0.0, 0.0);
    for (at, change) in bends {
        let next = sum + slope * (at - level);
        if slope > 0.0 && next >= capacity {
            return Some(level + (capacity - sum) / slope);
        }
        if at > level {
            (sum, level) = (next, at);
        }
        slope += change;
    }
    None
}
