//! The film: one of those with a name, a rate, or the rate of a file over time.

use super::PlayArguments;
use plimsoll_load::film_file;
use plimsoll_model::{Cause, Failure, Film, Player};
use plimsoll_stats::playback::{Buffer, made_film, required, worst_part};
use std::fs::File;

/// Films by name, in Mbit/s. That of 1080p is the one of Puskas ("Router NFS performance benchmark", 2017).
const FILMS: [(&str, f64); 5] =
    [("1080p", 12.5), ("4k", 25.0), ("4k-50", 50.0), ("4k-80", 80.0), ("music", 1.5)];
/// Seconds of a film that are played, and those of a film that is made.
const PLAYED_SECONDS: usize = 600;
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
        (None, None) => return of_file(&play.film, play.variable, player),
    };
    match play.variable {
        true => Ok(variable(name, made_film(seed, PLAYED_SECONDS, rate), rate, player)),
        false => Ok(Film::constant(name, rate)),
    }
}

/// The film of a file: its rate over time, or its mean rate.
fn of_file(path: &str, varied: bool, player: &Player) -> Result<Film, Failure> {
    let refuse = |happened: String| {
        let names: Vec<&str> = FILMS.iter().map(|(name, _)| *name).collect();
        let next = format!(
            "Check the name of the file. Give a film in MP4 or Matroska, one of {}, or a rate such as --rate 25Mbit/s.",
            names.join(", ")
        );
        let (tried, on) = ("read the rate of the film", format!("--film {path}"));
        Err(Failure::new(Cause::Usage, tried, on, happened, next))
    };
    if varied {
        return refuse("--variable makes a rate, and a file has its own".to_owned());
    }
    // Looked at before it is opened: opening a pipe waits for its other end.
    let file = match std::fs::metadata(path) {
        Err(error) => return refuse(error.to_string()),
        Ok(found) if !found.is_file() => return refuse("it is not a regular file".to_owned()),
        Ok(_) => match File::open(path) {
            Err(error) => return refuse(error.to_string()),
            Ok(file) => file,
        },
    };
    let found = match film_file(file) {
        Ok(found) => found,
        Err(happened) => return refuse(happened),
    };
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    if !RATES.contains(&(8.0 * found.mean_rate())) {
        return refuse(format!("its mean rate is {} bytes per second", found.mean_rate()));
    }
    let seconds: Vec<f64> = found.second_bytes.iter().map(|bytes| *bytes as f64).collect();
    let film = match seconds.is_empty() {
        true => Film::constant("film", found.mean_rate()),
        false => variable("film".to_owned(), seconds, found.mean_rate(), player),
    };
    Ok(Film { file: Some(name), ..film })
}

/// A film of variable rate: the rate that it needs, and the part of it that needs most.
fn variable(name: String, seconds: Vec<f64>, mean_rate: f64, player: &Player) -> Film {
    let (bytes, limit) = player.limits(mean_rate);
    let buffer = Buffer { bytes, seconds: Some(limit).filter(|limit| limit.is_finite()) };
    let required_rate = required(&seconds, buffer).unwrap_or(mean_rate).max(mean_rate);
    let part = worst_part(&seconds, buffer, PLAYED_SECONDS);
    let second_bytes = seconds[part].iter().map(|bytes| bytes.round() as u64).collect();
    Film { name, file: None, mean_rate, required_rate, second_bytes }
}
