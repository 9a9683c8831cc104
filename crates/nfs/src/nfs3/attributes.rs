//! Attributes of files (RFC 1813, sections 2.5 and 2.6).

use super::types::FileType;
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

wire! {
    /// A time (nfstime3).
    pub struct Time {
        /// Seconds since 1970-01-01 UTC.
        pub seconds: u32,
        /// Nanoseconds within the second.
        pub nanoseconds: u32,
    }
}

wire! {
    /// Attributes of a file (fattr3).
    pub struct Attributes {
        /// What it is.
        pub kind: FileType,
        /// Permission bits.
        pub mode: u32,
        /// Hard links.
        pub links: u32,
        /// Owner.
        pub uid: u32,
        /// Group.
        pub gid: u32,
        /// Size in bytes.
        pub size: u64,
        /// Disk space in bytes.
        pub used: u64,
        /// Major number, for devices.
        pub device_major: u32,
        /// Minor number, for devices.
        pub device_minor: u32,
        /// File system.
        pub file_system: u64,
        /// Number of the file in its file system.
        pub file_id: u64,
        /// Last access.
        pub accessed: Time,
        /// Last change of the content.
        pub modified: Time,
        /// Last change of the attributes.
        pub changed: Time,
    }
}

impl Attributes {
    /// Length on the wire in bytes.
    pub const WIRE_BYTES: usize = 84;
}

/// Attributes to set (sattr3); `None` leaves as is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last change of the content (SET_TO_CLIENT_TIME).
    pub modified: Option<Time>,
}

impl Encode for SetAttributes {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.option(self.mode.as_ref());
        to.bool(false); // uid
        to.bool(false); // gid
        to.option(self.size.as_ref());
        to.u32(0); // DONT_CHANGE the time of access
        match &self.modified {
            None => to.u32(0), // DONT_CHANGE
            Some(time) => {
                to.u32(2); // SET_TO_CLIENT_TIME
                to.value(time);
            }
        }
    }
}

impl Decode<'_> for SetAttributes {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let never = |from: &mut Decoder<'_>| match from.u32()? {
            0 => Ok(()),
            value => Err(Error::Unknown { what: "set_it that this client sends", value }),
        };
        let mode = from.option()?;
        never(from)?;
        never(from)?;
        let size = from.option()?;
        never(from)?;
        let modified = match from.u32()? {
            0 => None,
            2 => Some(from.value()?),
            value => {
                return Err(Error::Unknown { what: "set_mtime that this client sends", value });
            }
        };
        Ok(SetAttributes { mode, size, modified })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::decode_all;

    #[test]
    fn attributes_have_their_length() {
        let bytes = [&[0, 0, 0, 2][..], &[0; Attributes::WIRE_BYTES - 4]].concat();
        assert_eq!(decode_all::<Attributes>(&bytes).unwrap().kind, FileType::Directory);
        assert!(decode_all::<Attributes>(&[0; 84]).is_err(), "there is no type 0");
    }
}
