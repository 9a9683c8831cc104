//! The exports to name instead of a target that is not one, each as a URL that works.

use crate::advice::{name_one, readable};
use plimsoll_model::{NfsTarget, NfsVersion, Target};
use plimsoll_nfs::Version;
use plimsoll_nfs::mount::Export;

/// The exports that version 4 shows, by their paths from its root; `None`: it shows none. The port and the
/// options of the target are kept.
pub(crate) fn of_version_4(target: &NfsTarget, paths: &[String]) -> Option<String> {
    let urls: Vec<_> = paths.iter().filter_map(|path| url(target, path, target.version)).collect();
    (!urls.is_empty()).then(|| name_one("the server's exports in version 4", &urls))
}

/// The exports of the MOUNT service; `None`: it lists none that a URL can name. Version 4 would be tried
/// first and may have other paths, so the URLs name the version.
pub(crate) fn of_mount(target: &NfsTarget, version: Version, exports: &[Export]) -> Option<String> {
    let spoken = match version {
        Version::V2 => NfsVersion::V2,
        Version::V3 => NfsVersion::V3,
    };
    let version = target.version.or_else(|| target.may_be_4().then_some(spoken));
    // Bytes that are not UTF-8 were replaced: such a path cannot be asked for.
    let nameable = exports.iter().filter(|export| !export.path.contains(['\u{fffd}', '\0']));
    let urls: Vec<_> = nameable.filter_map(|export| url(target, &export.path, version)).collect();
    let list = format!("the server's exports in version {spoken}");
    (!urls.is_empty()).then(|| name_one(&list, &urls))
}

fn url(target: &NfsTarget, path: &str, version: Option<NfsVersion>) -> Option<String> {
    let named = NfsTarget { path: path.to_owned(), version, ..target.clone() };
    readable(Target::Nfs(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> NfsTarget {
        let Ok(Target::Nfs(target)) = url.parse() else { panic!("{url}") };
        target
    }

    fn exports(paths: &[&str]) -> Vec<Export> {
        paths.iter().map(|path| Export { path: (*path).into(), groups: Vec::new() }).collect()
    }

    #[test]
    fn urls_keep_port_and_options_and_can_be_read_back() {
        let given = target("nfs://[::1]:20049/?uid=7&rsize=4096&sourceport=any");
        let paths = ["/films & more".to_owned(), "/a b/\u{1b}[31m?".to_owned()];
        let text = of_version_4(&given, &paths).unwrap();
        let urls: Vec<_> =
            text.split_once(": ").unwrap().1.trim_end_matches('.').split(", ").collect();
        assert_eq!(urls.len(), 2, "{text}");
        for (url, path) in urls.iter().zip(paths) {
            assert_eq!(target(url), NfsTarget { path, ..given.clone() });
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(of_version_4(&given, &[]), None);
    }

    #[test]
    fn paths_of_mount_are_asked_for_in_the_version_that_has_them() {
        let named =
            |url: &str, version| of_mount(&target(url), version, &exports(&["/srv"])).unwrap();
        assert!(named("nfs://nas/", Version::V3).ends_with(": nfs://nas/srv?vers=3."));
        assert!(named("nfs://nas/", Version::V2).ends_with(": nfs://nas/srv?vers=2."));
        assert!(named("nfs://nas/?vers=3", Version::V3).ends_with(": nfs://nas/srv?vers=3."));
        // With a port of MOUNT version 4 is not tried.
        let mounted = named("nfs://nas:7/?mountport=8", Version::V3);
        assert!(mounted.ends_with(": nfs://nas:7/srv?mountport=8."), "{mounted}");
        let strange = exports(&["relative", "/\u{fffd}", "/srv/../etc", ""]);
        assert_eq!(of_mount(&target("nfs://nas/"), Version::V3, &strange), None);
    }
}
