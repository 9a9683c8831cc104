//! The paths that a host's NFS and SMB servers offer.

use plimsoll_model::device::Inventory;
use plimsoll_settings::export::path_of;

/// Most bytes of all paths together: a request to the probe takes 4096.
const MOST_BYTES: usize = 3000;
/// Most paths.
const MOST_PATHS: usize = 16;

/// The directories behind the exports and shares, each once, in the order found. Of many, the
/// first ones.
pub(super) fn paths(inventory: &Inventory) -> Vec<String> {
    let nfs = inventory.nfs_server.iter().flat_map(|server| {
        let lists = [&server.exports_in_force, &server.exports_table, &server.exports_configured];
        lists.into_iter().flatten().filter_map(|line| path_of(line))
    });
    let smb = inventory
        .smb_server
        .iter()
        .flat_map(|server| server.configurations.values().flat_map(|lines| shared(lines)));
    let mut paths: Vec<String> = Vec::new();
    let mut bytes = 0;
    for path in nfs.chain(smb) {
        let sound = path.starts_with('/') && !path.contains(['\n', '\0']);
        let fits = paths.len() < MOST_PATHS && bytes + path.len() <= MOST_BYTES;
        if sound && fits && !paths.contains(&path) {
            bytes += path.len();
            paths.push(path);
        }
    }
    paths
}

/// The paths of the lines `path = …` of smb.conf(5), but those of printers. One with a variable is
/// several.
fn shared(lines: &[String]) -> Vec<String> {
    let mut of_printers = false;
    let mut paths = Vec::new();
    for line in lines {
        if line.starts_with('[') {
            of_printers = ["[printers]", "[print$]"].contains(&line.trim());
        }
        let Some((key, path)) = line.split_once('=') else { continue };
        let path = path.trim().trim_matches('"');
        if key.trim().eq_ignore_ascii_case("path") && !path.contains('%') && !of_printers {
            paths.push(path.to_owned());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::device::{NfsServer, SmbServer};
    use proptest::prelude::*;

    fn offered(nfs: &[&str], smb: &[&str]) -> Vec<String> {
        let lines = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
        paths(&Inventory {
            nfs_server: Some(NfsServer { exports_table: lines(nfs), ..NfsServer::default() }),
            smb_server: Some(SmbServer {
                configurations: [("/etc/samba/smb.conf".to_owned(), lines(smb))].into(),
                ..SmbServer::default()
            }),
            ..Inventory::default()
        })
    }

    #[test]
    fn exports_and_shares() {
        let nfs =
            ["/srv/nfs\t*(rw,sync)", "\"/srv/my films\" 10.0.0.0/8(ro)", "/srv/a\\040b *(rw)"];
        let smb = [
            "[films]",
            "path = /srv/films",
            "PATH=/srv/nfs",
            "path = /home/%U",
            "path = rel",
            "[printers]",
            "path = /var/spool",
        ];
        assert_eq!(offered(&nfs, &smb), ["/srv/nfs", "/srv/my films", "/srv/a b", "/srv/films"]);
        assert_eq!(offered(&["-ro", ""], &["path"]), Vec::<String>::new());
    }

    #[test]
    fn many_paths_fit_into_a_request() {
        let long: Vec<String> = (0..40).map(|i| format!("/{i}{}", "x".repeat(400))).collect();
        let lines: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(offered(&lines, &[]).len(), 7);
        assert!(offered(&["/a\\012size_bytes=1 *"], &[]).is_empty(), "a line break in a path");
    }

    proptest! {
        #[test]
        fn any_line(line in "\\PC{0,40}|[/\\\\0-7\" ]{0,20}") {
            for path in offered(&[&line], &[&line]) {
                prop_assert!(path.starts_with('/'));
            }
        }
    }
}
