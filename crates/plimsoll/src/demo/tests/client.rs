//! A client of NFS 3 in as few lines as will do: one call at a time, the XDR types of
//! `nfs3_types` both ways. It sends what no well-behaved client would.

use nfs3_server::nfs3_types::mount::{self, MOUNT_PROGRAM, dirpath, mountres3, mountstat3};
use nfs3_server::nfs3_types::nfs3::*;
use nfs3_server::nfs3_types::rpc::{RPC_VERSION_2, call_body, msg_body, opaque_auth, rpc_msg};
use nfs3_server::nfs3_types::xdr_codec::{Opaque, Pack, Unpack};
use std::io::{Cursor, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

pub type Answer<T> = Result<T, nfsstat3>;

pub struct Client {
    stream: TcpStream,
    xid: u32,
}

impl Client {
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, xid: 0 }
    }

    /// One call; its reply, from the results on.
    fn call(&mut self, program: u32, procedure: u32, arguments: &impl Pack) -> Cursor<Vec<u8>> {
        self.xid += 1;
        let call = call_body {
            rpcvers: RPC_VERSION_2,
            prog: program,
            vers: 3,
            proc: procedure,
            cred: opaque_auth::default(),
            verf: opaque_auth::default(),
        };
        let mut record = vec![0; 4];
        rpc_msg { xid: self.xid, body: msg_body::CALL(call) }.pack(&mut record).unwrap();
        arguments.pack(&mut record).unwrap();
        let length = u32::try_from(record.len() - 4).unwrap();
        record[..4].copy_from_slice(&(length | 1 << 31).to_be_bytes());
        self.stream.write_all(&record).unwrap();

        let mut header = [0; 4];
        self.stream.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes(header) & !(1 << 31);
        let mut reply = vec![0; length as usize];
        self.stream.read_exact(&mut reply).unwrap();
        // XID, REPLY, MSG_ACCEPTED, an empty verifier of AUTH_NONE, SUCCESS (RFC 5531).
        let accepted = [self.xid, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        assert_eq!(reply[..24], accepted);
        Cursor::new(reply.split_off(24))
    }

    fn nfs<R: Unpack>(&mut self, procedure: NFS_PROGRAM, arguments: &impl Pack) -> Answer<R> {
        let mut reply = self.call(PROGRAM, procedure as u32, arguments);
        match nfsstat3::unpack(&mut reply).unwrap().0 {
            nfsstat3::NFS3_OK => Ok(R::unpack(&mut reply).unwrap().0),
            status => Err(status),
        }
    }

    pub fn mount(&mut self, path: &str) -> Result<nfs_fh3, mountstat3> {
        let path = dirpath(Opaque::borrowed(path.as_bytes()));
        let procedure = MOUNT_PROGRAM::MOUNTPROC3_MNT as u32;
        match mountres3::unpack(&mut self.call(mount::PROGRAM, procedure, &path)).unwrap().0 {
            mountres3::Ok(answer) => Ok(nfs_fh3 { data: answer.fhandle.0 }),
            mountres3::Err(status) => Err(status),
        }
    }

    pub fn attributes(&mut self, file: &nfs_fh3) -> Answer<fattr3> {
        let arguments = GETATTR3args { object: file.clone() };
        self.nfs::<GETATTR3resok>(NFS_PROGRAM::NFSPROC3_GETATTR, &arguments)
            .map(|answer| answer.obj_attributes)
    }

    pub fn set(&mut self, file: &nfs_fh3, new_attributes: sattr3) -> Answer<()> {
        let guard = Nfs3Option::None;
        let arguments = SETATTR3args { object: file.clone(), new_attributes, guard };
        self.nfs::<SETATTR3resok>(NFS_PROGRAM::NFSPROC3_SETATTR, &arguments).map(drop)
    }

    pub fn lookup(&mut self, directory: &nfs_fh3, name: &str) -> Answer<nfs_fh3> {
        let arguments = LOOKUP3args { what: place(directory, name) };
        self.nfs::<LOOKUP3resok>(NFS_PROGRAM::NFSPROC3_LOOKUP, &arguments)
            .map(|answer| answer.object)
    }

    pub fn create(&mut self, directory: &nfs_fh3, name: &str, how: createhow3) -> Answer<nfs_fh3> {
        let arguments = CREATE3args { where_: place(directory, name), how };
        self.nfs::<CREATE3resok>(NFS_PROGRAM::NFSPROC3_CREATE, &arguments)
            .map(|answer| answer.obj.unwrap())
    }

    pub fn make_directory(&mut self, directory: &nfs_fh3, name: &str) -> Answer<nfs_fh3> {
        let attributes = sattr3::default();
        let arguments = MKDIR3args { where_: place(directory, name), attributes };
        self.nfs::<MKDIR3resok>(NFS_PROGRAM::NFSPROC3_MKDIR, &arguments)
            .map(|answer| answer.obj.unwrap())
    }

    pub fn read(&mut self, file: &nfs_fh3, offset: u64, count: u32) -> Answer<(Vec<u8>, bool)> {
        let arguments = READ3args { file: file.clone(), offset, count };
        self.nfs::<READ3resok<'static>>(NFS_PROGRAM::NFSPROC3_READ, &arguments)
            .map(|answer| (answer.data.as_ref().to_vec(), answer.eof))
    }

    pub fn write(
        &mut self,
        file: &nfs_fh3,
        offset: u64,
        data: &[u8],
        stable: stable_how,
    ) -> Answer<stable_how> {
        let count = u32::try_from(data.len()).unwrap();
        let file = file.clone();
        let arguments = WRITE3args { file, offset, count, stable, data: Opaque::borrowed(data) };
        self.nfs::<WRITE3resok>(NFS_PROGRAM::NFSPROC3_WRITE, &arguments)
            .map(|answer| answer.committed)
    }

    pub fn commit(&mut self, file: &nfs_fh3) -> Answer<()> {
        let arguments = COMMIT3args { file: file.clone(), offset: 0, count: 0 };
        self.nfs::<COMMIT3resok>(NFS_PROGRAM::NFSPROC3_COMMIT, &arguments).map(drop)
    }

    pub fn remove(&mut self, directory: &nfs_fh3, name: &str) -> Answer<()> {
        let arguments = REMOVE3args { object: place(directory, name) };
        self.nfs::<REMOVE3resok>(NFS_PROGRAM::NFSPROC3_REMOVE, &arguments).map(drop)
    }

    pub fn remove_directory(&mut self, directory: &nfs_fh3, name: &str) -> Answer<()> {
        let arguments = RMDIR3args { object: place(directory, name) };
        self.nfs::<RMDIR3resok>(NFS_PROGRAM::NFSPROC3_RMDIR, &arguments).map(drop)
    }

    pub fn rename(&mut self, from: (&nfs_fh3, &str), to: (&nfs_fh3, &str)) -> Answer<()> {
        let arguments = RENAME3args { from: place(from.0, from.1), to: place(to.0, to.1) };
        self.nfs::<RENAME3resok>(NFS_PROGRAM::NFSPROC3_RENAME, &arguments).map(drop)
    }

    /// One page of a directory: names with their cookies, and whether it is the last.
    pub fn page(&mut self, directory: &nfs_fh3, cookie: u64) -> Answer<(Vec<(u64, String)>, bool)> {
        let arguments = READDIRPLUS3args {
            dir: directory.clone(),
            cookie,
            cookieverf: cookieverf3::default(),
            dircount: 4096,
            maxcount: 4096,
        };
        let answer =
            self.nfs::<READDIRPLUS3resok<'static>>(NFS_PROGRAM::NFSPROC3_READDIRPLUS, &arguments)?;
        let name = |name: &filename3<'_>| String::from_utf8(name.as_ref().to_vec()).unwrap();
        let entries = answer.reply.entries.0.iter();
        Ok((entries.map(|entry| (entry.cookie, name(&entry.name))).collect(), answer.reply.eof))
    }

    /// Every name of a directory, in the server's order.
    pub fn list(&mut self, directory: &nfs_fh3) -> Answer<Vec<String>> {
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            let (entries, last) = self.page(directory, cookie)?;
            cookie = entries.last().map_or(cookie, |entry| entry.0);
            names.extend(entries.into_iter().map(|entry| entry.1));
            if last {
                return Ok(names);
            }
        }
    }
}

fn place<'a>(directory: &nfs_fh3, name: &'a str) -> diropargs3<'a> {
    diropargs3 { dir: directory.clone(), name: name.as_bytes().into() }
}
