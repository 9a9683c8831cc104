//! mpv on a machine of a lab: it is taken there from this machine with its libraries, and plays raw films, whose
//! decoding costs nothing, from a mount.

use crate::support::beds::Beds;
use serde::{Deserialize, Serialize};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("../players/film.lua");
/// Where it is on a machine: a disk, as the root of a machine is memory.
pub const TOOLS: &str = "/srv/tools";
/// Lines of the film, and bytes of a pixel (I420). Its width and the rate of its frames make its rate: near 24 frames a
/// second, as films have, because mpv takes whole frames ahead.
const HEIGHT: u32 = 128;
const PIXEL_BYTES: f64 = 1.5;
const FRAMES_PER_SECOND: f64 = 24.0;
/// The limits of its cache, as plimsoll's preset of mpv has them. All else is as mpv has it by itself; the cache is what
/// mpv has for files of a mount.
const CACHE: &str = "--cache=yes --cache-secs=1 --demuxer-readahead-secs=1 --demuxer-max-bytes=150MiB \
                     --stream-buffer-size=128KiB";

/// What mpv shows of a film.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Seconds from opening the film to its first frame.
    pub first_frame: Option<f64>,
    /// Stalls (`paused-for-cache`), and the longest in seconds.
    pub stalls: Option<u64>,
    pub longest: f64,
    /// Why it has failed.
    pub failed: String,
}

/// The program: that of `PLIMSOLL_MPV`, or in the search path.
///
/// # Panics
///
/// If there is none.
fn program() -> PathBuf {
    if let Some(given) = env::var_os("PLIMSOLL_MPV") {
        return given.into();
    }
    let places = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&places).map(|place| place.join("mpv")).find(|mpv| mpv.is_file());
    let missing = "mpv is missing: install it (apt-get install mpv), or name it in PLIMSOLL_MPV";
    found.expect(missing)
}

/// Takes mpv, its libraries and its script to a machine.
pub fn install(beds: &Beds, client: &str) {
    let program = program();
    let listed = Command::new("ldd").arg(&program).output().expect("ldd");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    // "libc.so.6 => /lib/…/libc.so.6 (0x…)", and of the loader the path alone.
    let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
    let mut tar = Command::new("tar")
        .args(["-c", "-h", "-P", "-f", "-", "--transform", "s,.*/,,"])
        .arg(&program)
        .args(libraries)
        .stdout(Stdio::piped())
        .spawn()
        .expect("tar");
    let files = tar.stdout.take().expect("a pipe");
    let words = ["lab", "exec", client, "--", "tar", "-x", "-C", TOOLS, "-f", "-"];
    let unpacked = beds.program.command(&words).stdin(files).status().expect("the program starts");
    let packed = tar.wait().expect("tar ends");
    assert!(packed.success() && unpacked.success(), "mpv is copied to {client}");
    // The name of the program may be another one.
    let name = program.file_name().expect("a file").to_string_lossy().into_owned();
    beds.on(
        client,
        &format!(
            "cd {TOOLS} || exit 1; test {name} = mpv || mv {name} mpv
             cat >film.lua <<'.'\n{SCRIPT}\n.\n{} --version | head -n 1",
            command()
        ),
    );
}

/// mpv with the libraries that came with it.
fn command() -> String {
    format!("HOME=/run {TOOLS}/ld-linux-x86-64.so.2 --library-path {TOOLS} {TOOLS}/mpv --no-config")
}

/// A file that ends a film once it exists.
pub const STOP: &str = "/run/mpv.stop";

/// A line of shell that plays a film of this rate, in bytes per second, for so many seconds from its first frame on, or
/// until there is [`STOP`].
pub fn line(film: &str, rate: f64, seconds: f64) -> String {
    let pixels = rate / FRAMES_PER_SECOND / PIXEL_BYTES / f64::from(HEIGHT);
    // Even, as the two parts of its colours have a pixel for four.
    let width = 2 * (pixels / 2.0).round().max(8.0) as u32;
    let frames = rate / (PIXEL_BYTES * f64::from(width) * f64::from(HEIGHT));
    format!(
        "{} --idle=yes --no-terminal --osc=no --ytdl=no --vo=null --ao=null --audio=no {CACHE} \
         --demuxer=rawvideo --demuxer-rawvideo-w={width} --demuxer-rawvideo-h={HEIGHT} \
         --demuxer-rawvideo-fps={frames:.6} --script={TOOLS}/film.lua \
         --script-opts=film-path={film},film-seconds={seconds:.0},film-stop={STOP}",
        command()
    )
}

/// What the script has said.
pub fn observed(said: &str) -> Observed {
    let mut observed = Observed::default();
    for line in said.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["first", seconds] => observed.first_frame = seconds.parse().ok(),
            ["stalls", stalls, "longest", longest] => {
                observed.stalls = stalls.parse().ok();
                observed.longest = longest.parse().unwrap_or(f64::NAN);
            }
            ["failed", ..] => line.clone_into(&mut observed.failed),
            _ => {}
        }
    }
    if observed.stalls.is_none() && observed.failed.is_empty() {
        observed.failed = format!("mpv says: {}", said.trim());
    }
    observed
}

/// Plays a film on a machine, and what was seen.
pub fn play(beds: &Beds, client: &str, film: &str, rate: f64, seconds: f64) -> Observed {
    let line =
        format!("echo 3 >/proc/sys/vm/drop_caches; {} 2>&1; true", line(film, rate, seconds));
    observed(&beds.on(client, &line))
}
