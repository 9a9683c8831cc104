//! NFS and SMB servers, as facts by name.

use super::amount::binary;
use super::inventory::{each, known, text};
use super::section::{Section, joined};
use plimsoll_model::device::{Inventory, NfsServer, SmbServer};

/// Most lines of a configuration that are shown.
const MOST_LINES: usize = 40;

pub(super) fn facts(section: &mut Section, inventory: &Inventory) {
    if let Some(server) = &inventory.nfs_server {
        nfs(section, server);
    }
    if let Some(server) = &inventory.smb_server {
        smb(section, server);
    }
}

fn nfs(section: &mut Section, server: &NfsServer) {
    let threads = server.threads_count.map(|count| format!("{count} threads"));
    let block =
        server.max_block_size_bytes.map(|bytes| format!("block size up to {}", binary(bytes)));
    let lease = server.lease_seconds.map(|seconds| format!("leases of {seconds} s"));
    let versions = known(&server.versions).map(|versions| format!("versions {versions}"));
    let ports = (!server.ports.is_empty()).then(|| {
        let ports: Vec<String> = server.ports.iter().take(8).map(|port| text(port)).collect();
        format!("on {}", ports.join(", "))
    });
    let processes = names(&server.processes);
    section.fact("NFS server", joined([versions, threads, block, lease, ports, processes]));
    // What is offered now says more than what is configured.
    let lists = [&server.exports_table, &server.exports_in_force, &server.exports_configured];
    if let Some(exports) = lists.into_iter().find(|list| !list.is_empty()) {
        each(section, exports, |line| Some(("export".to_owned(), text(line))), "exports");
    }
    section.fact("nfs.conf", lines(&server.nfs_conf));
}

fn smb(section: &mut Section, server: &SmbServer) {
    let module = (server.ksmbd_module == Some(true)).then(|| "ksmbd in the kernel".to_owned());
    section.fact("SMB server", joined([module, names(&server.processes)]));
    for (file, settings) in server.configurations.iter().take(8) {
        let settings = lines(settings).map(|lines| format!("{}: {lines}", text(file)));
        section.fact("SMB settings", settings);
    }
}

/// Each process once.
fn names(processes: &[String]) -> Option<String> {
    let mut names: Vec<String> = processes.iter().map(|process| text(process)).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| format!("running: {}", names.join(", ")))
}

/// Settings in a line, under the heads of their sections; a head without any says nothing.
fn lines(all: &[String]) -> Option<String> {
    let is_head = |line: &String| line.starts_with('[');
    let follows = |i: usize| all.get(i + 1).is_some_and(|next| !is_head(next));
    let telling: Vec<String> = all
        .iter()
        .enumerate()
        .filter(|(i, line)| !is_head(line) || follows(*i))
        .map(|(_, line)| text(line))
        .collect();
    let more = telling.len().saturating_sub(MOST_LINES);
    let shown = telling.into_iter().take(MOST_LINES).collect::<Vec<_>>().join("; ");
    match (shown.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(shown),
        (_, more) => Some(format!("{shown}; and {more} lines more")),
    }
}
