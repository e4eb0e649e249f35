//! A replication as bytes: to keep it, or to send it to another computer.
//!
//! Mark, build, checksum, content. Only the build that wrote the bytes reads them: another one would give other
//! figures, so it has no use for them.

use super::results::Replication;
use thiserror::Error;

/// Version of this crate and hash of its sources: the same build, scenario and seed give the same bytes.
pub const BUILD: &str = env!("HYPERTWIN_BUILD");

/// What the bytes begin with.
const MARK: &[u8; 4] = b"HTR1";

/// Why bytes are no replication.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BytesError {
    /// They are of something else.
    #[error("these bytes are no replication")]
    Foreign,
    /// Another build wrote them.
    #[error("written by build {0}, and this is {BUILD}")]
    OtherBuild(String),
    /// Something is missing or has changed.
    #[error("the replication is damaged")]
    Damaged,
}

impl Replication {
    /// This replication as bytes. Equal replications give equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = bitcode::encode(self);
        let mut bytes = MARK.to_vec();
        bytes.push(BUILD.len() as u8);
        bytes.extend_from_slice(BUILD.as_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        bytes
    }

    /// The replication that `bytes` were made of.
    ///
    /// # Errors
    /// [`BytesError`] if this build did not make them, or if they have changed since.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BytesError> {
        let rest = bytes.strip_prefix(MARK).ok_or(BytesError::Foreign)?;
        let (&length, rest) = rest.split_first().ok_or(BytesError::Damaged)?;
        let (build, rest) = rest.split_at_checked(length.into()).ok_or(BytesError::Damaged)?;
        if build != BUILD.as_bytes() {
            return Err(BytesError::OtherBuild(String::from_utf8_lossy(build).into_owned()));
        }
        let (checksum, content) = rest.split_first_chunk().ok_or(BytesError::Damaged)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(BytesError::Damaged);
        }
        bitcode::decode(content).map_err(|_| BytesError::Damaged)
    }
}
