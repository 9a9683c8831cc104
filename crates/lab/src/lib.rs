//! A stage for tests and demonstrations: real servers, namespaces, and a small NFS server inside the program.
#![forbid(unsafe_code)]
