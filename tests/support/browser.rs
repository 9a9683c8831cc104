//! A Chromium without a screen, driven by the DevTools protocol over its pipe: JSON messages ended
//! by a zero byte, from file descriptor 3 and to 4 (`--remote-debugging-pipe`).
#![allow(dead_code)]

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest wait for any answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one tab.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    next_id: u64,
    /// Events not yet asked for.
    events: Vec<Value>,
    _home: tempfile::TempDir,
}

impl Browser {
    /// Starts one with a profile of its own, which knows no network but loopback.
    pub fn start() -> Browser {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (to, from) = (home.path().join("to"), home.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().expect("mkfifo starts");
        assert!(made.success(), "the pipes to the browser");
        let child = Command::new("sh")
            .args(["-c", "exec 3<\"$0\" 4>\"$1\"; shift; exec chromium \"$@\""])
            .args([&to, &from])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--remote-debugging-pipe"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost"])
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        // Both ends are opened in the order in which the shell opens its own.
        let to = OpenOptions::new().write(true).open(&to).expect("the pipe to the browser");
        let from = File::open(&from).expect("the pipe from the browser");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(from).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from: receiver,
            session: String::new(),
            next_id: 0,
            events: Vec::new(),
            _home: home,
        };
        let tab = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn receive(&mut self, until: Instant) -> Value {
        let left = until.saturating_duration_since(Instant::now());
        self.from.recv_timeout(left).expect("the browser answers in time")
    }

    /// Calls a method and hands back its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let mut message = json!({ "id": self.next_id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.receive(until);
            if answer["id"] != json!(self.next_id) {
                self.events.push(answer);
                continue;
            }
            assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
            return answer["result"].clone();
        }
    }

    /// Goes to a page and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let until = Instant::now() + PATIENCE;
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.receive(until);
            self.events.push(event);
        }
    }

    /// Goes to a file.
    pub fn open_file(&mut self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// What a script in the page comes to.
    #[track_caller]
    pub fn evaluate(&mut self, script: &str) -> Value {
        let expression =
            json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", expression);
        assert!(result["exceptionDetails"].is_null(), "{}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// The size of the window in CSS pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// What the reader prefers: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Whether pages may run scripts.
    pub fn scripts(&mut self, allowed: bool) {
        let value = json!({ "value": !allowed });
        self.call("Emulation.setScriptExecutionDisabled", value);
    }

    /// Moves the pointer.
    pub fn point(&mut self, x: f64, y: f64) {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str) {
        // The browser's own keys have numbers; those that only scripts hear do without.
        let number = if key == "Tab" { 9 } else { 0 };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": number });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Lines on the console, errors of scripts and complaints of the browser since the page was
    /// opened.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever was said before this answer has arrived with it.
        self.evaluate("0");
        let said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        let events = self.events.iter();
        events.filter(|e| said.iter().any(|s| e["method"] == *s)).map(Value::to_string).collect()
    }

    /// Addresses asked for since the page was opened, its own among them; data in the page itself
    /// is no request.
    pub fn requests(&mut self) -> Vec<String> {
        self.evaluate("0");
        let events = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        let urls = events.filter_map(|e| e["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:")).map(str::to_owned).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
