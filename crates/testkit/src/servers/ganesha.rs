//! NFS-Ganesha, a server in user space: NFS 3 and 4 over TCP, exports of real directories and of
//! memory. Needs [`crate::Need::Ganesha`].

mod config;
mod process;

use crate::stage::{Mount, Stage};
use crate::{Error, program};
pub use config::{Access, Backend, Export, GaneshaConfig, Squash};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use process::Process;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What a path keeps unescaped in a URL (RFC 3986, section 2.3, and the slash).
const IN_A_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A running NFS-Ganesha on a stage. Everything it keeps lies on the stage's own `/run`; dropping
/// it kills the server.
#[derive(Debug)]
pub struct Ganesha {
    config: GaneshaConfig,
    directory: PathBuf,
    process: Option<Process>,
    // Last, so that the server is gone before its exports are unmounted.
    exports: Vec<Mount>,
}

impl Ganesha {
    /// How long a start or an orderly stop may take.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Starts a server and waits until it serves.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(stage: &Stage, config: GaneshaConfig) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = PathBuf::from(format!("/run/ganesha-{number}"));
        fs::create_dir_all(directory.join("recovery"))
            .map_err(Error::when(format_args!("cannot make {}", directory.display())))?;
        let mut exports = Vec::new();
        for export in &config.exports {
            if let Backend::Directory { bytes } = export.backend {
                exports.push(stage.tmpfs(export.path(), bytes)?);
                open_to_all(&export.path())?;
            }
        }
        let mut server = Self { config, directory, process: None, exports };
        server.launch()?;
        Ok(server)
    }

    fn launch(&mut self) -> Result<(), Error> {
        let file = self.directory.join("ganesha.conf");
        fs::write(&file, self.config.text(&self.directory))
            .map_err(Error::when(format_args!("cannot write {}", file.display())))?;
        let program = program::locate("ganesha.nfsd")?;
        let process = Process::start(&program, &self.directory)?;
        self.process = Some(process.ready(Self::PATIENCE)?);
        Ok(())
    }

    /// Stops it in an orderly way (SIGTERM), which takes a second or two.
    pub fn stop(&mut self) -> Result<(), Error> {
        match self.process.take() {
            Some(process) => process.terminate(Self::PATIENCE),
            None => Ok(()),
        }
    }

    /// Kills it (SIGKILL), as a crash or a power cut would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Kills it if it runs, and starts it again with the same exports. Files in directories stay;
    /// those in memory are lost.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        self.launch()
    }

    /// Makes it fall silent (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) -> Result<(), Error> {
        self.running()?.freeze()
    }

    /// Lets it go on after [`Ganesha::freeze`].
    pub fn thaw(&self) -> Result<(), Error> {
        self.running()?.thaw()
    }

    fn running(&self) -> Result<&Process, Error> {
        self.process.as_ref().ok_or_else(|| Error::new("ganesha does not run"))
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        process::log_tail(&self.directory)
    }

    /// Where the files of an export lie on this stage; `None` for one in memory or unknown.
    pub fn directory(&self, export: &str) -> Option<&Path> {
        let path = self.export(export)?.path();
        self.exports.iter().map(Mount::path).find(|mounted| *mounted == path)
    }

    fn export(&self, name: &str) -> Option<&Export> {
        self.config.exports.iter().find(|export| export.name == name)
    }

    /// The export's path in URLs, escaped. An unknown name gives a path that does not exist,
    /// which is what a test of wrong exports wants.
    fn path_in_url(&self, export: &str) -> String {
        let path = self.export(export).map_or_else(|| Export::memory(export).path(), Export::path);
        utf8_percent_encode(&path.to_string_lossy(), IN_A_PATH).to_string()
    }

    /// The URL of an export for plimsoll; the ports are asked of the portmapper.
    pub fn url(&self, export: &str) -> String {
        format!("nfs://127.0.0.1{}", self.path_in_url(export))
    }

    /// The same with explicit ports; no portmapper is asked.
    pub fn url_with_ports(&self, export: &str) -> String {
        let (nfs, mount) = (self.config.nfs_port, self.config.mount_port);
        format!("nfs://127.0.0.1:{nfs}{}?mountport={mount}", self.path_in_url(export))
    }

    /// The URL of a file of an export for the tools of libnfs, NFS 3, ports asked of the
    /// portmapper. libnfs takes paths as they are, without escapes.
    pub fn libnfs_url(&self, export: &str, file: &str) -> String {
        let path = self.export(export).map_or_else(|| Export::memory(export).path(), Export::path);
        format!("nfs://127.0.0.1{}/{file}?version=3", path.display())
    }

    /// The port of NFS.
    pub fn nfs_port(&self) -> u16 {
        self.config.nfs_port
    }

    /// The port of MOUNT.
    pub fn mount_port(&self) -> u16 {
        self.config.mount_port
    }
}

/// Lets every user write there, as AUTH_SYS clients of any uid come.
fn open_to_all(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))
        .map_err(Error::when(format_args!("cannot open {} to all", path.display())))
}
