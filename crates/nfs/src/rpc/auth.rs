//! Who calls: AUTH_NONE and AUTH_SYS (RFC 5531, section 8.2 and appendix A).

use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Most supplementary groups that AUTH_SYS carries.
pub const MOST_GROUPS: usize = 16;
/// Longest machine name in bytes.
const LONGEST_NAME: usize = 255;
/// Longest body of any credential in bytes.
pub(super) const LONGEST_BODY: u32 = 400;

const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;

/// A credential. Only those that this client can send; the verifier beside it is always AUTH_NONE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Nobody in particular.
    None,
    /// A user and groups, taken on trust by the server.
    Sys(AuthSys),
}

/// A user, as AUTH_SYS names it. Holds at most [`MOST_GROUPS`] groups and a machine name of at
/// most 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthSys {
    machine: String,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

impl AuthSys {
    /// A user. What exceeds the format's limits (groups after the 16th, the end of a very long
    /// machine name) is left out, as other clients do.
    pub fn new(machine: &str, uid: u32, gid: u32, groups: &[u32]) -> Self {
        let end =
            (0..=LONGEST_NAME.min(machine.len())).rev().find(|&i| machine.is_char_boundary(i));
        let end = end.unwrap_or(0);
        AuthSys {
            machine: machine[..end].to_owned(),
            uid,
            gid,
            groups: groups[..groups.len().min(MOST_GROUPS)].to_vec(),
        }
    }

    /// The user this process runs as, with their groups, or another user or group without
    /// further groups.
    pub fn caller(uid: Option<u32>, gid: Option<u32>) -> Self {
        let machine = nix::unistd::gethostname().unwrap_or_default();
        let groups = match (uid, gid) {
            (None, None) => nix::unistd::getgroups().unwrap_or_default(),
            _ => Vec::new(),
        };
        let groups: Vec<u32> = groups.iter().map(|g| g.as_raw()).collect();
        let uid = uid.unwrap_or_else(|| nix::unistd::geteuid().as_raw());
        let gid = gid.unwrap_or_else(|| nix::unistd::getegid().as_raw());
        AuthSys::new(&machine.to_string_lossy(), uid, gid, &groups)
    }

    /// The user's number.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The group's number.
    pub fn gid(&self) -> u32 {
        self.gid
    }
}

impl Encode for AuthSys {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(0); // stamp: arbitrary
        to.opaque(self.machine.as_bytes());
        to.u32(self.uid);
        to.u32(self.gid);
        to.u32(self.groups.len() as u32);
        for group in &self.groups {
            to.u32(*group);
        }
    }
}

impl Decode<'_> for AuthSys {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u32()?;
        let machine = std::str::from_utf8(from.opaque(LONGEST_NAME as u32)?)
            .map_err(|_| Error::Invalid("machine name"))?
            .to_owned();
        let (uid, gid, count) = (from.u32()?, from.u32()?, from.u32()?);
        if count as usize > MOST_GROUPS {
            return Err(Error::TooLong { length: count, limit: MOST_GROUPS as u32 });
        }
        let groups = (0..count).map(|_| from.u32()).collect::<Result<_, _>>()?;
        Ok(AuthSys { machine, uid, gid, groups })
    }
}

impl Encode for Credential {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Credential::None => {
                to.u32(AUTH_NONE);
                to.opaque(&[]);
            }
            Credential::Sys(sys) => {
                to.u32(AUTH_SYS);
                to.opaque(&crate::xdr::encode_all(sys));
            }
        }
    }
}

impl Decode<'_> for Credential {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let flavor = from.u32()?;
        let body = from.opaque(LONGEST_BODY)?;
        match flavor {
            AUTH_NONE => Ok(Credential::None),
            AUTH_SYS => crate::xdr::decode_all(body).map(Credential::Sys),
            value => Err(Error::Unknown { what: "credential this client speaks", value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;

    #[test]
    fn what_is_too_much_is_left_out() {
        let sys = AuthSys::new(&"ü".repeat(200), 1, 2, &[7; 40]);
        assert_eq!(sys.groups.len(), 16);
        assert_eq!(sys.machine.len(), 254);
        assert!(encode_all(&sys).len() <= LONGEST_BODY as usize);
    }

    proptest! {
        #[test]
        fn credentials_read_back(machine in "\\PC{0,80}", uid: u32, gid: u32,
                                 groups in prop::collection::vec(any::<u32>(), 0..20)) {
            for credential in [Credential::None, Credential::Sys(AuthSys::new(&machine, uid, gid, &groups))] {
                let bytes = encode_all(&credential);
                prop_assert_eq!(decode_all::<Credential>(&bytes), Ok(credential));
                for cut in 0..bytes.len() {
                    prop_assert!(decode_all::<Credential>(&bytes[..cut]).is_err());
                }
            }
        }
    }
}
