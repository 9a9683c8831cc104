//! Small files to NFS-Ganesha and smbd: many at a time beside one after the other, and beside smbclient
//! and rclone. Server and client share this machine, so what each client takes of the processor is shown, too.

use super::{copy_of, figure, median};
use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::Plimsoll;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_load::{Content, FileId, FileSet, Manifest, Span};
use plimsoll_model::{DataClass, GeneratedData, Measure, Method, Transfer};
use plimsoll_stats::interval::t_interval;
use plimsoll_testkit::servers::samba::{PASSWORD, USER};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Some 5600 files of a source tree: a tenth of a second is the least that one copy takes.
const SCALE: f64 = 0.1;
const SEED: u64 = 16;
const ROUNDS: u64 = 10;
/// Files that rclone copies at a time.
const TRANSFERS: &str = "16";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Server {
    Ganesha,
    Smbd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Client {
    Pipelined,
    AsRsync,
    Smbclient,
    Rclone,
}

/// One copy.
#[derive(Serialize, Deserialize)]
struct Case {
    round: u64,
    server: Server,
    client: Client,
    way: Transfer,
    seconds: f64,
    /// Of the client's process.
    cpu_seconds: f64,
    files: u64,
}

/// The servers, and the files that other programs copy.
struct Bench {
    program: Plimsoll,
    ganesha: Ganesha,
    smbd: Samba,
    /// Where the files lie, and where they are copied back to.
    from: PathBuf,
    back: PathBuf,
    files: u64,
    round: u64,
}

/// Writes the files that plimsoll generates into a directory; how many there are.
fn write_files(directory: &Path) -> u64 {
    let (count, mean_bytes) = DataClass::Source.files_and_mean_bytes();
    let class = DataClass::Source;
    let data = GeneratedData { class, count, mean_bytes, scale: SCALE, seed: SEED };
    let manifest = Manifest::new(&data.dataset(), &data).expect("a dataset");
    let mut places: Vec<PathBuf> = Vec::new();
    for number in 0..manifest.directories() {
        let above = manifest.parent(number).map_or(directory, |above| &places[above]);
        let place = above.join(format!("d{number:06}"));
        fs::create_dir(&place).expect("space");
        places.push(place);
    }
    const BLOCK: u32 = 4 << 20;
    let mut writer = Content::of_generated(SEED, true).writer(BLOCK);
    for number in 0..manifest.files() {
        let length = manifest.size(number) as u32;
        assert!(length <= BLOCK);
        let span = Span { file: FileId(0), offset: 0, length, generation: number as u32 };
        let path = places[manifest.directory_of(number)].join(format!("f{number:06}.c"));
        fs::write(path, writer.fill(&span)).expect("space");
    }
    manifest.files() as u64
}

/// Seconds of processor time of all children that have ended.
fn cpu_of_children() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it is counted");
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    micros as f64 / 1e6
}

impl Bench {
    /// All four ways of plimsoll to one server.
    fn plimsoll(&self, server: Server, url: &str) -> Vec<Case> {
        let (scale, seed) = (format!("--scale={SCALE}"), format!("--seed={SEED}"));
        let words = ["copy", url, "--dataset=source", &scale, &seed, "--only=up,down"];
        let more = ["--method=rsync,pipelined", "--repeats=1", "--baseline=0s", "--quiet"];
        self.program.run(&[&words[..], &more].concat()).expect(0);
        let study = self.program.latest();
        let case = |trial: &plimsoll_model::Trial| {
            let job = copy_of(&study, trial);
            assert_eq!(job.dataset.files, self.files, "the same files");
            let cpu = figure(trial, Measure::CLIENT_CPU_PER_BYTE).expect("it is counted");
            Case {
                round: self.round,
                server,
                client: match job.method {
                    Method::Pipelined { .. } => Client::Pipelined,
                    _ => Client::AsRsync,
                },
                way: job.transfer,
                seconds: figure(trial, Measure::ELAPSED).expect("it was done"),
                cpu_seconds: cpu * job.dataset.bytes.0 as f64,
                files: job.dataset.files,
            }
        };
        study.trials.iter().map(case).collect()
    }

    /// Another program's way to smbd and back; each is given its command for both ways.
    fn peer(&self, client: Client, up: Command, down: Command) -> Vec<Case> {
        let there = self.smbd.directory("films").expect("it is there").join("up");
        let _ = fs::remove_dir_all(&self.back);
        fs::create_dir(&self.back).expect("space");
        let mut cases = Vec::new();
        for (way, mut command) in [(Transfer::Up, up), (Transfer::Down, down)] {
            let before = cpu_of_children();
            let begun = Instant::now();
            let output = command.stdin(Stdio::null()).output().expect("the program starts");
            let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_of_children() - before);
            let copied = if way == Transfer::Up { &there } else { &self.back };
            let differ = Command::new("diff").arg("-r").args([&self.from, copied]).output();
            let differ = differ.expect("diff").stdout;
            assert!(
                output.status.success() && differ.is_empty(),
                "{command:?}: {}{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
                String::from_utf8_lossy(&differ)
            );
            let (round, server, files) = (self.round, Server::Smbd, self.files);
            cases.push(Case { round, server, client, way, seconds, cpu_seconds: cpu, files });
        }
        fs::remove_dir_all(there).expect("it is ours");
        cases
    }

    fn smbclient(&self) -> Vec<Case> {
        let command = |line: String| {
            let mut command = self.smbd.smbclient("films").expect("smbclient");
            command.arg("-c").arg(format!("prompt OFF; recurse ON; {line}"));
            command
        };
        let up = format!("mkdir up; cd up; lcd {}; mput *", self.from.display());
        let down = format!("cd up; lcd {}; mget *", self.back.display());
        self.peer(Client::Smbclient, command(up), command(down))
    }

    fn rclone(&self) -> Vec<Case> {
        let obscured = Command::new("rclone").args(["obscure", PASSWORD]).output().expect("rclone");
        let obscured = String::from_utf8(obscured.stdout).expect("letters");
        let port = self.smbd.port().to_string();
        let command = |from: &str, to: &str| {
            let mut command = Command::new("rclone");
            command.args(["copy", "--create-empty-src-dirs", "--transfers", TRANSFERS, from, to]);
            command.env("RCLONE_CONFIG", self.program.home().join("rclone.conf"));
            command.env("RCLONE_CONFIG_NAS_TYPE", "smb").env("RCLONE_CONFIG_NAS_USER", USER);
            command.env("RCLONE_CONFIG_NAS_HOST", "127.0.0.1").env("RCLONE_CONFIG_NAS_PORT", &port);
            command.env("RCLONE_CONFIG_NAS_PASS", obscured.trim());
            command
        };
        let [from, back] = [&self.from, &self.back].map(|path| path.to_str().expect("letters"));
        self.peer(Client::Rclone, command(from, "nas:films/up"), command("nas:films/up", back))
    }

    /// Every client once, another one first each time.
    fn round(&self) -> Vec<Case> {
        let mut turns: [&dyn Fn() -> Vec<Case>; 4] = [
            &|| self.plimsoll(Server::Ganesha, &self.ganesha.url("films")),
            &|| self.plimsoll(Server::Smbd, &self.smbd.url("films")),
            &|| self.smbclient(),
            &|| self.rclone(),
        ];
        turns.rotate_left(self.round as usize % 4);
        turns.iter().flat_map(|turn| turn()).collect()
    }
}

/// The table, with what was wanted.
fn show(cases: &[Case]) {
    println!(
        "\nfiles/s, and CPU seconds for 1000 files: medians; how much faster many at a time are"
    );
    for server in [Server::Ganesha, Server::Smbd] {
        for way in [Transfer::Up, Transfer::Down] {
            for client in [Client::Pipelined, Client::AsRsync, Client::Smbclient, Client::Rclone] {
                show_one(cases, (server, way), client);
            }
        }
    }
}

fn show_one(cases: &[Case], of: (Server, Transfer), client: Client) {
    let by =
        |client| cases.iter().filter(move |c| (c.server, c.way, c.client) == (of.0, of.1, client));
    let rates: Vec<f64> = by(client).map(|case| case.files as f64 / case.seconds).collect();
    let cpu = |case: &Case| 1e3 * case.cpu_seconds / case.files as f64;
    let cpu: Vec<f64> = by(client).map(cpu).collect();
    if rates.is_empty() {
        return;
    }
    let logs = by(client).filter_map(|other| {
        let mut same = by(Client::Pipelined).filter(|case| case.round == other.round);
        Some((other.seconds / same.next()?.seconds).ln())
    });
    let ratio = t_interval(&logs.collect::<Vec<_>>(), 0.95);
    let wanted = if client == Client::AsRsync { 3.0 } else { 1.0 };
    let ratio = match ratio.filter(|_| client != Client::Pipelined) {
        Some(ratio) => {
            let [low, at, high] = [ratio.low, ratio.estimate, ratio.high].map(f64::exp);
            let met = if low >= wanted { "met" } else { "NOT met" };
            format!("{at:.2} [{low:.2}–{high:.2}], wanted {wanted}: {met}")
        }
        None => String::new(),
    };
    println!(
        "{:8} {:5} {:10} {:7.0} files/s {:6.3} CPU s, {} copies  {ratio}",
        format!("{:?}", of.0),
        format!("{:?}", of.1),
        format!("{client:?}"),
        median(&rates),
        median(&cpu),
        rates.len(),
    );
}

#[test]
#[ignore = "takes minutes, and a quiet machine: make measure-copies"]
fn measure_copies_beside_other_programs() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba, Need::Smbclient, Need::Rclone);
    let until = Until::share(0.1);
    let mut kept = Kept::<Case>::open("copies-peers.jsonl");
    let ganesha = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let smbd = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let local = stage.tmpfs("/run/local", 1 << 30).unwrap();
    let [from, back] = ["from", "back"].map(|name| local.path().join(name));
    fs::create_dir(&from).unwrap();
    let files = write_files(&from);
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let mut bench = Bench { program, ganesha, smbd, from, back, files, round: 0 };
    // A round that was interrupted was not kept.
    bench.round = kept.cases.iter().map(|case| case.round + 1).max().unwrap_or(0);
    while bench.round < setting("PLIMSOLL_CASES", ROUNDS) && !until.is_over() {
        until_quiet();
        println!("round {}, load average {}", bench.round, load_average());
        bench.round().into_iter().for_each(|case| kept.add(case));
        bench.round += 1;
    }
    show(&kept.cases);
}
