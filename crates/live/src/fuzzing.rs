//! What another process publishes of its run, for fuzzing. Not part of the interface.

/// A feed that comes in pieces of this size: read, and shown on the page.
pub fn feed(bytes: &[u8], piece: usize) {
    let run = crate::feed::of_bytes(bytes, piece);
    let _ = crate::serve::page_of(run.iter());
}

#[cfg(test)]
mod tests {
    /// The input that fuzzing begins with is a feed.
    #[test]
    fn the_corpus_is_a_feed() {
        let bytes = include_bytes!("../../../fuzz/corpus/live_feed/run");
        assert!(crate::feed::of_bytes(&bytes[1..], 100).is_some_and(|run| run.trial.is_some()));
        super::feed(&bytes[1..], 7);
    }
}
