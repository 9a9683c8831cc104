//! NFS-Ganesha, a server in user space: NFS 3 and 4 over TCP, exports of real directories and of
//! memory. Needs [`crate::Need::Ganesha`].

mod config;

use super::files::{make_directory, open_to_all, own_directory, tail, write};
use super::process::Process;
use crate::stage::{Mount, Stage};
use crate::{Error, program};
pub use config::{Access, Backend, Export, GaneshaConfig, Squash};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fs;
use std::path::{Path, PathBuf};

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
    /// Starts a server and waits until it serves.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(stage: &Stage, config: GaneshaConfig) -> Result<Self, Error> {
        let directory = own_directory("ganesha")?;
        make_directory(&directory.join("recovery"))?;
        let mut exports = Vec::new();
        for export in &config.exports {
            if let Backend::Directory { bytes } = export.backend {
                exports.push(stage.tmpfs(export.path(), bytes)?);
                // AUTH_SYS clients come as any user.
                open_to_all(&export.path())?;
            }
        }
        let mut server = Self { config, directory, process: None, exports };
        server.launch()?;
        Ok(server)
    }

    fn launch(&mut self) -> Result<(), Error> {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let [file, log, pid] = ["ganesha.conf", "ganesha.log", "ganesha.pid"].map(path);
        write(Path::new(&file), &self.config.text(&self.directory))?;
        // The log of an earlier run would announce readiness at once.
        let _ = fs::remove_file(&log);
        let program = program::locate("ganesha.nfsd")?;
        let program = program.to_string_lossy();
        let words = [&program, "-F", "-N", "EVENT", "-f", &file, "-L", &log, "-p", &pid];
        let process = Process::start("ganesha.nfsd", &[], &words, &[], self.logs())?;
        let serves = || {
            let log = fs::read(&log).unwrap_or_default();
            String::from_utf8_lossy(&log).contains("NFS SERVER INITIALIZED")
        };
        self.process = Some(process.ready(serves)?);
        Ok(())
    }

    /// Stops it in an orderly way (SIGTERM), which takes a second or two.
    pub fn stop(&mut self) -> Result<(), Error> {
        match self.process.take() {
            Some(process) => process.terminate(),
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

    /// The same, and it has forgotten which clients of version 4 it had.
    pub fn restart_without_clients(&mut self) -> Result<(), Error> {
        self.kill();
        let recovery = self.directory.join("recovery");
        fs::remove_dir_all(&recovery)
            .map_err(Error::when("cannot remove what ganesha recovers"))?;
        make_directory(&recovery)?;
        self.launch()
    }

    /// The same with this largest READ and WRITE in bytes.
    pub fn restart_with(&mut self, largest_transfer: u32) -> Result<(), Error> {
        self.config.largest_transfer = Some(largest_transfer);
        self.restart()
    }

    /// Makes it fall silent (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) -> Result<(), Error> {
        self.running()?.freeze()
    }

    /// Lets it go on after [`Ganesha::freeze`].
    pub fn thaw(&self) -> Result<(), Error> {
        self.running()?.thaw();
        Ok(())
    }

    fn running(&self) -> Result<&Process, Error> {
        self.process.as_ref().ok_or_else(|| Error::new("ganesha does not run"))
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref()?.id()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&self.logs())
    }

    fn logs(&self) -> Vec<PathBuf> {
        ["ganesha.out", "ganesha.log"].map(|name| self.directory.join(name)).into()
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
