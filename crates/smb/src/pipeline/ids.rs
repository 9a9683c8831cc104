//! From a message's number to the slot of its call.

/// A guess for each number, by its low bits: right unless a call far younger has the same ones.
/// What it says is checked by the caller, who searches all slots if the guess is wrong.
pub(super) struct Guesses(Box<[u16]>);

impl Guesses {
    /// For about `numbers` numbers in use at a time.
    pub fn new(numbers: u32) -> Self {
        let size = numbers.saturating_mul(2).clamp(64, 65536).next_power_of_two();
        Guesses(vec![0; size as usize].into_boxed_slice())
    }

    /// Notes the slot of a number.
    pub fn note(&mut self, message_id: u64, slot: u16) {
        let at = self.place(message_id);
        self.0[at] = slot;
    }

    /// The slot that a number probably has.
    pub fn guess(&self, message_id: u64) -> u16 {
        self.0[self.place(message_id)]
    }

    fn place(&self, message_id: u64) -> usize {
        (message_id & (self.0.len() as u64 - 1)) as usize
    }
}
