//! `plimsoll lab`: labs of namespaces, as a user sees them.

mod support;
