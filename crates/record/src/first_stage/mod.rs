//! Records of the first stage, which had only patterns on targets: schemas `plimsoll/1` and
//! `plimsoll-device/1`. They are read and converted to studies of this version, and are no longer
//! written. Unchanged parts are read into the current types.

mod device;
mod study;
mod trial;

pub(crate) use device::Device;
pub(crate) use study::Study;
