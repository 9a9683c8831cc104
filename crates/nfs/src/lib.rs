//! An NFS version 3 client: xdr, rpc, portmapper, MOUNT, NFS. Pipelined, blocking, without allocation per operation.
#![forbid(unsafe_code)]
