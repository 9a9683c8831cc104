//! Whatever is done through the server in whatever order, client, directory and a model of a few
//! lines agree.

use super::client::Client;
use crate::demo::server::{BuiltinServer, EXPORT};
use nfs3_server::nfs3_types::nfs3::{Nfs3Option, createhow3, nfsstat3, sattr3, stable_how};
use plimsoll_testkit::clients::pattern;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;

const NAMES: [&str; 3] = ["a", "b ä", "c"];

/// Sizes around the server's edges: pages, its largest transfer.
const LENGTHS: [usize; 6] = [0, 1, 4095, 4096, 70_001, 1 << 20];

#[derive(Clone, Debug)]
enum Action {
    Create { truncate: bool },
    Guarded,
    Write { offset: u64, length: usize, stable: bool },
    Read { offset: u64, count: u32 },
    Resize { bytes: u64 },
    Remove,
}

fn actions() -> impl Strategy<Value = Vec<(usize, Action)>> {
    let offset = || prop_oneof![0..20_000_u64, Just(4096), Just(1 << 20)];
    let action = prop_oneof![
        2 => any::<bool>().prop_map(|truncate| Action::Create { truncate }),
        1 => Just(Action::Guarded),
        4 => (offset(), 0..LENGTHS.len(), any::<bool>()).prop_map(|(offset, index, stable)| {
            Action::Write { offset, length: LENGTHS[index], stable }
        }),
        4 => (offset(), 0..100_000_u32).prop_map(|(offset, count)| Action::Read { offset, count }),
        1 => (0..100_000_u64).prop_map(|bytes| Action::Resize { bytes }),
        1 => Just(Action::Remove),
    ];
    prop::collection::vec((0..NAMES.len(), action), 1..40)
}

fn resize(bytes: Option<u64>) -> sattr3 {
    let size = bytes.map_or(Nfs3Option::None, Nfs3Option::Some);
    sattr3 { size, ..sattr3::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn client_directory_and_model_agree(actions in actions()) {
        let directory = tempfile::tempdir().unwrap();
        let server = BuiltinServer::start(directory.path()).unwrap();
        let mut client = Client::connect(server.port());
        let root = client.mount(EXPORT).unwrap();
        let mut model: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (name, action) in actions {
            let name = NAMES[name];
            let handle = client.lookup(&root, name);
            prop_assert_eq!(handle.is_ok(), model.contains_key(name));
            match (action, model.get_mut(name)) {
                (Action::Create { truncate }, _) => {
                    let attributes = resize(truncate.then_some(0));
                    client.create(&root, name, createhow3::UNCHECKED(attributes)).unwrap();
                    let content = model.entry(name).or_default();
                    if truncate {
                        content.clear();
                    }
                }
                (Action::Guarded, Some(_)) => {
                    let refused = client.create(&root, name, createhow3::GUARDED(resize(Some(0))));
                    prop_assert_eq!(refused, Err(nfsstat3::NFS3ERR_EXIST));
                }
                (Action::Guarded, None) => {
                    client.create(&root, name, createhow3::GUARDED(resize(None))).unwrap();
                    model.insert(name, Vec::new());
                }
                (Action::Remove, Some(_)) => {
                    client.remove(&root, name).unwrap();
                    model.remove(name);
                    prop_assert_eq!(
                        client.read(&handle.unwrap(), 0, 1),
                        Err(nfsstat3::NFS3ERR_STALE)
                    );
                }
                (Action::Remove, None) => {
                    prop_assert_eq!(client.remove(&root, name), Err(nfsstat3::NFS3ERR_NOENT));
                }
                (Action::Write { offset, length, stable }, Some(content)) => {
                    let stable = if stable { stable_how::FILE_SYNC } else { stable_how::UNSTABLE };
                    let data = pattern(length);
                    client.write(&handle.unwrap(), offset, &data, stable).unwrap();
                    let start = usize::try_from(offset).unwrap();
                    // Nothing written is no write beyond the end.
                    if length > 0 {
                        content.resize(content.len().max(start + length), 0);
                        content[start..start + length].copy_from_slice(&data);
                    }
                }
                (Action::Read { offset, count }, Some(content)) => {
                    let start = usize::try_from(offset).unwrap().min(content.len());
                    let end = (start + count as usize).min(content.len());
                    let expected = (content[start..end].to_vec(), end == content.len());
                    let got = client.read(&handle.unwrap(), offset, count).unwrap();
                    prop_assert!(got == expected, "{} bytes, end {}", got.0.len(), got.1);
                }
                (Action::Resize { bytes }, Some(content)) => {
                    client.set(&handle.unwrap(), resize(Some(bytes))).unwrap();
                    content.resize(usize::try_from(bytes).unwrap(), 0);
                }
                (Action::Write { .. } | Action::Read { .. } | Action::Resize { .. }, None) => {}
            }
        }
        let mut listed = client.list(&root).unwrap();
        listed.sort();
        prop_assert!(listed.iter().eq(model.keys()), "{listed:?}");
        prop_assert_eq!(fs::read_dir(directory.path()).unwrap().count(), model.len());
        for (name, content) in model {
            prop_assert!(fs::read(directory.path().join(name)).unwrap() == content, "{name}");
        }
    }
}
