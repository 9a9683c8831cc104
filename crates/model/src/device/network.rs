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
        /// Its bus.
        pub bus: Option<String>,
        /// Rate of the link in bit/s; absent without a link or a fixed rate.
        pub rate_bits_per_second: Option<u64>,
        /// `full` or `half`.
        pub duplex: Option<String>,
        /// Largest packet in bytes.
        pub mtu_bytes: Option<u64>,
        /// `up`, `down`, `unknown`.
        pub state: Option<String>,
        /// Link type number of the kernel (ARPHRD): 1 is Ethernet, 772 is loopback.
        pub hardware_type_number: Option<u64>,
        /// Whether it is a radio.
        pub wireless: Option<bool>,
        /// Whether it is a bridge.
        pub bridge: Option<bool>,
        /// Its bridge or bond.
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
        /// Longest delay of a receive interrupt, in microseconds.
        pub receive_interrupt_delay_us: Option<u64>,
        /// Enabled offloads, by the kernel's names.
        pub offloads: Vec<String>,
        /// Its addresses with prefix lengths.
        pub addresses: Vec<String>,
        /// Its VLAN number.
        pub vlan_number: Option<u64>,
        /// Interface below the VLAN.
        pub vlan_of: Option<String>,
        /// Queue disciplines at the root, and all that shape.
        pub queue_disciplines: Vec<QueueDiscipline>,
        /// Rate of its shaper in bit/s, all classes together.
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
        /// Place: `root`, `ingress`, or its parent.
        pub parent: Option<String>,
        /// Rate of the shaper in bit/s; absent if it does not shape.
        pub rate_bits_per_second: Option<u64>,
    }

    /// A queue of an interface.
    pub struct Queue {
        /// `rx-0`, `tx-0`.
        pub name: Option<String>,
        /// Cores that receive from it (RPS) or send to it (XPS), as a mask in hexadecimal.
        pub steering_cores_mask: Option<String>,
    }

    /// An interrupt of an interface's device.
    pub struct Interrupt {
        /// Its number.
        pub interrupt_number: Option<u64>,
        /// The driver's name: `virtio0-input.0`, `eth0-rx-0`.
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

    /// Packet filter and connection tracking.
    pub struct Netfilter {
        /// Modules of netfilter, and modules that bypass it.
        pub modules: Vec<String>,
        /// Number of kernel modules.
        pub all_modules_count: Option<u64>,
        /// Whether nf_tables is available.
        pub nf_tables: Option<bool>,
        /// Whether connections are tracked.
        pub conntrack: Option<bool>,
        /// Whether flow tables are available.
        pub flow_table: Option<bool>,
        /// Tracked connections.
        pub conntrack_entries_count: Option<u64>,
        /// Highest number of tracked connections.
        pub most_conntrack_entries_count: Option<u64>,
        /// Buckets of the connection table.
        pub conntrack_buckets_count: Option<u64>,
        /// Tables of iptables in use.
        pub iptables_tables: Vec<String>,
        /// The same for IPv6.
        pub ip6tables_tables: Vec<String>,
        /// OpenWrt's settings of flow offload.
        pub flow_offload_settings: Vec<String>,
        /// `1` if IPv4 is forwarded.
        pub ipv4_forwarding: Option<String>,
        /// `1` if bridged packets pass iptables.
        pub bridge_calls_iptables: Option<String>,
        /// Tables of nftables; absent if unknown.
        pub nft_tables_count: Option<u64>,
        /// Chains in them.
        pub nft_chains_count: Option<u64>,
        /// Rules in them.
        pub nft_rules_count: Option<u64>,
        /// Flow tables in them.
        pub nft_flow_tables_count: Option<u64>,
        /// Tables of iptables for IPv4 that are not in nftables; missing where the host does not say.
        pub iptables_tables_count: Option<u64>,
        /// Rules in them.
        pub iptables_rules_count: Option<u64>,
        /// The same tables for IPv6.
        pub ip6tables_tables_count: Option<u64>,
        /// Rules in them.
        pub ip6tables_rules_count: Option<u64>,
    }
}
