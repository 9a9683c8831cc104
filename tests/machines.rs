//! `plimsoll lab` with virtual machines, as a user sees them. They are slow to boot where they are
//! emulated: `make check-machines`.

mod support;

mod machines {
    pub mod disks;
    pub mod inside;
    mod shipped;
}

use lab::Need;
use machines::{disks, inside};
use support::beds::Beds;

/// One machine, and all that is asked of it.
#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_machine_has_disks_and_a_terminal() {
    if !lab::available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", &beds.file("disks", disks::LAB)]).expect(0);
    let traces = beds.traces("disks");
    disks::latencies(&beds);
    disks::rates(&beds);
    disks::encryption(&beds);
    disks::no_disk_at_all(&beds);
    inside::streams(&beds);
    inside::a_shell_has_a_terminal(&beds);
    inside::a_closed_terminal_ends_its_shell(&beds);
    beds.lab(&["down", "disks"]).expect(0);
    traces.are_gone();
}
