//! fio in a machine of a lab, writing as plimsoll does.

use crate::support::beds::Beds;
use plimsoll_reach::Reach;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How it runs there: that of this machine, with the libraries and the loader of this machine's.
const FIO: &str = "/srv/tools/loader --library-path /srv/tools /srv/tools/fio";
/// As plimsoll has by default: workers, each with one operation of 1 MiB in flight, O_DIRECT, by pwrite.
const WORKERS: u32 = 4;
/// How long it is measured, in seconds.
const RUNTIME: u32 = 60;
const PATIENCE: Duration = Duration::from_secs(1200);

/// fio in a directory of a machine, where it has a file for each worker.
pub struct Fio {
    host: Arc<dyn Reach>,
    at: &'static str,
    /// Of each file, in MiB.
    size: u32,
    ramp: u32,
}

impl Fio {
    /// Brings it to a machine that has a disk at /srv/tools, and lays its files out, of so many MiB
    /// together. It will write for `ramp` seconds before it is measured, without a pause.
    pub fn install(beds: &Beds, host: &str, at: &'static str, size: u32, ramp: u32) -> Fio {
        let fio = Fio { host: beds.reach(host), at, size: size / WORKERS, ramp };
        let pack = "cd $(mktemp -d) && program=$(command -v fio) && \
                    cp -L $program $(ldd $program | grep -o '/[^ ]*') . && mv ld-linux* loader && \
                    tar -czf - * && rm -r \"$PWD\"";
        let packed = Command::new("sh").args(["-c", pack]).output().expect("a shell");
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
        fio.on_host(&format!("tar -C /srv/tools -xzf - && {FIO} --version"), &packed.stdout);
        let lay_out = "dd if=/dev/urandom of=fio.$n bs=1M conv=fsync";
        let files = (0..WORKERS).map(|n| format!(" {n}")).collect::<String>();
        let size = fio.size;
        let all = format!("cd {at} && for n in{files}; do {lay_out} count={size} || exit 1; done");
        fio.on_host(&all, &[]);
        fio
    }

    fn on_host(&self, line: &str, input: &[u8]) -> String {
        let ran = self.host.run(line, input, PATIENCE).expect("the machine is up");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(ran.status, Some(0), "{line}: {}{}", text(&ran.output), text(&ran.errors));
        text(&ran.output)
    }

    /// What it comes to in bytes per second: what it wrote after its ramp, by the machine's monotonic
    /// clock from the ramp's end until its last job has ended, with the final fsync. fio itself sends
    /// what its commands write elsewhere.
    pub fn run(&self) -> f64 {
        let Fio { at, size, ramp, .. } = self;
        let line = format!(
            "cd /run && rm -f begun ended; {FIO} --name=writes --directory={at} \
             --filename_format='fio.$jobnum' --filesize={size}M --numjobs={WORKERS} --thread \
             --group_reporting --rw=write --bs=1M --direct=1 --ioengine=psync --iodepth=1 \
             --time_based --ramp_time={ramp} --runtime={RUNTIME} --end_fsync=1 --eta=never \
             --disk_util=0 --exec_prerun='sh -c \"cat /proc/uptime >>/run/begun\"' \
             --exec_postrun='sh -c \"cat /proc/uptime >>/run/ended\"' --output-format=json \
             --output=/run/fio.json >&2 && cat begun && echo && cat ended && echo && cat fio.json"
        );
        let out = self.on_host(&line, &[]);
        let mut parts = out.splitn(3, "\n\n");
        let mut times = || -> Vec<f64> {
            let lines = parts.next().unwrap_or_default().lines();
            lines.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
        };
        let (begun, ended) = (times(), times());
        assert_eq!((begun.len(), ended.len()), (WORKERS as usize, WORKERS as usize), "{out}");
        // Before it stand notes.
        let json = parts.next().and_then(|text| text.get(text.find('{')?..)).expect("a document");
        let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let job = &json["jobs"][0];
        assert_eq!(job["error"], 0, "{out}");
        let bytes = job["write"]["io_bytes"].as_f64().unwrap();
        let first = begun.into_iter().fold(f64::INFINITY, f64::min);
        let last = ended.into_iter().fold(0.0, f64::max);
        bytes / (last - first - f64::from(*ramp))
    }
}
