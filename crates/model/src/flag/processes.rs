//! Processes that serve files, by their names.

/// Programs and kernel threads that serve files: one of them may be the server under test.
const FILE_SERVERS: [&str; 8] =
    ["nfsd", "ganesha.nfsd", "unfsd", "rpc.mountd", "smbd", "ksmbd", "ksmbd.mountd", "sftp-server"];

/// Whether a process of this name serves files. Some have their job behind it: `smbd-notifyd`.
pub fn is_file_server(process: &str) -> bool {
    let begin = process.split(['-', ':', '/']).next().unwrap_or_default();
    FILE_SERVERS.iter().any(|name| [process, begin].contains(name))
}
