//! Rates, lengths of packets and routes.

use super::super::support::beds::{Beds, goodput};
use super::super::{PAIR, namespaces};
use plimsoll_testkit::Need;

/// What is set is what is asked for, on both ends, and what is sent goes through it. What comes of
/// that on a quiet machine: `measure_links`.
#[test]
fn links_are_shaped_as_they_are_asked_to_be() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let text = PAIR.replace("cpu = \"50%\"\n", "").replace("link.lan", "link.abcdefghijklmno");
    let file = beds.file("rates", &text);
    beds.lab(&["up", &file]).expect(0);
    let shaping = |host: &str| -> serde_json::Value {
        let line = "tc -s -j qdisc show dev abcdefghijklmno";
        serde_json::from_str(&beds.on(&format!("rates/{host}"), line)).unwrap()
    };
    // Bits per second; `None`: nothing shapes it.
    let rates = || {
        ["a", "b"].map(|host| {
            let all = shaping(host);
            let tbf = all.as_array().unwrap().iter().find(|one| one["kind"] == "tbf").cloned()?;
            assert_eq!(tbf["root"], true, "all goes through it: {tbf}");
            Some(tbf["options"]["rate"].as_u64().unwrap() * 8)
        })
    };
    let set = |change: &str| beds.lab(&["set", "rates", "abcdefghijklmno", change]).expect(0);
    assert_eq!(rates(), [Some(100_000_000); 2]);
    beds.on("rates/a", "ping -q -c 10 -i 0.01 -s 1000 -W 5 b");
    for host in ["a", "b"] {
        let sent = shaping(host)[0]["bytes"].as_u64().unwrap();
        assert!(sent >= 10_000, "what {host} sends goes through it: {sent} B");
    }
    set("rate=1gbit");
    assert_eq!(rates(), [Some(1_000_000_000); 2]);
    let bytes = set("rate=1Gbps");
    assert!(bytes.err.contains("1Gbps means 8Gbit/s: as in tc"), "{}", bytes.err);
    assert_eq!(rates(), [Some(8_000_000_000); 2]);
    set("rate.a=20Mbit/s");
    assert_eq!(rates(), [Some(20_000_000), Some(8_000_000_000)]);
    set("rate.b=none");
    assert_eq!(rates(), [Some(20_000_000), None]);
    let status = beds.lab(&["status", "rates"]).expect(0).out;
    assert!(status.contains("20Mbit/s from a") && !status.contains("from b"), "{status}");
    beds.lab(&["set", "rates", "abcdefghijklmno", "rate.c=1Mbit"]).expect(2);
    set("rate=none");
    assert_eq!(rates(), [None; 2]);
}

/// What TCP makes of the rates. Other work on the machine takes its part of that.
#[test]
#[ignore = "wants a quiet machine: make measure-links"]
fn measure_links() {
    if !namespaces() || !plimsoll_testkit::available(Need::Python) {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("rates", &PAIR.replace("cpu = \"50%\"\n", ""));
    beds.lab(&["up", &file]).expect(0);
    for (rate, bits) in [("100Mbit/s", 100e6), ("1Gbit/s", 1e9)] {
        beds.lab(&["set", "rates", "lan", &format!("rate={rate}")]).expect(0);
        let carried = goodput(&beds, "rates", "a", "b");
        println!("{rate}: {:.1}% in TCP", carried / bits * 100.0);
        assert!((0.8..1.0).contains(&(carried / bits)), "{carried} of {bits}");
    }
    beds.lab(&["set", "rates", "lan", "rate=none"]).expect(0);
    let free = goodput(&beds, "rates", "a", "b");
    println!("unshaped: {:.1} Gbit/s", free / 1e9);
    assert!(free > 1.3e9, "{free}: without shaping it is faster");
}

#[test]
fn routes_lead_over_several_routers_and_what_has_none_is_named() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let host = |name: &str, more: &str| format!("[host.{name}]\nkind = \"netns\"\n{more}\n");
    let link = |name: &str, more: &str| format!("[link.{name}]\nbetween = {more}\n");
    let text = [
        host("a", "gateway = \"r1\""),
        host("b", ""),
        host("island", ""),
        host("r1", "forward = true"),
        host("r2", "forward = true"),
        host("r3", "forward = true"),
        link("one", "[\"a\", \"r1\"]"),
        link("two", "[\"r1\", \"r2\", \"r3\"]\nmtu = 1400"),
        link("three", "[\"r2\", \"r3\", \"b\"]"),
    ];
    let up = beds.lab(&["up", &beds.file("far", &text.concat())]).expect(0);
    let apart = "island and these hosts cannot reach each other: r1, r2, r3.";
    assert!(
        up.out.contains(apart)
            && up.out.contains(
                "note: a and these hosts cannot reach each \
    other: island."
            ),
        "{}",
        up.out
    );
    assert!(
        !up.out.contains("reach each other: b") && !up.out.contains("r1 and these"),
        "{}",
        up.out
    );
    beds.on("far/a", "ping -q -c 1 -W 5 b");
    beds.on("far/b", "ping -q -c 1 -W 5 a");
    let by = |lab: &str| beds.on(&format!("{lab}/r1"), "ip route get 10.77.2.3");
    assert!(by("far").contains("via 10.77.3.2"), "the shortest, the first of two: {}", by("far"));

    // 28 bytes are headers. A longer one does not go out whole.
    beds.on("far/r1", "ping -q -c 1 -W 5 -M do -s 1372 r3");
    let long =
        ["exec", "far/r1", "--", "ping", "-c", "1", "-W", "1", "-M", "do", "-s", "1373", "r3"];
    beds.lab(&long).expect(1);
    for host in ["r1", "r2", "r3"] {
        beds.lab(&["exec", &format!("far/{host}"), "--", "ip", "link", "show", "two"]).expect(0);
    }
    beds.lab(&["set", "far", "two", "mtu=9000"]).expect(0);
    beds.on("far/r1", "ping -q -c 1 -W 5 -M do -s 8972 r3");
    beds.lab(&["set", "far", "two", "mtu=none"]).expect(0);
    assert!(beds.on("far/r1", "cat /sys/class/net/two/mtu").trim() == "1500");

    let given = text.concat().replacen("[host.r1]\n", "[host.r1]\nroute = { three = \"r3\" }\n", 1);
    beds.lab(&["up", &beds.file("given", &given)]).expect(0);
    assert!(by("given").contains("via 10.77.3.3"), "{}", by("given"));
    beds.on("given/a", "ping -q -c 1 -W 5 b");
}
