//! NFS and SMB servers, from what the kernel shows and what configuration files say.

use super::facts::facts;
use std::collections::BTreeMap;

facts! {
    /// The NFS server. Values of the kernel are absent if its server does not run.
    pub struct NfsServer {
        /// Versions as the kernel writes them: `-2 +3 +4 +4.1 +4.2`.
        pub versions: Option<String>,
        /// Threads.
        pub threads_count: Option<u64>,
        /// Largest block in bytes.
        pub max_block_size_bytes: Option<u64>,
        /// Transports and ports.
        pub ports: Vec<String>,
        /// Lease time of version 4, in seconds.
        pub lease_seconds: Option<u64>,
        /// Exports in use by clients, with their options.
        pub exports_in_force: Vec<String>,
        /// Offered exports, with their options.
        pub exports_table: Vec<String>,
        /// Exports as configured.
        pub exports_configured: Vec<String>,
        /// Settings of nfs.conf.
        pub nfs_conf: Vec<String>,
        /// Servers that run as processes.
        pub processes: Vec<String>,
    }

    /// The SMB server.
    pub struct SmbServer {
        /// Whether the kernel's server is loaded.
        pub ksmbd_module: Option<bool>,
        /// Section heads, and settings that affect speed, by configuration file.
        pub configurations: BTreeMap<String, Vec<String>>,
        /// Servers that run as processes.
        pub processes: Vec<String>,
    }
}
