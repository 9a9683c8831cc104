//! Agreeing on a dialect and on what protects messages (MS-SMB2, sections 2.2.3 and 2.2.4).

use crate::connection::Connection;
use crate::error::Error;
use crate::guard::{Cipher, SigningAlgorithm};
use crate::message::{HEADER_BYTES, Reply, Request, body};
use crate::ms_smb2::msg::negotiate::{HASH_ALGORITHM_SHA512, NegotiateContext, NegotiateRequest};
use crate::ms_smb2::pack::{Guid, ReadCursor, Unpack};
use crate::ms_smb2::types::flags::{Capabilities, SecurityMode};
use crate::ms_smb2::types::{Command, Dialect, status::NtStatus};
use crate::options::{Options, Protection};
use crate::wire::{Reader, part};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};

/// Longest payload that this client asks for in one request, whatever a server offers.
const MOST_PAYLOAD: u32 = 8 << 20;
/// Longest payload where requests are not charged by size (MS-SMB2, section 3.3.5.4).
const MOST_SMALL_PAYLOAD: u32 = 64 << 10;
/// No server has a reason to take less: below it, even names and tokens would not fit.
const LEAST_PAYLOAD: u32 = 4 << 10;

const CONTEXT_PREAUTH: u16 = 1;
const CONTEXT_CIPHERS: u16 = 2;
const CONTEXT_SIGNING: u16 = 8;

/// What this client says of itself: sent in NEGOTIATE, and once more to find a downgrade.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub dialects: Vec<Dialect>,
    pub security_mode: u16,
    pub capabilities: u32,
    pub guid: [u8; 16],
}

/// What the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub dialect: Dialect,
    pub security_mode: u16,
    pub guid: [u8; 16],
    pub capabilities: u32,
    pub transact_most: u32,
    pub read_most: u32,
    pub write_most: u32,
    pub cipher: Option<Cipher>,
    pub signing: SigningAlgorithm,
}

impl Negotiated {
    pub fn requires_signing(&self) -> bool {
        self.security_mode & SecurityMode::SIGNING_REQUIRED != 0
    }

    pub fn large_transfers(&self) -> bool {
        self.dialect > Dialect::Smb2_0_2 && self.capabilities & Capabilities::LARGE_MTU != 0
    }
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::Malformed("the system gives no random numbers".into()))?;
    Ok(bytes)
}

impl Offer {
    pub fn new(options: &Options) -> Result<Offer, Error> {
        let mut dialects = options.dialects.clone();
        dialects.sort_unstable();
        dialects.dedup();
        let newest =
            dialects.last().ok_or_else(|| Error::DialectRefused { offered: Vec::new() })?;
        let mut capabilities = 0;
        if *newest >= Dialect::Smb3_0 {
            capabilities = Capabilities::LARGE_MTU;
            if options.encrypt != Protection::Off {
                capabilities |= Capabilities::ENCRYPTION;
            }
        }
        let security_mode = match options.sign {
            Protection::On => SecurityMode::SIGNING_REQUIRED,
            _ => SecurityMode::SIGNING_ENABLED,
        };
        Ok(Offer { dialects, security_mode, capabilities, guid: random()? })
    }

    pub fn newest(&self) -> Dialect {
        self.dialects.last().copied().unwrap_or(Dialect::Smb2_0_2)
    }

    fn contexts(&self, options: &Options) -> Result<Vec<NegotiateContext>, Error> {
        if self.newest() < Dialect::Smb3_1_1 {
            return Ok(Vec::new());
        }
        let mut contexts = vec![NegotiateContext::PreauthIntegrity {
            hash_algorithms: vec![HASH_ALGORITHM_SHA512],
            salt: random::<32>()?.to_vec(),
        }];
        if options.encrypt != Protection::Off && !options.ciphers.is_empty() {
            let ciphers = options.ciphers.iter().copied().map(cipher_id).collect();
            contexts.push(NegotiateContext::Encryption { ciphers });
        }
        if !options.signing_algorithms.is_empty() {
            let algorithms = options.signing_algorithms.iter().copied().map(signing_id).collect();
            contexts.push(NegotiateContext::Signing { algorithms });
        }
        Ok(contexts)
    }
}

/// Sends NEGOTIATE; gives what both sides said and the server's reply, byte by byte.
pub(crate) fn negotiate(
    connection: &mut Connection,
    options: &Options,
) -> Result<(Offer, Negotiated, Reply), Error> {
    let offer = Offer::new(options)?;
    let (first, second, rest) = split_guid(&offer.guid)?;
    let request = NegotiateRequest {
        security_mode: SecurityMode::new(offer.security_mode),
        capabilities: Capabilities::new(offer.capabilities),
        client_guid: Guid { data1: first, data2: second.0, data3: second.1, data4: rest },
        dialects: offer.dialects.clone(),
        negotiate_contexts: offer.contexts(options)?,
    };
    let reply = connection.exchange(Request::new(Command::Negotiate, &request))?;
    if reply.header.status == NtStatus::NOT_SUPPORTED {
        return Err(Error::DialectRefused { offered: offer.dialects });
    }
    let reply = reply.success()?;
    let negotiated = parse(&reply.message)?;
    check(&negotiated, &offer, options)?;
    connection.large_transfers = negotiated.large_transfers();
    Ok((offer, negotiated, reply))
}

type GuidParts = (u32, (u16, u16), [u8; 8]);

fn split_guid(guid: &[u8; 16]) -> Result<GuidParts, Error> {
    let guid = Guid::unpack(&mut ReadCursor::new(guid))?;
    Ok((guid.data1, (guid.data2, guid.data3), guid.data4))
}

/// Decodes a reply to NEGOTIATE.
pub(crate) fn parse(message: &[u8]) -> Result<Negotiated, Error> {
    let mut reader = body(message, 65, "a reply to NEGOTIATE")?;
    let security_mode = reader.u16()?;
    let revision = reader.u16()?;
    let context_count = reader.u16()?;
    let guid = reader.array()?;
    let capabilities = reader.u32()?;
    let mut most = [0; 3];
    for size in &mut most {
        *size = reader.u32()?;
        if *size < LEAST_PAYLOAD {
            return Err(reader.malformed("its limits are 0"));
        }
    }
    reader.skip(16 + 4)?;
    let context_offset = reader.length()?;
    let dialect = Dialect::try_from(revision)
        .map_err(|_| reader.malformed(&format!("dialect {revision:#06x} was not offered")))?;
    let mut negotiated = Negotiated {
        dialect,
        security_mode,
        guid,
        capabilities,
        transact_most: 0,
        read_most: 0,
        write_most: 0,
        cipher: None,
        signing: match dialect {
            Dialect::Smb2_0_2 | Dialect::Smb2_1 => SigningAlgorithm::HmacSha256,
            _ => SigningAlgorithm::AesCmac,
        },
    };
    let limit = if negotiated.large_transfers() { MOST_PAYLOAD } else { MOST_SMALL_PAYLOAD };
    [negotiated.transact_most, negotiated.read_most, negotiated.write_most] =
        most.map(|size| size.min(limit));
    match dialect {
        Dialect::Smb3_0 | Dialect::Smb3_0_2 if capabilities & Capabilities::ENCRYPTION != 0 => {
            negotiated.cipher = Some(Cipher::Aes128Ccm);
        }
        Dialect::Smb3_1_1 => {
            read_contexts(message, context_offset, context_count, &mut negotiated)?;
        }
        _ => {}
    }
    Ok(negotiated)
}

/// The contexts of dialect 3.1.1 (MS-SMB2, section 2.2.4.1), of which each comes once at most.
fn read_contexts(
    message: &[u8],
    offset: usize,
    count: u16,
    negotiated: &mut Negotiated,
) -> Result<(), Error> {
    const WHAT: &str = "the contexts of a reply to NEGOTIATE";
    let mut at = offset;
    let mut seen = Vec::new();
    for _ in 0..count {
        if at < HEADER_BYTES {
            return Err(Error::Malformed(format!("{WHAT}: they overlap the header")));
        }
        let mut head = Reader::new(part(message, at, 8, WHAT)?, WHAT);
        let (kind, length) = (head.u16()?, usize::from(head.u16()?));
        let mut data = Reader::new(part(message, at + 8, length, WHAT)?, WHAT);
        if matches!(kind, CONTEXT_PREAUTH | CONTEXT_CIPHERS | CONTEXT_SIGNING) {
            if seen.contains(&kind) {
                return Err(data.malformed("one of them is repeated"));
            }
            seen.push(kind);
        }
        match kind {
            CONTEXT_PREAUTH => {
                let (hashes, _salt) = (data.u16()?, data.u16()?);
                if hashes != 1 || data.u16()? != HASH_ALGORITHM_SHA512 {
                    return Err(data.malformed("a hash other than SHA-512"));
                }
            }
            CONTEXT_CIPHERS => {
                if data.u16()? != 1 {
                    return Err(data.malformed("not exactly one cipher"));
                }
                // 0: the server knows none of those offered.
                negotiated.cipher = match data.u16()? {
                    0 => None,
                    id => Some(cipher(id).ok_or_else(|| data.malformed("an unknown cipher"))?),
                };
            }
            CONTEXT_SIGNING => {
                if data.u16()? != 1 {
                    return Err(data.malformed("not exactly one signing algorithm"));
                }
                negotiated.signing = signing(data.u16()?)
                    .ok_or_else(|| data.malformed("an unknown signing algorithm"))?;
            }
            _ => {}
        }
        at = (at + 8 + length).next_multiple_of(8);
    }
    if seen.contains(&CONTEXT_PREAUTH) { Ok(()) } else { Err(Error::NoContexts) }
}

/// Whether the server chose among what was offered, and insists on nothing that is ruled out.
fn check(negotiated: &Negotiated, offer: &Offer, options: &Options) -> Result<(), Error> {
    let wrong = |what: &str| {
        Err(Error::Malformed(format!("a reply to NEGOTIATE: {what} that was not offered")))
    };
    if !offer.dialects.contains(&negotiated.dialect) {
        return Err(Error::DialectRefused { offered: offer.dialects.clone() });
    }
    if negotiated.dialect == Dialect::Smb3_1_1 {
        if negotiated.cipher.is_some_and(|cipher| {
            options.encrypt == Protection::Off || !options.ciphers.contains(&cipher)
        }) {
            return wrong("a cipher");
        }
        let by_default = SigningAlgorithm::AesCmac;
        if negotiated.signing != by_default
            && !options.signing_algorithms.contains(&negotiated.signing)
        {
            return wrong("a signing algorithm");
        }
    }
    if options.sign == Protection::Off && negotiated.requires_signing() {
        return Err(Error::SigningRequired);
    }
    if options.encrypt == Protection::On && negotiated.cipher.is_none() {
        return Err(Error::EncryptionRefused(match negotiated.dialect {
            Dialect::Smb2_0_2 | Dialect::Smb2_1 => format!(
                "the negotiated dialect, {}, does not support it: encrypt=on needs SMB 3.0 or newer",
                negotiated.dialect
            ),
            _ => "the server offers no cipher, or none that plimsoll supports".into(),
        }));
    }
    Ok(())
}

const CIPHERS: [(u16, Cipher); 4] = [
    (1, Cipher::Aes128Ccm),
    (2, Cipher::Aes128Gcm),
    (3, Cipher::Aes256Ccm),
    (4, Cipher::Aes256Gcm),
];
const SIGNING: [(u16, SigningAlgorithm); 3] = [
    (0, SigningAlgorithm::HmacSha256),
    (1, SigningAlgorithm::AesCmac),
    (2, SigningAlgorithm::AesGmac),
];

fn cipher(id: u16) -> Option<Cipher> {
    CIPHERS.iter().find(|(known, _)| *known == id).map(|(_, cipher)| *cipher)
}

fn cipher_id(cipher: Cipher) -> u16 {
    CIPHERS.iter().find(|(_, known)| *known == cipher).map_or(0, |(id, _)| *id)
}

fn signing(id: u16) -> Option<SigningAlgorithm> {
    SIGNING.iter().find(|(known, _)| *known == id).map(|(_, algorithm)| *algorithm)
}

fn signing_id(algorithm: SigningAlgorithm) -> u16 {
    SIGNING.iter().find(|(_, known)| *known == algorithm).map_or(0, |(id, _)| *id)
}

#[cfg(test)]
mod tests;
