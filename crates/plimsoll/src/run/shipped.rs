//! Plans that come with the program.

/// Their names and files.
pub const SHIPPED: [(&str, &str); 6] = [
    ("n750", include_str!("../../plans/n750.toml")),
    ("nfs-vs-smb", include_str!("../../plans/nfs-vs-smb.toml")),
    ("readers", include_str!("../../plans/readers.toml")),
    ("signing", include_str!("../../plans/signing.toml")),
    ("nconnect", include_str!("../../plans/nconnect.toml")),
    ("encrypted-disk", include_str!("../../plans/encrypted-disk.toml")),
];

/// The file of the shipped plan of this name.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}
