//! From calls that wait to frames that are sent.

use super::call::{Asked, Slot, Through};
use super::outgoing::payload;
use super::{Completion, Exchange, Pipeline, requests};
use crate::message::{HEADER_BYTES, RequestHeader};
use crate::{Access, CreateHow, Error, FileId, names};
use smb2::types::Command;

/// Payloads up to this many bytes are copied to go out with others in one system call.
const COPY_MOST: u32 = 16 * 1024;

impl Pipeline {
    /// Encodes calls as far as credits and the buffer last. Those whose path SMB cannot carry end
    /// here; how many.
    pub(super) fn encode(&mut self, with: &mut impl Exchange) -> Result<usize, Error> {
        let mut ended = 0;
        while self.outgoing.has_room()
            && let Some(&index) = self.waiting.front()
        {
            let slot = &mut self.slots[usize::from(index)];
            if slot.asked.parts().starts_with(&[Command::Create])
                && let Err(error) = names::check_path(&slot.path)
            {
                let (now, tag) = (with.now(), slot.tag);
                slot.asked = Asked::Nothing;
                self.free.push(index);
                with.complete(Completion { tag, sent: now, done: now, result: Err(error) });
                ended += 1;
            } else if slot.charge > self.link.credits {
                break;
            } else {
                self.encode_call(index, with)?;
                self.unsent.push_back(index);
            }
            self.waiting.pop_front();
        }
        Ok(ended)
    }

    /// Encodes one call as one frame, and protects it.
    fn encode_call(&mut self, index: u16, with: &mut impl Exchange) -> Result<(), Error> {
        let slot = &mut self.slots[usize::from(index)];
        let (link, outgoing) = (&mut self.link, &mut self.outgoing);
        link.credits -= slot.charge;
        self.credits_spent += slot.charge;
        // Each call asks for what it cost; the first ones for what is missing as well.
        let held = link.credits.saturating_add(self.credits_spent);
        let mut missing = self.credits_wanted.saturating_sub(held);
        let plain = !link.guard.seal && link.guard.signing().is_none();
        let mut hole = None;

        let frame = outgoing.begin(&link.guard);
        let parts = slot.asked.parts();
        for (i, &command) in parts.iter().enumerate() {
            let last = i + 1 == parts.len();
            let bytes = outgoing.bytes();
            let start = bytes.len();
            bytes.resize(start + HEADER_BYTES, 0);
            encode_body(bytes, slot, i);
            let count = slot.asked.payload(command);
            if command == Command::Write {
                if plain && last && count > COPY_MOST {
                    hole = Some((slot.tag, count));
                } else {
                    bytes.extend_from_slice(payload(with, slot.tag, count as usize)?);
                }
            }
            if !last {
                let length = bytes.len() - frame.messages;
                bytes.resize(frame.messages + length.next_multiple_of(8), 0);
            }
            let message = &mut bytes[start..];
            let charge = link.facts.charge(count);
            let wanted = u32::from(charge) + std::mem::take(&mut missing);
            let wanted = u16::try_from(wanted).unwrap_or(u16::MAX);
            (slot.ids[i], slot.wanted[i]) = (link.next_message_id, wanted);
            self.guesses.note(link.next_message_id, index);
            RequestHeader {
                command,
                // Connections without large transfers do not know the field.
                credit_charge: if link.facts.large_transfers { charge } else { 0 },
                credits_wanted: wanted,
                related: i > 0,
                next: if last { 0 } else { message.len() as u32 },
                message_id: link.next_message_id,
                tree_id: link.tree_id,
                session_id: link.session_id,
            }
            .put(message);
            link.next_message_id += u64::from(charge);
            if let Some(signer) = link.guard.signing() {
                signer.sign(message);
            }
        }
        outgoing.finish(frame, &mut link.guard, hole);
        slot.end = outgoing.queued();
        Ok(())
    }
}

/// What follows the header in a request of a call, without a payload.
fn encode_body(to: &mut Vec<u8>, slot: &Slot, part: usize) {
    let file = if part == 0 { slot.asked.file() } else { FileId::OF_THE_REQUEST_BEFORE };
    match (slot.asked.parts()[part], slot.asked) {
        (Command::Create, Asked::Put { how, .. }) => {
            requests::create(to, &slot.path, how, Access::ReadWrite);
        }
        (Command::Create, Asked::Open { how, access }) => {
            requests::create(to, &slot.path, how, access);
        }
        (Command::Create, _) => requests::create(to, &slot.path, CreateHow::Open, Access::Read),
        (Command::Read, Asked::Read { offset, count, .. }) => {
            requests::read(to, file, offset, count);
        }
        (Command::Read, asked) => requests::read(to, file, 0, asked.payload(Command::Read)),
        (Command::Write, Asked::Write { offset, count, through, .. }) => {
            requests::write(to, file, offset, count, through == Through::Flag);
        }
        (Command::Write, asked) => {
            requests::write(to, file, 0, asked.payload(Command::Write), false);
        }
        _ => requests::flush_or_close(to, file),
    }
}
