//! The store in memory answers as the store in a file does.

mod support;

use plimsoll_model::{Cause, Ended, Failure, Figure, KeptPrediction, Study, StudyId};
use plimsoll_record::{MemoryStore, Store, StudyStore};
use support::{full, prediction, trial};

/// Result without the name of the store.
fn answer<T>(result: Result<T, Failure>) -> Result<T, Failure> {
    result.map_err(|failure| Failure { on: String::new(), ..failure })
}

#[test]
fn both_stores_answer_alike() {
    let directory = tempfile::tempdir().unwrap();
    let file = Store::open(directory.path().join("studies.db")).unwrap();
    let memory = MemoryStore::default();
    let stores: [&dyn StudyStore; 2] = [&file, &memory];
    let whole = full();
    let begun =
        Study { trials: Vec::new(), flags: Vec::new(), ended: Ended::Open, ..whole.clone() };
    let earlier = Study { id: StudyId("01_b".into()), started_unix_seconds: 1, ..whole.clone() };
    let mut odd = trial(9);
    odd.result.parts[0].quantities.values_mut().for_each(|value| *value = f64::NAN);
    let first = prediction(&whole.id, 1);
    let measured = Some(earlier.id.clone());
    let again = KeptPrediction { made_unix_seconds: 7, measured, ..first.clone() };
    for store in stores {
        store.begin(&begun).unwrap();
        store.begin(&earlier).unwrap();
        store.add_trial(&whole.id, &odd).unwrap();
        whole.trials.iter().for_each(|trial| store.add_trial(&whole.id, trial).unwrap());
        store.update(&whole).unwrap();
        for kept in [&first, &again, &prediction(&whole.id, 2)] {
            store.keep_prediction(kept).unwrap();
        }
    }
    assert_eq!(file.list(), memory.list());
    assert_eq!(file.heads(), memory.heads());
    let ids = [&earlier.id, &whole.id];
    let [kept, other] = stores.map(|store| store.predictions(&ids).unwrap());
    assert_eq!(kept, other);
    assert_eq!((kept.len(), kept[0].measured.as_ref()), (2, Some(&earlier.id)));
    for id in ids {
        let [found, other] = stores.map(|store| {
            let mut figures = store.figures(id).unwrap();
            figures.sort_by_key(|figure: &Figure| (figure.trial, figure.metric.to_string()));
            figures
        });
        assert!(!found.is_empty());
        assert_eq!(found, other);
    }
    let mut is_found = Vec::new();
    for reference in ["latest", whole.id.0.as_str(), "01_", "01", "zz", "%", ""] {
        let [found, other] = stores.map(|store| answer(store.load(reference)));
        assert_eq!(found, other, "'{reference}'");
        is_found.push(found.is_ok());
    }
    assert_eq!(is_found, [true, true, true, false, false, false, false]);
    let unknown = Study { id: StudyId("zz".into()), ..begun.clone() };
    type Write<'a> = &'a dyn Fn(&dyn StudyStore) -> Result<(), Failure>;
    let refused: [Write<'_>; 4] = [
        &|store| store.begin(&begun),
        &|store| store.add_trial(&whole.id, &odd),
        &|store| store.add_trial(&unknown.id, &odd),
        &|store| store.update(&unknown),
    ];
    for write in refused {
        let [failure, other] = stores.map(|store| answer(write(store)));
        assert_eq!(failure, other);
        assert!(failure.is_err());
    }
    assert_eq!(stores.map(|store| store.heads().unwrap().len()), [2, 2]);
}

#[test]
fn it_can_be_full_and_damaged() {
    let store = MemoryStore::default();
    let study = full();
    store.begin(&study).unwrap();
    store.limit(study.trials.len() + 1);
    store.add_trial(&study.id, &trial(8)).unwrap();
    assert_eq!(store.add_trial(&study.id, &trial(9)).unwrap_err().cause, Cause::NoSpace);
    store.set_damaged(true);
    assert!(store.load("latest").unwrap_err().happened.contains("damaged"));
    assert!(!store.figures(&study.id).unwrap().is_empty(), "only whole studies cannot be read");
    store.set_damaged(false);
    assert_eq!(store.load("latest").unwrap().trials.len(), study.trials.len() + 1);
}
