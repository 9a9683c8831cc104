# The two commands a newcomer needs are `make demo` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH)

TARGET := $(or $(CARGO_TARGET_DIR),target)
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60
# Where manual pages and completions go; the program goes where cargo puts programs.
PREFIX ?= $(HOME)/.local
# Synthetic studies of each scenario.
STUDIES ?= 2000

# Where everything ought to be there, a test that lacks what it needs fails instead of being
# skipped. On other machines it says what it lacks.
ifeq ($(CI),true)
export PLIMSOLL_REQUIRE ?= all
# What is built once needs no notes for the next time, and no lines for a debugger: nobody is there with one.
export CARGO_INCREMENTAL ?= 0
export CARGO_PROFILE_DEV_DEBUG ?= 0
endif
# Tests that take long do all that they can do: cargo test alone does a part of them.
export PLIMSOLL_REQUIRE ?= time

.PHONY: help demo test bench fuzz fuzz-asan simulate measure-aa measure-advise measure-burner measure-cache measure-clients measure-copies measure-database measure-encryption measure-film-backup measure-forwarding measure-forwarding-aa measure-history measure-limits measure-links measure-long-playback measure-net measure-nfs measure-ops measure-own-client measure-playback measure-players measure-predictions measure-quick-limits measure-readers measure-router measure-run measure-scan measure-screens measure-settings measure-stalls measure-trace measure-verdicts measure-versions measure-writes docs gallery lint lint-advisories \
	install check-style check-tests probe probes check-probe setup-probe runner check-machines \
	dist check-dist runners setup-demo setup-lint setup-fuzz setup-bench setup-test setup-machines setup-dist setup-copies setup-limits setup-players

help:
	@echo "make demo             build, then compare a small NFS server with itself 1 ms further away; no root, under a minute"
	@echo "make test             everything that must pass: style, tests with real servers, inputs of the fuzz targets"
	@echo "make bench            what the program itself costs, and side by side with fio"
	@echo "make fuzz             every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS), properties with a fresh seed, a thousand cleans during an attack"
	@echo "make fuzz-asan        those that reach C or unsafe code with the address sanitizer, and io_uring's tests"
	@echo "make simulate         STUDIES=$(STUDIES) synthetic studies a scenario: do intervals, verdicts, costs and limits hold?"
	@echo "make probe            the device-side program for this machine; make probes: for all machines"
	@echo "make check-probe      its tests on all machines, emulated; make test has one of them"
	@echo "make runner           the program that 'check --on' deploys on other hosts"
	@echo "make runners          those for all machines"
	@echo "make dist             static archives and Debian packages for x86_64 and aarch64, in target/dist"
	@echo "make check-dist       installs and starts them on a bare Debian 11, on BusyBox alone, and emulated; wants root"
	@echo "make check-machines   the lab's virtual machines: images, commands, mounts, power cuts, examples; three quarters of an hour"
	@echo "make measure-aa       100 studies of two equal directories: how often is one called faster? At most two and a half hours"
	@echo "make measure-verdicts PLIMSOLL_PEER=FILE beside this build: how long until all verdicts are there? At most two and a half hours"
	@echo "make measure-writes   sustained writes against fio: a plain disk, a large cache, a disk that is throttled; two and a half hours"
	@echo "make measure-cache    40 cases of memory and disk: is what is said true? On a quiet machine, as root, about an hour"
	@echo "make measure-forwarding  20 searches over 10 limits of a router, drawn by PLIMSOLL_SEED: is its rate found, or is it said why not? On a quiet machine, half an hour"
	@echo "make measure-forwarding-aa  30 comparisons of a router with itself: is one of the two called faster? On a quiet machine, two and a half hours"
	@echo "make measure-limits   30 cases of link, CPU, round trip, disk and threads: is the limit that is named the one whose doubling helps most? And demands beside mpstat and iostat; two hours"
	@echo "make measure-predictions  40 changes that are predicted and really made in labs: is the truth inside the range, and the next bottleneck the one named? Two and a half hours"
	@echo "make measure-advise   12 set-ups with up to four changes really made: is the first advice the best of them? An hour and a half"
	@echo "make measure-encryption  12 set-ups with encryption of SMB or of the disk really switched on: is the cost as predicted? Half an hour"
	@echo "make measure-quick-limits  24 quick studies and 8 of three minutes, drawn by PLIMSOLL_SEED: no limit below what was measured, none by CPU time that tells nothing, none lost by watching more; an hour"
	@echo "make measure-screens  20 answer screens of studies whose circumstances are known, with five questions each, for readers; an hour"
	@echo "make measure-run      runs in a lab that are killed at 20 moments, whose server loses its power at 5, and beside which others use it; an hour"
	@echo "make measure-links    what links of a lab carry of their rates in TCP; wants a quiet machine, and root"
	@echo "make measure-net      net beside iperf3, netperf and a bare loop; latency behind queues of known length; 20 bottlenecks drawn by PLIMSOLL_SEED; on a quiet machine, as root, 25 minutes"
	@echo "make measure-clients  how far apart two clients of a lab begin, and the sum of what they read against the server's count"
	@echo "make measure-history  how long list and history take with 500 studies in the store; a minute"
	@echo "make measure-copies   copies beside rsync on a mount, beside smbclient and rclone, and of 56,206 files; at most two and a half hours"
	@echo "make measure-nfs      versions of NFS side by side on NFS-Ganesha: CPU per operation and file, depth through 10 ms; half an hour"
	@echo "make measure-own-client  plimsoll's client beside the kernel's on NFS 3, 4.1 and SMB: the server's time of a call, and what only one sends; an hour"
	@echo "make measure-database commits of check --job database next to sqlite3 on mounts of NFS 4.1 and SMB; an hour"
	@echo "make measure-playback how many films play over links, and from processors and disks, of known capacity, and from servers that rarely stop; hours"
	@echo "make measure-players  mpv beside play on a mount: stalls at 12 settings around the edge, and first frames; an hour or two"
	@echo "make measure-long-playback  ten minutes of films next to the verdicts of short studies; two hours"
	@echo "make measure-film-backup  the loss of a backup during a film, by play and by rsync during mpv; an hour"
	@echo "make measure-readers  one file by several readers through a slow link, in batches and pipelined, compared with the model; a quarter of an hour"
	@echo "make measure-scan     the scan that ops predicts beside find -ls on mounts of NFS and SMB; a quarter of an hour"
	@echo "make measure-stalls   Samba and Ganesha that are stopped by a schedule: the rate over all time of short trials against one long trial; an hour and a half"
	@echo "make measure-ops      what ops finds of a server whose costs are known, and quantiles where it stalls; a quarter of an hour on a quiet machine"
	@echo "make measure-burner   are the CPU shares of a known load found within two points? On a quiet machine"
	@echo "make measure-versions PLIMSOLL_PEER=FILE beside this build, on Ganesha, Samba and a directory; a quarter of an hour"
	@echo "make measure-settings kill -9 at 30 moments a host, and 30 power cuts of a machine, with settings changed; half an hour"
	@echo "make measure-trace    functions of netfilter under six rulesets, costs next to those by check and net --parts, and kill -9 at 30 moments of a trace; an hour and a half"
	@echo "make measure-router   a router in a machine: its rate with rules, NAT, a flowtable and CAKE, whether costs add up, four combinations predicted, and runs that are killed or cut; on a quiet machine, two and a half hours"
	@echo "make docs             the outputs on the pages in docs/, written anew"
	@echo "make gallery          docs/gallery: the demonstration's report and pictures, made by the program"
	@echo "make lint             formatting, clippy, documentation, licences of dependencies, circles of files"
	@echo "make lint-advisories  known vulnerabilities of dependencies; needs the network"
	@echo "make install          cargo install the program, its runner, and the probes made so far; manual pages and completions below PREFIX=$(PREFIX)"

demo: probe
	cargo build --release --locked -p plimsoll --bin plimsoll
	$(TARGET)/release/plimsoll demo

test: setup-test
	$(MAKE) --no-print-directory check-style
	$(MAKE) --no-print-directory check-tests

# cargo-deny takes minutes to build, so the tests look at licences and sources by themselves.
# Advisories need the advisory database from the network: see lint-advisories.
lint: setup-lint
	$(MAKE) --no-print-directory check-style
	cargo deny --locked check --hide-inclusion-graph licenses bans sources

check-style:
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p plimsoll --test measure --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	scripts/licences.py
	scripts/circles.py

# Of the machines that plimsoll does not run on itself one will do here: the most different one.
# The tests of the probe wait most of their time: what they leave of the processors builds the runner.
check-tests:
	nice -n 19 $(MAKE) --no-print-directory runner RUNNER_PROFILE=dev & runner=$$!; \
	$(MAKE_PROBE) check-probe MACHINES=mips || { kill $$runner; exit 1; }; \
	wait $$runner
	scripts/tests.py

# The device-side program: probe/README.md. That for this machine takes its own compiler alone.
MAKE_PROBE = $(MAKE) --no-print-directory -j$$(nproc) -C probe TARGET=$(abspath $(TARGET))
probe: setup-demo
	$(MAKE_PROBE) probe

probes check-probe: %: setup-probe
	$(MAKE_PROBE) $*

# The program that --on deploys on other hosts: a static one, of the same dependencies as the whole.
RUNNER_PROFILE ?= release
runner: setup-demo
	cargo rustc --profile $(RUNNER_PROFILE) --locked -p plimsoll --bin plimsoll-runner \
		-- -C target-feature=+crt-static
	install -D -s -m 755 $(TARGET)/$(RUNNER_PROFILE:dev=debug)/plimsoll-runner $(TARGET)/runner/native/plimsoll-runner

RUNNERS := x86_64 aarch64
runners: setup-dist
	for machine in $(RUNNERS); do \
		built=$$(scripts/static.sh $$machine dist plimsoll-runner | tail -n 1); \
		install -D -m 755 -t $(TARGET)/runner/$$machine $$built/plimsoll-runner; \
	done

# What is handed to others.
dist: setup-dist probes
	scripts/dist.sh

check-dist: dist
	scripts/check-dist.sh $(TARGET)/dist

# Virtual machines are slow where they are emulated, so these tests are not part of the others.
check-machines: setup-machines
	$(MAKE) --no-print-directory runner RUNNER_PROFILE=dev
	cargo test --workspace --locked --test machines --test examples -- --ignored --skip measure_ --test-threads 1

# Experiments: experiments/README.md says what each shows. Each goes on where it was interrupted; what was
# measured is kept below target.
measure-aa: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_aa -- --ignored --nocapture

measure-verdicts: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_verdicts -- --ignored --nocapture

measure-writes: setup-machines runner
	cargo test --release --locked -p plimsoll --test measure measure_writes -- --ignored --nocapture

measure-forwarding: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_forwarding -- --ignored --nocapture --test-threads 1

measure-forwarding-aa: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_equal_routers -- --ignored --nocapture

measure-limits: setup-limits runner
	cargo test --release --locked -p plimsoll --test measure measure_limits -- --ignored --nocapture --test-threads 1

measure-predictions: setup-limits runner
	cargo test --release --locked -p plimsoll --test measure measure_predictions -- --ignored --nocapture --test-threads 1

measure-advise: setup-limits runner
	cargo test --release --locked -p plimsoll --test measure measure_advise -- --ignored --nocapture --test-threads 1

measure-encryption: setup-limits setup-machines runner
	cargo test --release --locked -p plimsoll --test measure measure_encryption -- --ignored --nocapture --test-threads 1

# No speeds are judged: it may run beside other work.
measure-quick-limits: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_quick_limits -- --ignored --nocapture

# Screens of studies whose circumstances are known, for readers who answer questions by them alone.
measure-screens: setup-test runner
	cargo test --release --locked -p plimsoll --test measure measure_screens -- --ignored --nocapture

measure-cache: setup-machines
	cargo test --release --locked -p plimsoll --test measure cache:: -- --include-ignored --nocapture

measure-copies: setup-copies runner
	cargo test --release --locked -p plimsoll --test measure measure_copies -- --ignored --nocapture --test-threads 1

# Each alone: cargo test … measure_run_killed, measure_run_reset, measure_run_disturbed. No rates are measured.
measure-run: setup-machines
	$(MAKE) --no-print-directory runner RUNNER_PROFILE=dev
	cargo test --locked -p plimsoll --test measure measure_run -- --ignored --nocapture --test-threads 1

measure-database measure-long-playback measure-own-client measure-playback measure-readers measure-scan: measure-%: setup-machines runner
	cargo test --release --locked -p plimsoll --test measure measure_$(subst -,_,$*) -- --ignored --nocapture --test-threads 1

measure-film-backup measure-players: measure-%: setup-players runner
	cargo test --release --locked -p plimsoll --test measure measure_$(subst -,_,$*) -- --ignored --nocapture

measure-nfs: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_nfs -- --ignored --nocapture

measure-ops: setup-demo
	cargo test --release --locked -p plimsoll --test measure measure_ops -- --ignored --nocapture --test-threads 1

measure-stalls: setup-test
	cargo test --release --locked -p plimsoll --test measure measure_stalls -- --ignored --nocapture

# What a busy machine gets done is no test: these say what a quiet one does.
measure-links: setup-test
	cargo test --locked -p plimsoll --test lab measure_links -- --ignored --nocapture

measure-clients: setup-test
	cargo test --locked -p plimsoll --test clients measure_clients -- --ignored --nocapture

# The probe moves the data, and is always optimised. Another iperf3 and a netperf take part if PLIMSOLL_IPERF3 and
# PLIMSOLL_NETPERF name them.
measure-net: setup-test
	cargo test --locked -p plimsoll-net --test iperf3 both_ends_count -- --nocapture
	cargo test --locked -p plimsoll --test measure measure_net -- --ignored --nocapture --test-threads 1

measure-history: setup-test
	cargo test --release --locked -p plimsoll --test history five_hundred_studies -- --ignored --nocapture

lint-advisories: setup-lint
	cargo deny --locked check --hide-inclusion-graph advisories

bench: setup-bench
	cargo bench --workspace --locked --bench '*'

fuzz: setup-fuzz
	cargo test --locked -p plimsoll --test swap -- --ignored --nocapture
	scripts/tests.py --properties
	scripts/fuzz.sh $(FUZZ_SECONDS)

# What reaches C or unsafe code, with the address sanitizer: an unstable option of the compiler.
# That of the probe is part of its own tests.
fuzz-asan: setup-fuzz
	SANITIZER=address scripts/fuzz.sh $(FUZZ_SECONDS) $$(cargo fuzz list | grep -E '^(smb|store)_')
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --locked -p plimsoll-load \
		--target $$(rustc -vV | sed -n 's/^host: //p') --target-dir $(TARGET)/address --test directory

simulate: setup-demo
	PLIMSOLL_STUDIES=$(STUDIES) cargo test --release --locked -p plimsoll-study --test simulate \
		-- --include-ignored --nocapture
	PLIMSOLL_STUDIES=$(STUDIES)00 cargo test --release --locked -p plimsoll-explain --test limits any_server \
		-- --nocapture
	cargo test --release --locked -p plimsoll-stats --test history -- --include-ignored --nocapture
	cargo test --release --locked -p plimsoll-explain --test kept_rates -- --include-ignored --nocapture

# Another build, named by PLIMSOLL_PEER, beside this one.
measure-versions: setup-test
	cargo bench --locked -p plimsoll --bench versions

# What tests may not assert, as it takes a machine where nothing else runs: whether the shares of a
# burner of known duty are found within two points.
measure-burner: setup-demo
	cargo test --locked -p plimsoll-watch --test watch -- --ignored --nocapture --test-threads 1 burner::

# The tests have a few moments each; and these need no quiet machine, but time.
measure-settings: setup-machines
	cargo test --locked -p plimsoll --test settings measure_ -- --ignored --nocapture --test-threads 1
	PLIMSOLL_MOMENTS=30 cargo test --locked -p plimsoll --test machines settings::an_export -- --ignored --test-threads 1 --nocapture

measure-trace: setup-machines
	PLIMSOLL_MOMENTS=30 cargo test --locked -p plimsoll --test machines measure_trace -- --ignored --nocapture --test-threads 1

# Each alone: cargo test … measure_router_rates, _parts, _flowtable, _shapers, _sums, _combinations, _combination_costs,
# _own_predictions, _after_kills, _after_cuts and _after_power_cuts.
measure-router: setup-machines
	cargo test --locked -p plimsoll --test machines measure_router -- --ignored --nocapture --test-threads 1

docs: setup-demo
	PLIMSOLL_BLESS=1 cargo test --locked -p plimsoll --test docs

gallery: setup-demo
	cargo build --release --locked -p plimsoll --bin plimsoll
	scripts/gallery.sh $(TARGET)/release/plimsoll docs/gallery

# Where cargo puts programs, and beside that the probes that were made.
INSTALLED := $(or $(CARGO_INSTALL_ROOT),$(CARGO_HOME),$(HOME)/.cargo)
install: probe runner
	cargo install --locked --path crates/plimsoll --bin plimsoll --root $(INSTALLED)
	for probe in $(TARGET)/probes/*/plimsoll-probe; do \
		case $$probe in */sanitized/*) continue ;; esac; \
		install -D -t $(INSTALLED)/lib/plimsoll/probes/$$(basename $$(dirname $$probe)) $$probe; \
	done
	for runner in $(TARGET)/runner/*/plimsoll-runner; do \
		install -D -t $(INSTALLED)/lib/plimsoll/runner/$$(basename $$(dirname $$runner)) $$runner; \
	done
	cargo build --release --locked -p plimsoll --bin plimsoll
	$(TARGET)/release/plimsoll man --dir $(PREFIX)/share/man/man1
	install -d $(PREFIX)/share/bash-completion/completions $(PREFIX)/share/fish/vendor_completions.d
	$(TARGET)/release/plimsoll completions bash >$(PREFIX)/share/bash-completion/completions/plimsoll
	$(TARGET)/release/plimsoll completions fish >$(PREFIX)/share/fish/vendor_completions.d/plimsoll.fish

setup-demo setup-lint setup-fuzz setup-bench setup-test setup-machines setup-probe setup-dist setup-copies setup-limits setup-players: setup-%:
	@scripts/setup.sh $*
