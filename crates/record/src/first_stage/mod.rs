//! Records of the first stage, which knew patterns on targets alone: schemas `plimsoll/1` and
//! `plimsoll-device/1`. They are read as they were written and become studies of today; nobody writes
//! them any more. What did not change is read into today's types.

mod device;
mod study;
mod trial;

pub(crate) use device::Device;
pub(crate) use study::Study;
