//! `plimsoll lab` with virtual machines, as a user sees them. They are slow to boot where they are
//! emulated: `make check-machines`.

mod support;

mod machines {
    mod shipped;
}
