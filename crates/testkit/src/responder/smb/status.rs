//! How requests end.

/// A status of MS-ERREF, section 2.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) u32);

impl Status {
    pub(super) const MORE_PROCESSING: Status = Status(0xc000_0016);
    pub(super) const NO_MORE_FILES: Status = Status(0x8000_0006);
    pub(super) const INFO_CLASS: Status = Status(0xc000_0003);
    pub(super) const INVALID: Status = Status(0xc000_000d);
    pub(super) const END_OF_FILE: Status = Status(0xc000_0011);
    pub(super) const ACCESS_DENIED: Status = Status(0xc000_0022);
    pub(super) const NAME_NOT_FOUND: Status = Status(0xc000_0034);
    pub(super) const NAME_COLLISION: Status = Status(0xc000_0035);
    pub(super) const PATH_NOT_FOUND: Status = Status(0xc000_003a);
    pub(super) const LOGON_FAILURE: Status = Status(0xc000_006d);
    pub(super) const DISK_FULL: Status = Status(0xc000_007f);
    pub(super) const IS_A_DIRECTORY: Status = Status(0xc000_00ba);
    pub(super) const NOT_SUPPORTED: Status = Status(0xc000_00bb);
    pub(super) const NO_TREE: Status = Status(0xc000_00c9);
    pub(super) const NO_SUCH_SHARE: Status = Status(0xc000_00cc);
    pub(super) const NOT_EMPTY: Status = Status(0xc000_0101);
    pub(super) const NOT_A_DIRECTORY: Status = Status(0xc000_0103);
    pub(super) const FILE_CLOSED: Status = Status(0xc000_0128);
    pub(super) const NO_SESSION: Status = Status(0xc000_0203);
}
