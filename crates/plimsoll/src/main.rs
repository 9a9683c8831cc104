//! The command line and glue: arguments become values, values become calls, outcomes become exit
//! codes. Everything that thinks lives in the other crates.
#![forbid(unsafe_code)]

#[cfg(test)]
mod advice;
mod advise;
mod arguments;
mod check;
mod clean;
mod clock;
mod command_line;
mod copy;
mod credentials;
mod demo;
mod device;
mod explain;
mod forgotten;
mod gate;
mod history;
mod hosts;
mod import;
mod jobs;
mod lab;
mod manual;
mod net;
mod ops;
mod output;
mod plan;
mod play;
mod predict;
mod predictions;
mod public;
mod reboot;
mod references;
mod report;
mod restore;
mod resume;
mod run;
mod serve;
mod settings;
mod signals;
mod store;
mod trace;

use clap::FromArgMatches;
use command_line::{Arguments, Command, definition_for, expect_targets, expect_unchanged, refusal};
use plimsoll_model::{Cause, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    output::complain_of_panics();
    let mut command = String::new();
    let first_word = std::env::args_os().nth(1);
    let parsed = definition_for(first_word.as_deref()).try_get_matches().and_then(|matches| {
        command = matches.subcommand_name().unwrap_or_default().to_owned();
        expect_targets(&matches)?;
        expect_unchanged(&matches)?;
        Arguments::from_arg_matches(&matches)
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            // It repeats what it was given, which may come from a directory's names.
            output::complain(&refusal(&error, first_word.as_deref()));
            return ExitCode::from(Cause::Usage.exit_code());
        }
        Err(help) => help.exit(),
    };
    let outcome = match arguments.command {
        Command::Check(check) => check::run(&check, &arguments.store),
        Command::Copy(copy) => copy::run(&copy, &arguments.store),
        Command::Ops(ops) => ops::run(&ops, &arguments.store),
        Command::Run(plan) => run::run(&plan, &arguments.store),
        Command::Device(device) => device::run(&device, &arguments.store),
        Command::Clock(clock) => clock::run(&clock, &arguments.store),
        Command::Net(net) => net::run(&net, &arguments.store),
        Command::Trace(trace) => trace::run(&trace, &arguments.store),
        Command::Play(play) => play::run(&play, &arguments.store),
        Command::Lab(lab) => lab::run(&lab),
        Command::List => store::list(&arguments.store),
        Command::History(history) => history::run(&history, &arguments.store),
        Command::Show(show) => store::show(&show, &arguments.store),
        Command::Compare(compare) => store::compare(&compare, &arguments.store),
        Command::Explain(explain) => explain::run(&explain, &arguments.store),
        Command::Advise(advise) => advise::run(&advise, &arguments.store),
        Command::Predict(predict) => predict::run(&predict, &arguments.store),
        Command::References(references) => references::run(&references),
        Command::Export(export) => store::export(&export, &arguments.store),
        Command::Report(report) => report::run(&report, &arguments.store),
        Command::Import(import) => import::run(&import, &arguments.store),
        Command::Serve(serve) => serve::run(&serve, &arguments.store),
        Command::Clean(clean) => clean::run(&clean),
        Command::Restore(restore) => restore::run(&restore),
        Command::Demo(demo) => demo::run(&demo, &arguments.store),
        Command::Completions(completions) => manual::completions(&completions),
        Command::Man(man) => manual::man(&man),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => fail(failure, &command),
    }
}

fn fail(mut failure: Failure, command: &str) -> ExitCode {
    failure.next = plimsoll_model::advice::for_command(&failure.next, command);
    output::complain(&format!("plimsoll: {failure}"));
    ExitCode::from(failure.cause.exit_code())
}
