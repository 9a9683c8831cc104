//! Finding a downgrade: in dialects before 3.1.1 nothing protects NEGOTIATE, so both sides compare
//! afterwards, signed, what they said and heard (MS-SMB2, sections 2.2.31.4 and 3.2.5.14.12).

use crate::message::{Request, body};
use crate::ms_smb2::msg::ioctl::{
    FSCTL_VALIDATE_NEGOTIATE_INFO, IoctlRequest, SMB2_0_IOCTL_IS_FSCTL,
};
use crate::ms_smb2::types::{Command, FileId};
use crate::negotiate::{Negotiated, Offer};
use crate::session::Session;
use crate::wire::{Reader, part};
use crate::{Error, NtStatus};

/// Length of the server's answer.
const ANSWER_BYTES: u32 = 24;
/// STATUS_FS_DRIVER_REQUIRED: an old server's way of not knowing the question.
const FS_DRIVER_REQUIRED: NtStatus = NtStatus(0xc000_019c);

impl Session {
    /// Asks once a session, over the first share.
    pub(crate) fn validate(&mut self) -> Result<(), Error> {
        if self.validated {
            return Ok(());
        }
        let request = IoctlRequest {
            ctl_code: FSCTL_VALIDATE_NEGOTIATE_INFO,
            file_id: FileId { persistent: u64::MAX, volatile: u64::MAX },
            max_input_response: 0,
            max_output_response: ANSWER_BYTES,
            flags: SMB2_0_IOCTL_IS_FSCTL,
            input_data: question(&self.terms.offer),
        };
        // A signature is what makes the answer worth anything.
        let sign = std::mem::replace(&mut self.connection.guard.sign, true);
        let reply = self.connection.exchange(Request::new(Command::Ioctl, &request));
        self.connection.guard.sign = sign;
        let reply = reply.map_err(|error| match error {
            // A server that sees a difference hangs up.
            Error::Tcp(plimsoll_transport::Error::Closed) => {
                Error::Downgraded("the server closed the connection".into())
            }
            other => other,
        })?;
        match reply.header.status {
            NtStatus::SUCCESS => compare(output(&reply.message)?, &self.terms.negotiated)?,
            // A server that does not know the question has signed that it does not.
            NtStatus::NOT_SUPPORTED | NtStatus::INVALID_DEVICE_REQUEST | FS_DRIVER_REQUIRED => {}
            status => return Err(Error::Status { command: Command::Ioctl, status }),
        }
        self.validated = true;
        Ok(())
    }
}

fn question(offer: &Offer) -> Vec<u8> {
    let mut bytes = offer.capabilities.to_le_bytes().to_vec();
    bytes.extend_from_slice(&offer.guid);
    bytes.extend_from_slice(&offer.security_mode.to_le_bytes());
    bytes.extend_from_slice(&(offer.dialects.len() as u16).to_le_bytes());
    for dialect in &offer.dialects {
        bytes.extend_from_slice(&u16::from(*dialect).to_le_bytes());
    }
    bytes
}

/// What a reply to IOCTL carries (MS-SMB2, section 2.2.32).
pub(crate) fn output(message: &[u8]) -> Result<&[u8], Error> {
    const WHAT: &str = "a reply to IOCTL";
    let mut reader = body(message, 49, WHAT)?;
    reader.skip(2 + 4 + 16 + 8)?;
    let (offset, length) = (reader.length()?, reader.length()?);
    part(message, offset, length, WHAT)
}

fn compare(answer: &[u8], heard: &Negotiated) -> Result<(), Error> {
    let mut reader = Reader::new(answer, "the reply to the validation of the negotiation");
    let changed =
        |what: &str| Err(Error::Downgraded(format!("{what} differ from the negotiation")));
    if reader.u32()? != heard.capabilities {
        return changed("the server's capabilities");
    }
    if reader.array()? != heard.guid {
        return changed("the server's identities");
    }
    if reader.u16()? != heard.security_mode {
        return changed("the server's security modes");
    }
    if reader.u16()? != u16::from(heard.dialect) {
        return changed("the dialects");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::SigningAlgorithm;
    use crate::ms_smb2::types::Dialect;

    #[test]
    fn every_difference_is_seen() {
        let heard = Negotiated {
            dialect: Dialect::Smb3_0_2,
            security_mode: 3,
            guid: [9; 16],
            capabilities: 0x47,
            transact_most: 65536,
            read_most: 65536,
            write_most: 65536,
            cipher: None,
            signing: SigningAlgorithm::AesCmac,
        };
        let mut answer = 0x47u32.to_le_bytes().to_vec();
        answer.extend_from_slice(&[9; 16]);
        answer.extend_from_slice(&[3, 0, 0x02, 0x03]);
        assert_eq!(compare(&answer, &heard), Ok(()));
        for byte in 0..answer.len() {
            let mut other = answer.clone();
            other[byte] ^= 1;
            assert!(matches!(compare(&other, &heard), Err(Error::Downgraded(_))), "{byte}");
        }
        assert!(matches!(compare(&answer[..23], &heard), Err(Error::Malformed(_))));
    }

    #[test]
    fn the_question_repeats_the_offer() {
        let offer = Offer {
            dialects: vec![Dialect::Smb2_1, Dialect::Smb3_0],
            security_mode: 1,
            capabilities: 4,
            guid: [7; 16],
        };
        let mut expected = vec![4, 0, 0, 0];
        expected.extend([7; 16]);
        expected.extend([1, 0, 2, 0, 0x10, 0x02, 0x00, 0x03]);
        assert_eq!(question(&offer), expected);
    }
}
