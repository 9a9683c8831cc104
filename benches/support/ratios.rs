//! What rounds of a trial and two runs of the peer say: medians of ratios, and how far single
//! pairs spread.

use plimsoll_model::{Measure, Metric, PartResult};
use plimsoll_stats::interval::t_interval;
use std::error::Error;
use std::fmt;

/// How far two programs may differ and still count as equal.
const MARGIN: f64 = 0.05;

/// What one trial or run came to.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Bytes per second, both directions together.
    pub throughput: f64,
    /// Median latency in seconds.
    pub p50: f64,
    /// CPU time of the client in seconds for a byte.
    pub cpu: f64,
}

impl Figures {
    /// Of a trial of ours.
    pub fn of(result: &PartResult) -> Result<Figures, String> {
        let figure = |measure| {
            let figure = result.quantities.get(&Metric::all(measure)).copied();
            figure.ok_or_else(|| format!("too few operations for {measure:?}"))
        };
        Ok(Figures {
            throughput: figure(Measure::THROUGHPUT)?,
            p50: figure(Measure::LATENCY_P50)?,
            cpu: figure(Measure::CLIENT_CPU_PER_BYTE)?,
        })
    }
}

/// One trial of ours and two runs of the peer, close in time.
pub struct Round {
    ours: Figures,
    peer: Figures,
    peer_again: Figures,
}

impl Round {
    /// Measures in an order that changes with the number of the round, so that neither side is
    /// always first and each has been next to the other.
    pub fn run(
        number: usize,
        mut ours: impl FnMut() -> Result<Figures, Box<dyn Error>>,
        mut peer: impl FnMut() -> Result<Figures, Box<dyn Error>>,
    ) -> Result<Round, Box<dyn Error>> {
        Ok(match number % 4 {
            0 => Round { ours: ours()?, peer: peer()?, peer_again: peer()? },
            1 => Round { peer: peer()?, ours: ours()?, peer_again: peer()? },
            2 => Round { peer_again: peer()?, peer: peer()?, ours: ours()? },
            _ => Round { peer_again: peer()?, ours: ours()?, peer: peer()? },
        })
    }
}

/// Ratios of pairs, sorted.
struct Ratios(Vec<f64>);

impl Ratios {
    fn of(ratios: impl Iterator<Item = f64>) -> Ratios {
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        Ratios(ratios)
    }

    /// Below what this share of the pairs lies, between neighbours by a straight line.
    fn quantile(&self, share: f64) -> f64 {
        let place = share * self.0.len().saturating_sub(1) as f64;
        let value = |i: f64| self.0.get(i as usize).copied().unwrap_or(f64::NAN);
        let (low, high) = (value(place.floor()), value(place.ceil()));
        low + (high - low) * place.fract()
    }

    fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}

impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = [0.05, 0.95].map(|share| self.quantile(share));
        write!(f, "{:.3} ({low:.2} to {high:.2})", self.median())
    }
}

/// Says how to read what [`print`] prints.
pub fn print_legend() {
    println!(
        "ratios plimsoll/peer: medians of pairs, and where 90% of the pairs lie; latencies of fio \
         have steps of 1.6%"
    );
}

/// Prints a case: throughput and median latency of both, their ratio, and the peer's with itself.
pub fn print(name: &str, rounds: &[Round]) {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{name} (load average {})", load.split(' ').next().unwrap_or_default());
    line("throughput", "MB/s", 1e-6, rounds, |figures| figures.throughput);
    line("latency p50", "µs", 1e6, rounds, |figures| figures.p50);
}

/// How far a client is to be from the peer.
#[derive(Clone, Copy)]
pub struct Goal {
    /// Its CPU time for a byte as a ratio: at most.
    pub cpu: f64,
    /// The lower end of the 95% interval of the ratio of throughputs: at least.
    pub throughput: f64,
}

/// Prints a case beside what is wanted: medians of ratios of CPU time, and throughput with its interval.
pub fn print_beside(name: &str, rounds: &[Round], goal: Goal) {
    println!("{name}");
    line("client CPU", "s/GB", 1e9, rounds, |figures| figures.cpu);
    line("throughput", "MB/s", 1e-6, rounds, |figures| figures.throughput);
    let cpu = Ratios::of(rounds.iter().map(|r| r.ours.cpu / r.peer.cpu)).median();
    let logs: Vec<f64> =
        rounds.iter().map(|r| (r.ours.throughput / r.peer.throughput).ln()).collect();
    let lower = t_interval(&logs, 0.95).map_or(f64::NAN, |interval| interval.low.exp());
    let met = |yes: bool| if yes { "met" } else { "NOT met" };
    println!(
        "  client CPU {cpu:.3} x (goal <= {}: {}), throughput at least {lower:.3} x with 95% confidence \
         (goal >= {}: {})",
        goal.cpu,
        met(cpu <= goal.cpu),
        goal.throughput,
        met(lower >= goal.throughput)
    );
}

fn line(what: &str, unit: &str, factor: f64, rounds: &[Round], of: fn(&Figures) -> f64) {
    let [ours, peer] = [|r: &Round| r.ours, |r: &Round| r.peer]
        .map(|side| Ratios::of(rounds.iter().map(|r| of(&side(r)) * factor)).median());
    let against = Ratios::of(rounds.iter().map(|r| of(&r.ours) / of(&r.peer)));
    let itself = Ratios::of(rounds.iter().map(|r| of(&r.peer_again) / of(&r.peer)));
    println!(
        "  {what:<12} plimsoll {ours:>9.2} {unit}, peer {peer:>9.2} {unit}: ratio {against}; peer \
         with itself {itself}: {}",
        verdict(against.median(), &itself)
    );
}

fn verdict(ratio: f64, itself: &Ratios) -> String {
    if (1.0 / (1.0 + MARGIN)..=1.0 + MARGIN).contains(&ratio) {
        "within 5%".to_owned()
    } else if (itself.quantile(0.05)..=itself.quantile(0.95)).contains(&ratio) {
        "inside the peer's own band".to_owned()
    } else {
        let direction = if ratio > 1.0 { "above" } else { "below" };
        format!("OUTSIDE, {:.1}% {direction} the peer", (ratio - 1.0).abs() * 100.0)
    }
}
