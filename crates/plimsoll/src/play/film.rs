//! The film: one of those with a name, a rate, or the rate of a file over time.

use super::options::PlayArguments;
use crate::credentials;
use crate::signals::Signals;
use plimsoll_load::{
    FilmFile, Names, NoFilm, OpenOptions, SystemClock, TimeLimits, film_file, film_on_share,
};
use plimsoll_model::{
    Cause, Deadline, Failure, Film, Player, Target, suggested_url, without_password,
};
use plimsoll_stats::playback::{Buffer, made_film, required, worst_part};
use std::fmt::Display;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

/// Films by name, in Mbit/s. That of 1080p is the one of Puskas ("Router NFS performance benchmark", 2017).
const FILMS: [(&str, f64); 5] =
    [("1080p", 12.5), ("4k", 25.0), ("4k-50", 50.0), ("4k-80", 80.0), ("music", 1.5)];
/// Seconds of a film that are played, and those of a film that is made.
const PLAYED_SECONDS: usize = 600;
/// Longest time in which the index of a film is read over a network.
const INDEX_TIME: Duration = Duration::from_secs(120);
/// Rates of films, in bit/s.
const RATES: std::ops::RangeInclusive<f64> = 1e3..=1e11;

/// A rate in bytes per second: "25Mbit/s".
pub fn rate(text: &str) -> Result<f64, String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        _ => return Err(format!("'{text}' is not a rate; write it as 25Mbit/s or 300kbit/s")),
    };
    let bits = number.parse::<f64>().unwrap_or(f64::NAN) * factor;
    match RATES.contains(&bits) {
        true => Ok(bits / 8.0),
        false => Err(format!("'{text}' is not between 1 kbit/s and 100 Gbit/s")),
    }
}

/// The film that is asked for.
pub(super) fn film(play: &PlayArguments, player: &Player, seed: u64) -> Result<Film, Failure> {
    let named = FILMS.iter().find(|(name, _)| *name == play.film);
    let (name, rate) = match (play.rate, named) {
        (Some(rate), _) => ("film".to_owned(), rate),
        (None, Some((name, megabits))) => ((*name).to_owned(), megabits * 1e6 / 8.0),
        (None, None) => return of_file(play, player),
    };
    match play.variable {
        true => Ok(variable(name, made_film(seed, PLAYED_SECONDS, rate), rate, player)),
        false => Ok(Film::constant(name, rate)),
    }
}

/// The film of a file: its rate over time, or its mean rate.
fn of_file(play: &PlayArguments, player: &Player) -> Result<Film, Failure> {
    let given = &*without_password(&play.film);
    if play.variable {
        let happened = "--variable varies a constant rate, and a file has a rate of its own";
        return Err(no_film(given, happened, "Leave out --variable."));
    }
    let is_remote = !play.hosts.on.is_empty();
    let (name, found) = match play.film.split_once("://") {
        None => (play.film.clone(), in_file(&play.film, is_remote)?),
        Some(_) => match play.film.parse()? {
            Target::Directory(file) => {
                let path = file.path.display().to_string();
                let found = in_file(&path, is_remote)?;
                (path, found)
            }
            target => on_server(play, given, &target)?,
        },
    };
    let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
    if !RATES.contains(&(8.0 * found.mean_rate())) {
        let happened = format!("its mean rate is {} bytes per second", found.mean_rate());
        return Err(no_film(given, happened, &films()));
    }
    let seconds: Vec<f64> = found.second_bytes.iter().map(|bytes| *bytes as f64).collect();
    let film = match seconds.is_empty() {
        true => Film::constant("film", found.mean_rate()),
        false => variable("film".to_owned(), seconds, found.mean_rate(), player),
    };
    Ok(Film { file: Some(name), ..film })
}

fn no_film(given: &str, happened: impl Display, next: &str) -> Failure {
    let tried = "read the rate of the film";
    Failure::new(Cause::Usage, tried).on(format!("--film {given}")).happened(happened).next(next)
}

/// Which films there are.
fn films() -> String {
    let names: Vec<&str> = FILMS.iter().map(|(name, _)| *name).collect();
    format!(
        "Check the name of the file. Give a film in MP4 or Matroska, one of {}, or a rate such as --rate 25Mbit/s.",
        names.join(", ")
    )
}

/// What to do about a film that is not here, where targets are those of another host.
const ELSEWHERE: &str = "The film is read from this machine, also with --on. Give its URL, such as \
nfs://host/export/film.mkv.";

/// What a file of this machine says; `is_remote`: whether the load runs on another one.
fn in_file(path: &str, is_remote: bool) -> Result<FilmFile, Failure> {
    let refuse = |happened: String| {
        let next = suggested_url(path).map_or_else(films, |url| format!("Write it as {url}."));
        no_film(&without_password(path), happened, &next)
    };
    // Looked at before it is opened: opening a pipe waits for its other end.
    let file = match std::fs::metadata(path) {
        Err(error) if is_remote && suggested_url(path).is_none() => {
            return Err(no_film(&without_password(path), error, ELSEWHERE));
        }
        Err(error) => return Err(refuse(error.to_string())),
        Ok(found) if found.is_dir() => {
            let next = "Name a film in this directory.";
            return Err(no_film(&without_password(path), "it is a directory", next));
        }
        Ok(found) if !found.is_file() => return Err(refuse("it is not a regular file".to_owned())),
        Ok(_) => File::open(path).map_err(|error| refuse(error.to_string()))?,
    };
    film_file(file).map_err(refuse)
}

/// Name of a file on a server, and what it says: plimsoll's own client reads its index.
fn on_server(
    play: &PlayArguments,
    given: &str,
    target: &Target,
) -> Result<(String, FilmFile), Failure> {
    let Some((directory, name)) = target.file() else {
        let next = "Add the path of the film: nfs://host/export/film.mkv or smb://user@host/share/film.mkv.";
        return Err(no_film(given, "it names no file", next));
    };
    let signals = Signals::listen()?;
    let deadline = Deadline::new(Arc::new(SystemClock::new()), signals.stop.clone());
    deadline.give(INDEX_TIME);
    let options = OpenOptions {
        passwords: credentials::passwords(play.access.credentials.as_deref(), &signals),
        limits: TimeLimits::of_calls(play.how.timeout),
        names: Names::resolved_by(plimsoll_reach::names::resolve),
        file: Some(name.clone()),
        deadline,
        ..OpenOptions::default()
    };
    let share = plimsoll_load::open(&directory, &options);
    let share = share.map_err(|failure| signals.explain(failure))?;
    match film_on_share(&*share) {
        Ok(found) => Ok((name, found)),
        Err(NoFilm::NotAFilm(happened)) => Err(no_film(given, happened, &films())),
        Err(NoFilm::Unreadable(failure)) => Err(signals.explain(failure)),
    }
}

/// A film of variable rate: the rate that it needs, and the part of it that needs most.
fn variable(name: String, seconds: Vec<f64>, mean_rate: f64, player: &Player) -> Film {
    let (bytes, limit) = player.limits(mean_rate);
    let buffer = Buffer { bytes, seconds: Some(limit).filter(|limit| limit.is_finite()) };
    let required_rate = required(&seconds, buffer).unwrap_or(mean_rate).max(mean_rate);
    let part = worst_part(&seconds, buffer, PLAYED_SECONDS);
    let second_bytes = part.into_iter().map(|bytes| bytes.round() as u64).collect();
    Film { name, file: None, mean_rate, required_rate, second_bytes }
}
