//! Network interfaces, and what stands between a packet and its socket.

use super::facts::facts;

facts! {
    /// Network interfaces, and what holds for all of them.
    pub struct Nics {
        /// The interfaces.
        pub nics: Vec<Nic>,
        /// TCP's congestion control.
        pub congestion_control: Option<String>,
        /// The default queueing discipline.
        pub default_queue_discipline: Option<String>,
        /// Least, default and most bytes of a TCP receive buffer, as the kernel writes them.
        pub tcp_receive_memory_bytes: Option<String>,
        /// Least, default and most bytes of a TCP send buffer, as the kernel writes them.
        pub tcp_send_memory_bytes: Option<String>,
    }

    /// A network interface.
    pub struct Nic {
        /// Its name.
        pub name: Option<String>,
        /// Its driver, as ethtool or /sys names it.
        pub driver: Option<String>,
        /// Version of the driver.
        pub driver_version: Option<String>,
        /// Version of its firmware.
        pub firmware_version: Option<String>,
        /// The bus it is on.
        pub bus: Option<String>,
        /// Rate of the link in bit/s; missing where there is no link, or no fixed rate.
        pub rate_bits_per_second: Option<u64>,
        /// `full` or `half`.
        pub duplex: Option<String>,
        /// Largest packet in bytes.
        pub mtu_bytes: Option<u64>,
        /// `up`, `down`, `unknown`.
        pub state: Option<String>,
        /// The kind of link as the kernel numbers them (ARPHRD): 1 is Ethernet, 772 the loopback.
        pub hardware_type_number: Option<u64>,
        /// Whether it is a radio.
        pub wireless: Option<bool>,
        /// Whether it is a bridge.
        pub bridge: Option<bool>,
        /// The bridge or bond it belongs to.
        pub master: Option<String>,
        /// Receive queues.
        pub receive_queues_count: Option<u64>,
        /// Transmit queues.
        pub transmit_queues_count: Option<u64>,
        /// Cores that receive for the first queue (RPS), as a mask in hexadecimal.
        pub receive_steering_cores_mask: Option<String>,
        /// Packets of the receive ring.
        pub receive_ring_packets: Option<u64>,
        /// Packets of the transmit ring.
        pub transmit_ring_packets: Option<u64>,
        /// Packets of the transmit queue.
        pub transmit_queue_packets: Option<u64>,
        /// How long an interrupt for a packet may wait, in microseconds.
        pub receive_interrupt_delay_us: Option<u64>,
        /// Offloads that are switched on, in the kernel's words.
        pub offloads: Vec<String>,
        /// Its addresses with the lengths of their prefixes.
        pub addresses: Vec<String>,
        /// The number of the VLAN that it is.
        pub vlan_number: Option<u64>,
        /// The interface that the VLAN is on.
        pub vlan_of: Option<String>,
        /// Disciplines of its queues: those at the root, and those that shape.
        pub queue_disciplines: Vec<QueueDiscipline>,
        /// The rate in bit/s that its shaper lets through, all classes together.
        pub shaped_rate_bits_per_second: Option<u64>,
        /// Its queues.
        pub queues: Vec<Queue>,
        /// Interrupts of its device.
        pub interrupts: Vec<Interrupt>,
    }

    /// A discipline of an interface's queue (tc).
    pub struct QueueDiscipline {
        /// `fq_codel`, `cake`, `tbf`.
        pub kind: Option<String>,
        /// Where it is: `root`, `ingress`, or its parent.
        pub parent: Option<String>,
        /// The rate in bit/s that it lets through; missing where it does not shape.
        pub rate_bits_per_second: Option<u64>,
    }

    /// A queue of an interface.
    pub struct Queue {
        /// `rx-0`, `tx-0`.
        pub name: Option<String>,
        /// Cores that receive for it (RPS) or send through it (XPS), as a mask in hexadecimal.
        pub steering_cores_mask: Option<String>,
    }

    /// An interrupt of an interface's device.
    pub struct Interrupt {
        /// Its number.
        pub interrupt_number: Option<u64>,
        /// What its driver calls it: `virtio0-input.0`, `eth0-rx-0`.
        pub name: Option<String>,
        /// Cores that may serve it, as a mask in hexadecimal.
        pub cores_mask: Option<String>,
    }

    /// A radio.
    pub struct Radio {
        /// Its name.
        pub name: Option<String>,
        /// Its driver.
        pub driver: Option<String>,
    }

    /// What stands between a packet and its socket.
    pub struct Netfilter {
        /// Modules of netfilter, and those that carry packets past it.
        pub modules: Vec<String>,
        /// Modules of the kernel in all.
        pub all_modules_count: Option<u64>,
        /// Whether nf_tables is there.
        pub nf_tables: Option<bool>,
        /// Whether connections are tracked.
        pub conntrack: Option<bool>,
        /// Whether flow tables are there.
        pub flow_table: Option<bool>,
        /// Connections tracked at that moment.
        pub conntrack_entries_count: Option<u64>,
        /// Connections that can be tracked.
        pub most_conntrack_entries_count: Option<u64>,
        /// Buckets of their table.
        pub conntrack_buckets_count: Option<u64>,
        /// Tables of iptables in use.
        pub iptables_tables: Vec<String>,
        /// The same for IPv6.
        pub ip6tables_tables: Vec<String>,
        /// OpenWrt's settings of flow offload.
        pub flow_offload_settings: Vec<String>,
        /// `1` where IPv4 is forwarded.
        pub ipv4_forwarding: Option<String>,
        /// `1` where bridged packets pass iptables.
        pub bridge_calls_iptables: Option<String>,
        /// Tables of nftables; missing where the host does not say.
        pub nft_tables_count: Option<u64>,
        /// Chains in them.
        pub nft_chains_count: Option<u64>,
        /// Rules in them.
        pub nft_rules_count: Option<u64>,
        /// Flow tables in them.
        pub nft_flow_tables_count: Option<u64>,
    }
}
