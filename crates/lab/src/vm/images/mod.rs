//! What machines boot: images, made once from Debian's packages and kept.
//!
//! The cache holds a directory for each image, named after what it is made of: the versions of its
//! packages and this program's own part. A file `NAME.current` says which directory is used; after
//! a week the packages are asked for again. Whoever makes one holds a lock and puts the finished
//! directory in its place by a single rename.

mod make;

use crate::plan::Image;
use make::Recipe;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The environment variable that names another place for the images.
pub const CACHE_VARIABLE: &str = "PLIMSOLL_LAB_CACHE";

/// The environment variable that names another mirror of Debian's packages.
pub const MIRROR_VARIABLE: &str = "PLIMSOLL_LAB_MIRROR";
const MIRROR: &str = "http://deb.debian.org";

/// After so long the packages are asked for again.
const FRESH: Duration = Duration::from_secs(7 * 24 * 3600);

/// The images of this user.
#[derive(Debug)]
pub struct Images<'a> {
    cache: PathBuf,
    mirror: String,
    stop: &'a AtomicBool,
    /// Those that were looked through already.
    known: Mutex<BTreeMap<Image, Files>>,
}

/// The files of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The kernel.
    pub kernel: PathBuf,
    /// The archive that the kernel begins with.
    pub initrd: PathBuf,
    /// The root's file system, which all machines share; a small image is all in its initrd.
    pub root: Option<PathBuf>,
}

/// Nobody stops it.
static NEVER: AtomicBool = AtomicBool::new(false);

/// How often is looked whether it shall stop.
const TURN: Duration = Duration::from_millis(20);

impl Images<'_> {
    /// Those in `$PLIMSOLL_LAB_CACHE`, else in `$XDG_CACHE_HOME/plimsoll/lab` or
    /// `~/.cache/plimsoll/lab`.
    pub fn from_environment() -> Images<'static> {
        let path_in =
            |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = path_in(CACHE_VARIABLE).unwrap_or_else(|| {
            let home = || path_in("HOME").unwrap_or_else(|| "/root".into()).join(".cache");
            path_in("XDG_CACHE_HOME").unwrap_or_else(home).join("plimsoll/lab")
        });
        let mirror = std::env::var(MIRROR_VARIABLE).ok().filter(|value| !value.is_empty());
        let images = Images::at(cache);
        Images { mirror: mirror.unwrap_or(images.mirror), ..images }
    }

    /// Those in a directory, which is made when it is needed.
    pub fn at(cache: impl Into<PathBuf>) -> Images<'static> {
        let mirror = MIRROR.to_owned();
        Images { cache: cache.into(), mirror, stop: &NEVER, known: Mutex::default() }
    }

    /// The same with packages of another mirror.
    pub fn with_mirror(self, mirror: &str) -> Self {
        Images { mirror: mirror.to_owned(), ..self }
    }

    /// The same, but what takes long is given up once this is set.
    pub fn until(self, stop: &AtomicBool) -> Images<'_> {
        Images { cache: self.cache, mirror: self.mirror, stop, known: self.known }
    }

    pub(super) fn stop(&self) -> &AtomicBool {
        self.stop
    }

    /// Where they lie.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The files of an image; makes it if need be, which takes minutes. `progress` is called with what is
    /// done meanwhile.
    pub fn get(&self, image: Image, progress: &mut dyn FnMut(&str)) -> Result<Files, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = known.get(&image) {
            return Ok(files.clone());
        }
        let recipe = Recipe::for_image(image, &self.mirror);
        let files = Files::within(&self.find(&recipe, progress)?);
        known.insert(image, files.clone());
        Ok(files)
    }

    /// The files of an image that is here and whole; nothing is made or asked for.
    pub(crate) fn kept(&self, image: Image) -> Option<Files> {
        let recipe = Recipe::for_image(image, &self.mirror);
        let current = Current { path: self.cache.join(format!("{}.current", recipe.name())) };
        let kept = self.cache.join(current.read()?);
        (kept.join(recipe.stamp()).exists() && is_whole(&kept)).then(|| Files::within(&kept))
    }

    pub(super) fn failure(&self, tried: &str, error: &io::Error) -> Failure {
        let next = format!("Free space there, or name another directory with {CACHE_VARIABLE}.");
        Failure::new(Cause::NotPermitted, tried).on(self.cache.display()).happened(error).next(next)
    }

    fn find(&self, recipe: &Recipe, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, Failure> {
        let failed = |error| self.failure("store the images of machines", &error);
        fs::create_dir_all(&self.cache).map_err(failed)?;
        let lock = File::create(self.cache.join("lock")).map_err(failed)?;
        if lock.try_lock().is_err() {
            progress("waiting for another lab that builds images");
            while let Err(error) = lock.try_lock() {
                if let TryLockError::Error(error) = error {
                    return Err(failed(error));
                }
                if self.stop.load(Ordering::Relaxed) {
                    return Err(super::interrupted("its image"));
                }
                std::thread::sleep(TURN);
            }
        }
        let current = Current { path: self.cache.join(format!("{}.current", recipe.name())) };
        let kept = current.read().map(|name| self.cache.join(name));
        // Of the same recipe, and whole.
        let kept = kept.filter(|at| at.join(recipe.stamp()).exists() && is_whole(at));
        if let Some(kept) = &kept
            && current.is_fresh()
        {
            return Ok(kept.clone());
        }
        progress("checking for new packages");
        let versions = match recipe.versions(&self.cache, &lock, self.stop) {
            Ok(versions) => versions,
            Err(failure) if failure.cause == Cause::Interrupted => return Err(failure),
            Err(failure) => {
                let Some(kept) = kept else { return Err(failure) };
                progress("the package mirror is unreachable; using the existing image");
                return Ok(kept);
            }
        };
        let name = format!("{}-{:016x}", recipe.name(), fingerprint(&[&versions, recipe.stamp()]));
        let place = self.cache.join(&name);
        if !is_whole(&place) {
            progress("building an image from Debian's packages; this takes a minute or two");
            self.make(recipe, &place, &lock)?;
            self.clean(recipe, &name);
        }
        current.write(&name).map_err(failed)?;
        Ok(place)
    }

    fn make(&self, recipe: &Recipe, place: &Path, lock: &File) -> Result<(), Failure> {
        let failed = |error| self.failure("store the images of machines", &error);
        let making = self.cache.join("making");
        // Nobody else makes one now: left by somebody who was killed.
        remove(&making).map_err(failed)?;
        fs::create_dir_all(&making).map_err(failed)?;
        if let Err(failure) = recipe.make(&self.cache, &making, lock, self.stop) {
            // Made anew another time, whatever is left of it.
            let _ = remove(&making);
            return Err(failure);
        }
        fs::write(making.join(recipe.stamp()), "").map_err(failed)?;
        remove(place).map_err(failed)?;
        fs::rename(&making, place).map_err(failed)
    }

    /// Removes what is no longer used of the same image. Machines that run it keep their files.
    fn clean(&self, recipe: &Recipe, used: &str) {
        let prefix = format!("{}-", recipe.name());
        for entry in fs::read_dir(&self.cache).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let own = name.strip_prefix(&prefix).is_some_and(|rest| {
                rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit())
            });
            if own && name != used {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Files {
    fn within(directory: &Path) -> Files {
        let root = directory.join("root.ext4");
        Files {
            kernel: directory.join("vmlinuz"),
            initrd: directory.join("initrd"),
            root: root.exists().then_some(root),
        }
    }
}

/// The file that says which directory is used.
struct Current {
    path: PathBuf,
}

impl Current {
    fn read(&self) -> Option<String> {
        let name = fs::read_to_string(&self.path).ok()?.trim().to_owned();
        (!name.is_empty() && !name.contains(['/', '\0']) && name != "..").then_some(name)
    }

    fn is_fresh(&self) -> bool {
        let written = fs::metadata(&self.path).and_then(|about| about.modified()).ok();
        let age = written.and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age < FRESH)
    }

    fn write(&self, name: &str) -> io::Result<()> {
        let new = self.path.with_extension("new");
        fs::write(&new, format!("{name}\n"))?;
        fs::rename(new, &self.path)
    }
}

/// Whether the files in a directory are what they were when it was made. Reading them all takes
/// seconds, so those that were not touched since are taken for what they were then.
fn is_whole(directory: &Path) -> bool {
    let Some(now) = marks(directory) else { return false };
    let kept = directory.join("checked");
    if fs::read_to_string(&kept).is_ok_and(|before| before == now) {
        return true;
    }
    let whole = child::command("sha256sum")
        .args(["--check", "--status", "--strict", "sums"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if whole {
        // If it cannot be kept, it is checked again.
        let _ = fs::write(kept, now);
    }
    whole
}

/// Length and times of the files that `sums` names.
fn marks(directory: &Path) -> Option<String> {
    let sums = fs::read_to_string(directory.join("sums")).ok()?;
    let mut text = sums.clone();
    for name in sums.lines().filter_map(|line| line.split_whitespace().nth(1)) {
        let about = fs::metadata(directory.join(name)).ok()?;
        text.push_str(&format!(
            "{name} {} {} ({}, {}, {}, {})\n",
            about.len(),
            about.ino(),
            about.mtime(),
            about.mtime_nsec(),
            about.ctime(),
            about.ctime_nsec()
        ));
    }
    Some(text)
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The same for the same texts, in each version of this program (FNV-1a).
pub(crate) fn fingerprint(texts: &[&str]) -> u64 {
    texts
        .iter()
        .flat_map(|text| text.bytes().chain([0]))
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
