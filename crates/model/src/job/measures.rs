//! Measures of single jobs, by the kind of their subjects.

use super::{copy, database, device, forwarding, log, path, playback, slides, stream};
use crate::metric::Row;

/// Of jobs on storage.
pub(crate) const OF_STORAGE: &[&[Row]] =
    &[&log::MEASURES, &database::MEASURES, &copy::MEASURES, &playback::MEASURES, &slides::MEASURES];
/// Of jobs on network paths.
pub(crate) const OF_PATHS: &[&[Row]] = &[&stream::MEASURES, &path::MEASURES, &forwarding::MEASURES];
/// Of jobs on hosts.
pub(crate) const OF_HOSTS: &[&[Row]] = &[&device::MEASURES];
