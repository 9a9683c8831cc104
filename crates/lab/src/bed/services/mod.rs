//! Services on hosts: shell through [`Reach`](host::reach::Reach), and what it waits for.

pub(super) mod ganesha;
