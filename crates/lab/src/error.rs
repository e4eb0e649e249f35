//! Why a measurement could not be made.

/// A measurement that could not be made. The text is the message that a user sees.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// There is no code for this operating system.
    #[error("the lab measures Linux machines only")]
    NotLinux,
    /// A parameter with a value that is not allowed.
    #[error("{name} is {value}; allowed: {allowed}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The system refused something.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        reason: String,
    },
}

impl LabError {
    /// The system refused `what`.
    pub(crate) fn system(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::System {
            what: what.into(),
            reason: reason.to_string(),
        }
    }
}
