//! The `smb2` crate's own client: many positioned reads of one file under way on one connection.

use super::ours::scattered;
use super::{Cost, Outcome, PASSWORD, SHARE, USER, cost_of_thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinSet;

/// Reads so many blocks spread over a file, so many at a time; what the reads took.
pub fn read(
    port: u16,
    name: &str,
    block: u64,
    among: u64,
    blocks: u64,
    depth: u64,
) -> Outcome<Cost> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = format!("127.0.0.1:{port}");
    // The client stays as long as its reader is used.
    let (_client, reader) = runtime.block_on(async {
        let mut client = smb2::connect(&address, USER, PASSWORD).await?;
        let tree = client.connect_share(SHARE).await?;
        let reader = client.open_file_reader(&tree, name).await?;
        Ok::<_, smb2::Error>((client, Arc::new(reader)))
    })?;
    let next = Arc::new(AtomicU64::new(0));
    let run = || -> Outcome<u64> {
        runtime.block_on(async {
            let mut readers = JoinSet::new();
            for _ in 0..depth {
                let (reader, next) = (Arc::clone(&reader), Arc::clone(&next));
                readers.spawn(async move {
                    let mut bytes = 0;
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= blocks {
                            return Ok::<u64, smb2::Error>(bytes);
                        }
                        let offset = scattered(number, among) * block;
                        bytes += reader.read_at(offset, block).await?.len() as u64;
                    }
                });
            }
            let mut bytes = 0;
            while let Some(ended) = readers.join_next().await {
                bytes += ended??;
            }
            Ok(bytes)
        })
    };
    let (bytes, cost) = cost_of_thread(run)?;
    if bytes != blocks * block {
        return Err(format!("the smb2 crate read {bytes} bytes").into());
    }
    Ok(cost)
}
