//! What fuzz targets call: whatever comes, nothing panics, and what was understood is understood
//! again when it is sent again.

use super::{Lines, Reply, Request};

/// Longest line in a fuzz run.
const MOST: usize = 1 << 16;

/// Bytes of a host, as replies.
pub fn replies(bytes: &[u8]) {
    each_line(bytes, |line| {
        let Ok(reply) = Reply::from_line(line) else { return };
        let said = reply.to_line();
        Reply::from_line(&said[..said.len() - 1]).expect("every message that is sent can be read");
    });
}

/// Bytes on the standard input of the program on the host.
pub fn requests(bytes: &[u8]) {
    each_line(bytes, |line| {
        let Ok(request) = Request::from_line(line) else { return };
        let said = request.to_line();
        Request::from_line(&said[..said.len() - 1]).expect(
            "every message that is sent can be \
        read",
        );
        if let Request::Connect(connect) = request {
            connect.options(plimsoll_load::SystemClock::no_deadline());
        }
    });
}

fn each_line(bytes: &[u8], mut take: impl FnMut(&[u8])) {
    let mut lines = Lines::new(MOST);
    for piece in bytes.chunks(1 << 12) {
        lines.push(piece);
        while let Ok(Some(line)) = lines.next_line() {
            take(&line);
        }
    }
}
