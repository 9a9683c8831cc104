//! `plimsoll completions` and `plimsoll man`: from the definitions of the command line itself.

use crate::command_line::definition;
use crate::output;
use clap::Args;
use plimsoll_model::{Cause, Failure};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// Write a page for each command into this directory [default: print the main page]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Prints the completions for a shell.
pub fn completions(completions: &CompletionsArguments) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(completions.shell, &mut definition(), "plimsoll", &mut text);
    output::write(Path::new("-"), &String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// Prints the first manual page, or writes all of them into a directory: plimsoll.1, and a page
/// for each command.
pub fn man(man: &ManArguments) -> Result<u8, Failure> {
    let Some(directory) = &man.dir else {
        let mut text = Vec::new();
        let page = clap_mangen::Man::new(definition());
        page.render(&mut text).map_err(|e| failed("standard output", &e))?;
        output::write(Path::new("-"), &String::from_utf8_lossy(&text))?;
        return Ok(0);
    };
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(definition(), directory))
        .map_err(|e| failed(&directory.display().to_string(), &e))?;
    Ok(0)
}

fn failed(on: &str, error: &std::io::Error) -> Failure {
    let next = "Name a directory to which you may write.";
    Failure::new(Cause::NotPermitted, "write the manual pages").on(on).happened(error).next(next)
}
