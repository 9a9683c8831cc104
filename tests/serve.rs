//! `plimsoll serve`: who is let in, what is shown, and what moves while a real run goes on.

mod support;

use support::served::Served;
use support::{Plimsoll, ended, signal};

const CHECK: [&str; 7] = [
    "--size=16MiB",
    "--repeats=2",
    "--baseline=0s",
    "--time=300ms",
    "--workers=2",
    "--pattern=random-read",
    "--quiet",
];

#[test]
fn only_who_knows_the_token_and_means_this_host_is_let_in() {
    let program = Plimsoll::new();
    let served = Served::start(&program);
    let (token, host) = (served.token.clone(), served.host());
    assert_eq!(token.len(), 32);
    let index = served.get("");
    assert_eq!(index.status, 200);
    assert!(index.body.contains("No study is running"), "{}", index.body);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(index.head.contains(header), "{header} in {}", index.head);
    }
    assert!(!index.head.contains("access-control"), "{}", index.head);
    let wrong = format!("/{}/", token.chars().rev().collect::<String>());
    for path in ["/", "/x/", "//", "/style.css", &wrong, &wrong[..32], "/..%2f"] {
        let refused = served.answer("GET", path, &host);
        assert_eq!(refused.status, 403, "{path}");
        assert!(!refused.body.contains(&token));
    }
    let home = format!("/{token}/");
    for other in ["evil.example", "evil.example:80", "127.0.0.1:1", "127.0.0.1.evil.example", ""] {
        assert_eq!(served.answer("GET", &home, other).status, 403, "{other}");
    }
    let localhost = format!("localhost:{}", served.port);
    assert_eq!(served.answer("GET", &home, &localhost).status, 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(served.answer(method, &home, &host).status, 405, "{method}");
    }
    assert_eq!(served.get("style.css").status, 200);
    assert!(served.get("live.js").head.contains("text/javascript"));
    assert_eq!(served.get("a/b/c").status, 404);
    assert_eq!(served.get("latest").status, 404);
    assert!(!program.db().exists(), "looking makes no store");
}

#[test]
fn studies_are_listed_shown_and_compared() {
    let program = Plimsoll::new();
    let plain = tempfile::tempdir().unwrap();
    let check = |seed: &str| {
        let directory = plain.path().to_str().unwrap();
        let arguments = [&["check", directory, seed], &CHECK[..]].concat();
        program.run(&arguments).expect(0);
        program.latest().id.0
    };
    let (a, b) = (check("--seed=1"), check("--seed=2"));
    let served = Served::start(&program);
    let index = served.get("").body;
    assert!(index.contains(&a) && index.contains(&b), "{index}");
    assert_eq!(index.matches("type=\"checkbox\"").count(), 2);
    let study = served.get(&a);
    assert_eq!(study.status, 200);
    assert!(study.body.contains("<svg") && study.body.contains(&a));
    assert!(
        study.head.contains("content-security-policy: sandbox allow-scripts;"),
        "{}",
        study.head
    );
    let compared = served.get(&format!("compare?study={b}&study={a}"));
    assert_eq!(compared.status, 200, "{}", compared.body);
    let first = compared.body.find(&format!("<dt>A</dt><dd>{a} "));
    assert!(first.is_some(), "the earlier one is A: {}", compared.body);
    for bad in ["compare", &format!("compare?study={a}"), "compare?study=1&study=2&study=3"] {
        assert_eq!(served.get(bad).status, 400, "{bad}");
    }
    for unknown in ["ffffffffff", "%3Cscript%3E", &format!("compare?study={a}&study=nothing")] {
        let answer = served.get(unknown);
        assert_eq!(answer.status, 404, "{unknown}");
        assert!(!answer.body.contains("<script>"), "{}", answer.body);
    }
}

#[test]
fn a_run_is_seen_while_it_goes_on_and_its_study_when_it_is_over() {
    let program = Plimsoll::new();
    let plain = tempfile::tempdir().unwrap();
    let served = Served::start(&program);
    let mut events = served.events();
    events.next();
    let directory = plain.path().to_str().unwrap();
    // Without end: it is ended below when all was seen.
    let more = ["--size=16MiB", "--repeats=10000", "--time=1s", "--baseline=0s", "--quiet"];
    let run = program.start(&[&["check", directory, "--pattern=random-read"], &more[..]].concat());
    // Between trials there is no rate.
    let is_measured = |data: &str| data.matches("<svg").count() >= 3 && data.contains("op/s");
    let seen = events.wait_for("runs", is_measured);
    assert!(seen.contains(directory), "{seen}");
    let figures = |data: &str| Some(data.split("<strong>").nth(1)?.split('<').next()?.to_owned());
    let before = figures(&seen);
    events.wait_for("runs", |data| {
        figures(data).is_some_and(|f| !f.is_empty()) && figures(data) != before
    });
    signal(&run, "-INT");
    let listed = events.wait_for("studies", |data| data.contains("interrupted"));
    ended(run).expect(130);
    assert!(listed.contains(&program.latest().id.0), "{listed}");
    // Which of the two parts comes first is chance: both are on a fresh page.
    assert!(served.get("").body.contains("No study is running"));
}

#[test]
fn a_run_that_is_killed_disappears() {
    let program = Plimsoll::new();
    let plain = tempfile::tempdir().unwrap();
    let served = Served::start(&program);
    let mut events = served.events();
    let directory = plain.path().to_str().unwrap();
    let more = ["--size=16MiB", "--repeats=9", "--time=5s", "--pattern=random-read"];
    let mut run = program.start(&[&["check", directory], &more[..]].concat());
    events.wait_for("runs", |data| data.contains("<article>"));
    run.kill().unwrap();
    run.wait().unwrap();
    events.wait_for("runs", |data| data.contains("No study is running"));
}

#[test]
fn it_ends_at_once_whoever_still_reads() {
    let program = Plimsoll::new();
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut served = Served::start(&program);
        let mut events = served.events();
        events.next();
        signal(&served.child, name);
        let status = served.child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{name}");
    }
}

#[test]
fn a_port_in_use_is_told() {
    let program = Plimsoll::new();
    let served = Served::start(&program);
    let port = format!("--port={}", served.port);
    let second = program.run(&["serve", &port]).expect(2);
    assert!(second.err.contains(&served.host()) && second.err.contains("--port"), "{}", second.err);
}
