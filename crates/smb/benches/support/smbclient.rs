//! `smbclient`, Samba's own client.

use super::{Cost, Outcome, Protection, Server, cost_of_children};
use std::process::Stdio;

/// Runs commands of its own language; what they took, its start included.
pub fn run(server: &Server, port: u16, protection: Protection, commands: &str) -> Outcome<Cost> {
    let mut command = server.samba.smbclient(super::SHARE)?;
    // The last one counts: it may be a relay's.
    command.arg("-p").arg(port.to_string());
    command.arg(match protection {
        Protection::Signed => "--client-protection=sign",
        Protection::Encrypted => "--client-protection=encrypt",
    });
    command.arg("-c").arg(commands).stdin(Stdio::null());
    let (output, cost) = cost_of_children(|| Ok(command.output()?))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(format!("smbclient: {}", String::from_utf8_lossy(&said)).into());
    }
    Ok(cost)
}

/// As [`run`], without what its start and its login take.
pub fn run_alone(server: &Server, protection: Protection, commands: &str) -> Outcome<Cost> {
    let port = server.samba.port();
    let start = run(server, port, protection, "exit")?;
    let all = run(server, port, protection, commands)?;
    Ok(Cost { cpu: all.cpu - start.cpu, elapsed: all.elapsed - start.elapsed })
}
