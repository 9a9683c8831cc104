//! COMPOUND: operations one after the other in one call (RFC 8881, section 16.2).

use super::status::Status;
use super::types::{Minor, Operation};
use crate::Error;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error as XdrError};

/// The arguments of an operation, and what comes back.
pub trait Arguments: Encode {
    /// Which operation.
    const OPERATION: Operation;
    /// Its results, where it succeeds.
    type Results<'a>: Decode<'a>;
}

/// Appends operations to a compound that is built in a buffer.
pub struct Compound<'b> {
    bytes: &'b mut Vec<u8>,
    /// Where the number of operations stands.
    count_at: usize,
    count: u32,
}

impl<'b> Compound<'b> {
    /// An empty compound at the end of `bytes`.
    pub fn new(bytes: &'b mut Vec<u8>, minor: Minor) -> Self {
        let mut to = Encoder::new(bytes);
        to.opaque(b""); // the tag
        to.value(&minor);
        to.u32(0);
        let count_at = bytes.len() - 4;
        Compound { bytes, count_at, count: 0 }
    }

    /// Bytes in the buffer by now.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Appends an operation.
    pub fn add<A: Arguments>(&mut self, arguments: &A) -> &mut Self {
        let mut to = Encoder::new(self.bytes);
        to.value(&A::OPERATION);
        to.value(arguments);
        self.count += 1;
        let at = self.count_at;
        self.bytes[at..at + 4].copy_from_slice(&self.count.to_be_bytes());
        self
    }
}

/// The results of a compound, taken one after the other. Nothing is believed about how many there
/// are: each is looked at when it is asked for.
pub struct Results<'a> {
    from: Decoder<'a>,
    status: Option<Status>,
    /// Results not taken yet.
    left: u32,
}

/// Longest tag taken, in bytes; it repeats that of the call, which is empty.
const LONGEST_TAG: u32 = 1024;

impl<'a> Decode<'a> for Results<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, XdrError> {
        let status = Status::from_number(from.u32()?);
        from.opaque(LONGEST_TAG)?;
        let left = from.u32()?;
        let results = Results { from: *from, status, left };
        *from = Decoder::new(&[]);
        Ok(results)
    }
}

impl<'a> Results<'a> {
    /// The results of the next operation, or why it failed; then it was the last.
    #[inline]
    pub fn take<A: Arguments>(&mut self) -> Result<A::Results<'a>, Error> {
        self.begin(A::OPERATION)?;
        Ok(self.from.value()?)
    }

    /// The last operation, which the server may refuse: the compound has succeeded all the same.
    pub fn take_last<A: Arguments>(&mut self) -> Result<Result<A::Results<'a>, Status>, Error> {
        match self.take::<A>() {
            Ok(results) => Ok(Ok(results)),
            Err(Error::Nfs4 { status, .. }) => {
                self.status = None;
                Ok(Err(status))
            }
            Err(error) => Err(error),
        }
    }

    /// The beginning of an operation's results, up to its status.
    fn begin(&mut self, operation: Operation) -> Result<(), Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(self.ended());
        };
        self.left = left;
        let number = self.from.u32()?;
        let illegal = number == Operation::Illegal as u32;
        if number != operation as u32 && !illegal {
            return Err(XdrError::Unknown { what: "result of the operation", value: number }.into());
        }
        let failed = Status::from_number(self.from.u32()?);
        match failed {
            None if illegal => Err(XdrError::Invalid("status of ILLEGAL").into()),
            None => Ok(()),
            // It ends there, and the compound must say the same of itself.
            Some(_) if failed != self.status || left > 0 => {
                Err(XdrError::Invalid("compound: it continues after an error").into())
            }
            Some(status) => Err(Error::Nfs4 { operation, status }),
        }
    }

    /// The results are fewer than the operations: only the compound's own error explains that, and
    /// only before the first of them.
    fn ended(&self) -> Error {
        match self.status {
            Some(status) => Error::Nfs4 { operation: Operation::Compound, status },
            None => XdrError::Invalid("compound: results are missing").into(),
        }
    }

    /// Ends the compound: bytes left over, which are the server's mistake and harm nothing; results
    /// that nobody asked for are an error, as is a failure that no operation has had.
    pub fn finish(self) -> Result<usize, Error> {
        if self.left > 0 {
            return Err(XdrError::Invalid("compound: more results than operations").into());
        }
        match self.status {
            None => Ok(self.from.remaining()),
            Some(_) => Err(XdrError::Invalid(
                "compound: an error without a failed \
            operation",
            )
            .into()),
        }
    }
}
