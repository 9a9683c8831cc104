//! The command line as a whole: the commands that there are.

use crate::arguments::{
    CheckArguments, CleanArguments, CompareArguments, CompletionsArguments, DemoArguments,
    ExportArguments, ImportArguments, ManArguments, ReportArguments, ServeArguments, ShowArguments,
    StoreArguments,
};
use crate::copy::CopyArguments;
use crate::device::DeviceArguments;
use crate::explain::ExplainArguments;
use crate::lab::LabArguments;
use crate::ops::OpsArguments;
use crate::references::ReferencesArguments;
use crate::restore::RestoreArguments;
use crate::run::RunArguments;
use clap::{Parser, Subcommand};

/// Measures how much network storage can carry, compares configurations honestly, and says what
/// the figures do and do not show.
#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub store: StoreArguments,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a trial failed or results are partial; 2 usage; \
3 unreachable; 4 authentication; 5 no such export, share or directory, or not permitted; 6 no space; \
130 interrupted; 143 terminated.";

#[derive(Subcommand)]
pub enum Command {
    /// How fast is this share, or which of these is faster?
    Check(Box<CheckArguments>),
    /// How long do films, music, pictures, a source tree or your own files take, to the share and back?
    Copy(Box<CopyArguments>),
    /// What does one operation cost, of each kind, by its size and with several in flight?
    #[command(after_help = crate::ops::EXAMPLES)]
    Ops(Box<OpsArguments>),
    /// A plan: any matrix of targets, jobs and settings, applied and put back
    Run(Box<RunArguments>),
    /// What is this box, and what can its processor, memory, cryptography and disk do?
    Device(Box<DeviceArguments>),
    /// A test bed in a box: hosts in namespaces or virtual machines
    Lab(LabArguments),
    /// The studies in the store
    List,
    /// The results of a study again
    Show(ShowArguments),
    /// Two studies side by side, or one beside published figures
    Compare(CompareArguments),
    /// What limits a study, or what published tables show
    Explain(ExplainArguments),
    /// Figures that others published
    References(ReferencesArguments),
    /// A study as JSON or CSV
    Export(ExportArguments),
    /// A study as a page to keep, send or print; several studies as a trend
    Report(ReportArguments),
    /// Results of fio, or of another plimsoll, into the store
    Import(ImportArguments),
    /// A page in the browser: the studies in the store, and runs under way as they go
    Serve(ServeArguments),
    /// Remove leftover test files of runs that died
    Clean(CleanArguments),
    /// Put back the settings of hosts that killed runs left changed
    Restore(RestoreArguments),
    /// A first look without a server: one inside the program against itself from 1 ms further away
    Demo(DemoArguments),
    /// Completions of the command line for a shell, to standard output
    Completions(CompletionsArguments),
    /// The manual pages
    Man(ManArguments),
}
