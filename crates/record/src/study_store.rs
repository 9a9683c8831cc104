//! Store of studies, wherever it is.

use crate::StudySummary;
use plimsoll_model::{Failure, Figure, KeptPrediction, Study, StudyId, Trial};

/// Store of studies: a study is begun, filled trial by trial, ended and read. What a method has written stays when it
/// returns. Several users may write to a store at once.
pub trait StudyStore {
    /// Records a new study with its trials (none at its start), or nothing at all. Fails if the id exists.
    fn begin(&self, study: &Study) -> Result<(), Failure>;

    /// Records a trial. Quantities that are not finite are left out; the properties of new measures are recorded too.
    /// Fails if the study is unknown or has a trial with that number.
    fn add_trial(&self, study: &StudyId, trial: &Trial) -> Result<(), Failure>;

    /// Records everything of a study again except its trials: plan, subjects, hosts, flags, end. The recorded properties
    /// of its measures stay. Fails if the study is unknown.
    fn update(&self, study: &Study) -> Result<(), Failure>;

    /// Keeps a prediction with its study. Of several predictions of the same changes the first one stays; the study
    /// that measured them is added to it. The oldest predictions of the store make room for others.
    fn keep_prediction(&self, prediction: &KeptPrediction) -> Result<(), Failure>;

    /// Summaries of all studies in the order begun, the latest last.
    fn list(&self) -> Result<Vec<StudySummary>, Failure>;

    /// Every study in the order begun, without its trials; of one that cannot be read, the failure that names it.
    fn each_head(&self) -> Result<Vec<Result<Study, Failure>>, Failure>;

    /// Every study in the order begun, without its trials. Fails if one cannot be read.
    fn heads(&self) -> Result<Vec<Study>, Failure> {
        self.each_head()?.into_iter().collect()
    }

    /// Figures of the complete trials of a study, in the order of the trials.
    fn figures(&self, study: &StudyId) -> Result<Vec<Figure>, Failure>;

    /// Predictions of these studies, by study, and the oldest first.
    fn predictions(&self, studies: &[&StudyId]) -> Result<Vec<KeptPrediction>, Failure>;

    /// The study with this id, the only study whose id begins so, or the `latest` begun.
    fn find(&self, reference: &str) -> Result<StudyId, Failure>;

    /// The whole study that [`find`](StudyStore::find) names. Its trials come in their order.
    fn load(&self, reference: &str) -> Result<Study, Failure>;
}
