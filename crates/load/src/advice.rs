//! Advice that several kinds of shares give. The commands have different options, so each option stands in
//! an alternative of its own, which the others leave out.

use plimsoll_model::Target;

/// How less space is used.
pub(crate) const USE_LESS: &str = "give a smaller --size or a smaller --scale";
/// How a target that nothing can be written to is measured.
pub(crate) const READ_IN_PLACE: &str = "read an existing file: 'plimsoll check TARGET --file NAME'";
/// Next step where a file to be read is not there.
pub(crate) const CHECK_NAME: &str = "Check its name, relative to the target.";
/// Next step where a directory of a server is not there.
pub(crate) const MISSING_DIRECTORY: &str =
    "Create the directory on the server, or name an existing one.";
/// Next step where a directory is named instead of a file to be read.
pub(crate) const NAME_FILE_BELOW: &str = "It is a directory: name a file in it.";
/// Next step where neither a file nor a directory is named.
pub(crate) const NAME_REGULAR_FILE: &str = "Name a regular file, without symbolic links.";
/// Next step where a name of the run no longer stands for the file or directory that the run made.
pub(crate) const CHANGED_DURING_RUN: &str =
    "Another program changed it during the run: remove it, or name another directory.";
/// Next step where a server took some connections and broke others: a limit, or a restart in between.
pub(crate) const FEWER_CONNECTIONS: &str = "If the server did not restart during the trial, use fewer connections, or raise \
     its limit of connections.";

/// Most names in a message.
const SHOWN: usize = 20;

/// The URL of a target that a server names, if it can be written so that it means the same: servers may send
/// any bytes as a name.
pub(crate) fn readable(target: Target) -> Option<String> {
    let url = target.to_string();
    (url.parse::<Target>().is_ok_and(|read| read == target)).then_some(url)
}

/// "Name one of the server's shares: A, B."
pub(crate) fn name_one(of: &str, urls: &[String]) -> String {
    let some = urls[..urls.len().min(SHOWN)].join(", ");
    match urls.len() {
        more if more > SHOWN => format!("Name one of {of} ({more} in all), such as {some}."),
        _ => format!("Name one of {of}: {some}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_thousands_of_names_gets_one_message() {
        let urls: Vec<_> = (0..4000).map(|n| format!("nfs://nas/{n}")).collect();
        assert_eq!(
            name_one("the server's exports", &urls[..2]),
            "Name one of the server's exports: nfs://nas/0, nfs://nas/1."
        );
        let text = name_one("the server's exports", &urls);
        assert!(text.contains("4000 in all") && text.ends_with("nfs://nas/19."), "{text}");
    }
}
