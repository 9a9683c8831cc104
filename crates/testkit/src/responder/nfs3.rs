//! Version 3 of NFS and MOUNT (RFC 1813), as a responder speaks it.

use super::tree::{Content, Node, ROOT};
use super::{Counts, EXPORT, Faults, ServerState};
use nfs3_types::mount::{dirpath, export_node, fhandle3, mountres3_ok};
use nfs3_types::nfs3::nfsstat3::{
    self, NFS3ERR_BAD_COOKIE, NFS3ERR_BADHANDLE, NFS3ERR_INVAL, NFS3ERR_JUKEBOX, NFS3ERR_NOTSUPP,
    NFS3ERR_STALE,
};
use nfs3_types::nfs3::{
    ACCESS3args, ACCESS3resok, COMMIT3args, COMMIT3resok, CREATE3args, CREATE3resok, FSINFO3resok,
    FSSTAT3resok, GETATTR3args, GETATTR3resok, LOOKUP3args, LOOKUP3resok, MKDIR3args, MKDIR3resok,
    Nfs3Option, READ3args, READ3resok, READDIRPLUS3args, READDIRPLUS3resok, REMOVE3args,
    RENAME3args, RENAME3resok, SETATTR3args, WRITE3args, WRITE3resok, cookieverf3, createhow3,
    dirlistplus3, diropargs3, entryplus3, fattr3, ftype3, nfs_fh3, nfstime3, sattr3, set_mtime,
    specdata3, stable_how, wcc_data, writeverf3,
};
use nfs3_types::rpc::accept_stat_data;
use nfs3_types::xdr_codec::{List, Opaque, Pack, Unpack};

/// Largest READ and WRITE.
const LARGEST: u32 = 1 << 20;
/// Names in one page of a listing, so that listings have several.
const PAGE: usize = 100;

/// Procedures of NFS version 3 whose replies tests lose.
pub mod procedure {
    #![expect(missing_docs, reason = "as in RFC 1813, section 3.3")]
    pub const WRITE: u32 = 7;
    pub const CREATE: u32 = 8;
    pub const MKDIR: u32 = 9;
    pub const REMOVE: u32 = 12;
    pub const RMDIR: u32 = 13;
    pub const RENAME: u32 = 14;
    pub const COMMIT: u32 = 21;
}

/// Results of a procedure, or its status.
type Results = Result<Vec<u8>, Refusal>;

/// Why there are none.
pub(super) enum Refusal {
    Rpc(accept_stat_data),
    Nfs(nfsstat3),
}

impl From<nfsstat3> for Refusal {
    fn from(status: nfsstat3) -> Self {
        Refusal::Nfs(status)
    }
}

fn take<T: Unpack>(mut from: &[u8]) -> Result<T, Refusal> {
    let garbage = |_| Refusal::Rpc(accept_stat_data::GARBAGE_ARGS);
    T::unpack(&mut from).map(|(value, _)| value).map_err(garbage)
}

fn packed(value: &impl Pack) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.packed_size());
    value.pack(&mut bytes).expect("a vector takes everything");
    bytes
}

/// MOUNT: one export, to everybody.
pub(super) fn mount(state: &ServerState, procedure: u32) -> Results {
    match procedure {
        0 => Ok(Vec::new()),
        1 => {
            let handle = state.handle(ROOT);
            let fhandle = fhandle3(Opaque::borrowed(&handle.data));
            let ok = mountres3_ok { fhandle, auth_flavors: vec![1] };
            Ok([vec![0; 4], packed(&ok)].concat())
        }
        5 => {
            let ex_dir = dirpath(Opaque::borrowed(EXPORT.as_bytes()));
            Ok(packed(&List(vec![export_node { ex_dir, ex_groups: List::default() }])))
        }
        _ => Err(Refusal::Rpc(accept_stat_data::PROC_UNAVAIL)),
    }
}

/// NFS: the results with their status.
pub(super) fn nfs(state: &mut ServerState, procedure: u32, arguments: &[u8]) -> Results {
    if procedure == 0 {
        std::thread::sleep(state.faults.null);
        return Ok(Vec::new());
    }
    let Faults { jukebox, .. } = &mut state.faults;
    let results = if *jukebox > 0 && !matches!(procedure, 1 | 18 | 19) {
        *jukebox -= 1;
        state.counts.asked_to_wait += 1;
        Err(NFS3ERR_JUKEBOX.into())
    } else {
        perform(state, procedure, arguments)
    };
    match results {
        Ok(results) => Ok([vec![0; 4], results].concat()),
        // What follows a status: no attributes, of none to four objects.
        Err(Refusal::Nfs(status)) => {
            let words = match procedure {
                1 => 0,
                2 | 7..=13 | 21 => 2,
                14 => 4,
                _ => 1,
            };
            Ok([packed(&status), vec![0; 4 * words]].concat())
        }
        Err(refusal) => Err(refusal),
    }
}

fn perform(state: &mut ServerState, procedure: u32, arguments: &[u8]) -> Results {
    Ok(match procedure {
        1 => {
            let GETATTR3args { object } = take(arguments)?;
            let id = state.id(&object)?;
            packed(&GETATTR3resok { obj_attributes: state.attributes(id)? })
        }
        2 => {
            let SETATTR3args { object, new_attributes, .. } = take(arguments)?;
            let id = state.id(&object)?;
            state.set(id, &new_attributes)?;
            packed(&wcc_data::default())
        }
        3 => {
            let LOOKUP3args { what } = take(arguments)?;
            let directory = state.id(&what.dir)?;
            let id = state.tree.look_up(directory, what.name.as_ref())?;
            let (object, obj_attributes) = (state.handle(id), Some3(state.attributes(id)?));
            state.counts.lookups += 1;
            packed(&LOOKUP3resok { object, obj_attributes, dir_attributes: Nfs3Option::None })
        }
        4 => {
            let ACCESS3args { object, access } = take(arguments)?;
            state.id(&object)?;
            packed(&ACCESS3resok { obj_attributes: Nfs3Option::None, access })
        }
        6 => read(state, &take(arguments)?)?,
        procedure::WRITE => write(state, &take(arguments)?)?,
        procedure::CREATE => {
            let CREATE3args { where_, how } = take(arguments)?;
            let (attributes, guarded) = match how {
                createhow3::UNCHECKED(attributes) => (attributes, false),
                createhow3::GUARDED(attributes) => (attributes, true),
                createhow3::EXCLUSIVE(_) => return Err(NFS3ERR_NOTSUPP.into()),
            };
            let kind = Content::File(super::tree::File::default());
            let id = make(state, &where_, kind, &attributes, guarded)?;
            let obj = Some3(state.handle(id));
            let obj_attributes = Some3(state.attributes(id)?);
            packed(&CREATE3resok { obj, obj_attributes, dir_wcc: wcc_data::default() })
        }
        procedure::MKDIR => {
            let MKDIR3args { where_, attributes } = take(arguments)?;
            let id = make(state, &where_, Content::default(), &attributes, true)?;
            let obj = Some3(state.handle(id));
            let obj_attributes = Some3(state.attributes(id)?);
            packed(&MKDIR3resok { obj, obj_attributes, dir_wcc: wcc_data::default() })
        }
        procedure::REMOVE | procedure::RMDIR => {
            let REMOVE3args { object } = take(arguments)?;
            let directory = state.id(&object.dir)?;
            let a_directory = procedure == procedure::RMDIR;
            state.tree.remove(directory, object.name.as_ref(), a_directory)?;
            packed(&wcc_data::default())
        }
        procedure::RENAME => {
            let RENAME3args { from, to } = take(arguments)?;
            let (old, new) = (state.id(&from.dir)?, state.id(&to.dir)?);
            state.tree.rename((old, from.name.as_ref()), (new, to.name.as_ref()))?;
            let (fromdir_wcc, todir_wcc) = (wcc_data::default(), wcc_data::default());
            packed(&RENAME3resok { fromdir_wcc, todir_wcc })
        }
        17 => list(state, &take(arguments)?)?,
        18 => packed(&FSSTAT3resok {
            obj_attributes: Nfs3Option::None,
            tbytes: 1 << 40,
            fbytes: 1 << 40,
            abytes: 1 << 40,
            tfiles: 1 << 20,
            ffiles: 1 << 20,
            afiles: 1 << 20,
            invarsec: 0,
        }),
        19 => {
            let largest = state.faults.largest.unwrap_or(LARGEST);
            packed(&FSINFO3resok {
                obj_attributes: Nfs3Option::None,
                rtmax: largest,
                rtpref: largest,
                rtmult: 1,
                wtmax: largest,
                wtpref: largest,
                wtmult: 1,
                dtpref: LARGEST,
                maxfilesize: u64::MAX,
                time_delta: nfstime3::default(),
                properties: 0,
            })
        }
        procedure::COMMIT => {
            let COMMIT3args { file, offset, count } = take(arguments)?;
            let id = state.id(&file)?;
            state.tree.file(id)?.commit(offset, count);
            state.counts.commits += 1;
            let verf = writeverf3(state.verifier.to_be_bytes());
            packed(&COMMIT3resok { file_wcc: wcc_data::default(), verf })
        }
        16 => return Err(NFS3ERR_NOTSUPP.into()),
        _ => return Err(Refusal::Rpc(accept_stat_data::PROC_UNAVAIL)),
    })
}

use Nfs3Option::Some as Some3;

/// Whether a READ or a WRITE is no longer than tests allow.
fn fits(state: &ServerState, count: u32) -> Result<(), nfsstat3> {
    match state.faults.largest {
        Some(largest) if count > largest => Err(NFS3ERR_INVAL),
        _ => Ok(()),
    }
}

fn read(state: &mut ServerState, asked: &READ3args) -> Results {
    fits(state, asked.count)?;
    let id = state.id(&asked.file)?;
    let file = state.tree.file(id)?;
    let begin = usize::try_from(asked.offset).unwrap_or(usize::MAX).min(file.now.len());
    let end = begin.saturating_add(asked.count.min(LARGEST) as usize).min(file.now.len());
    let data = &file.now[begin..end];
    let (count, eof) = (data.len() as u32, end == file.now.len());
    let data = Opaque::borrowed(data);
    let ok = packed(&READ3resok { file_attributes: Nfs3Option::None, count, eof, data });
    state.counts.reads += 1;
    Ok(ok)
}

fn write(state: &mut ServerState, asked: &WRITE3args<'_>) -> Results {
    fits(state, asked.data.len() as u32)?;
    let id = state.id(&asked.file)?;
    let stable = asked.stable != stable_how::UNSTABLE;
    state.tree.file(id)?.write(asked.offset, &asked.data, stable)?;
    let Counts { writes, by_stability, unstable_bytes, .. } = &mut state.counts;
    *writes += 1;
    by_stability[asked.stable as usize] += 1;
    if !stable {
        *unstable_bytes += asked.data.len() as u64;
    }
    let ok = WRITE3resok {
        file_wcc: wcc_data::default(),
        count: asked.data.len() as u32,
        committed: asked.stable,
        verf: writeverf3(state.verifier.to_be_bytes()),
    };
    Ok(packed(&ok))
}

fn make(
    state: &mut ServerState,
    place: &diropargs3<'_>,
    kind: Content,
    attributes: &sattr3,
    guarded: bool,
) -> Result<u64, nfsstat3> {
    let directory = state.id(&place.dir)?;
    let name = place.name.as_ref();
    let there = state.tree.look_up(directory, name).ok().filter(|_| !guarded);
    let id = match there {
        Some(id) => id,
        None => {
            let node = Node { owner: state.caller, kind, ..Node::default() };
            state.tree.add(directory, name, node)?
        }
    };
    state.set(id, attributes)?;
    Ok(id)
}

fn list(state: &mut ServerState, asked: &READDIRPLUS3args) -> Results {
    let directory = state.id(&asked.dir)?;
    let names = state.tree.names(directory)?.clone();
    let from = usize::try_from(asked.cookie).map_err(|_| NFS3ERR_BAD_COOKIE)?;
    let page = names.iter().enumerate().skip(from).take(PAGE);
    let entry = |(number, (name, id)): (usize, (&Vec<u8>, &u64))| {
        Ok(entryplus3 {
            fileid: *id,
            name: name.clone().into(),
            cookie: number as u64 + 1,
            name_attributes: Some3(state.attributes(*id)?),
            name_handle: Some3(state.handle(*id)),
        })
    };
    let entries = List(page.map(entry).collect::<Result<Vec<_>, nfsstat3>>()?);
    let eof = from + entries.0.len() >= names.len();
    Ok(packed(&READDIRPLUS3resok {
        dir_attributes: Nfs3Option::None,
        cookieverf: cookieverf3::default(),
        reply: dirlistplus3 { entries, eof },
    }))
}

impl ServerState {
    /// The handle of a node. One from before the handles were lost is none any more.
    fn handle(&self, id: u64) -> nfs_fh3 {
        let bytes = [self.handles.to_be_bytes(), id.to_be_bytes()].concat();
        nfs_fh3 { data: Opaque::owned(bytes) }
    }

    fn id(&self, handle: &nfs_fh3) -> Result<u64, nfsstat3> {
        let bytes: [u8; 16] = handle.data.as_ref().try_into().map_err(|_| NFS3ERR_BADHANDLE)?;
        let both = u128::from_be_bytes(bytes);
        if (both >> 64) as u64 != self.handles {
            return Err(NFS3ERR_STALE);
        }
        Ok(both as u64)
    }

    fn attributes(&mut self, id: u64) -> Result<fattr3, nfsstat3> {
        let Node { mode, owner, modified, kind } = self.tree.node(id)?;
        let (type_, size) = match kind {
            Content::Directory(_) => (ftype3::NF3DIR, 4096),
            Content::File(file) => (ftype3::NF3REG, file.now.len() as u64),
        };
        let time = nfstime3 { seconds: *modified, nseconds: 0 };
        Ok(fattr3 {
            type_,
            mode: *mode,
            nlink: 1,
            uid: owner.0,
            gid: owner.1,
            size,
            used: size,
            rdev: specdata3::default(),
            fsid: 1,
            fileid: id,
            atime: time,
            mtime: time,
            ctime: time,
        })
    }

    fn set(&mut self, id: u64, new: &sattr3) -> Result<(), nfsstat3> {
        if let Nfs3Option::Some(size) = new.size {
            self.tree.file(id)?.set_size(size)?;
        }
        let node = self.tree.node(id)?;
        if let Nfs3Option::Some(mode) = new.mode {
            node.mode = mode;
        }
        if let set_mtime::SET_TO_CLIENT_TIME(time) = new.mtime {
            node.modified = time.seconds;
        }
        Ok(())
    }
}
