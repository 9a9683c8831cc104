//! The sections of an inventory (probe/README.md), read into the model's words. Both the probe and
//! the shell make such sections, so there is one reader.

use super::clean::{Odd, clean};
use super::{links, processor};
use plimsoll_model::device::{
    Cache, ClockPolicy, Clocks, Cpu, Disk, Distribution, Inventory, MemoryFacts, Mtd, Netfilter,
    NfsServer, Nic, Nics, PathFacts, PciDevice, Radio, ReadBy, SataLink, SmbServer, System,
    UsbDevice,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Most paths that are looked behind.
pub(super) const MOST_PATHS: usize = 32;

/// Texts that makers of boards leave in the firmware where a name should be.
const PLACEHOLDERS: [&str; 7] = [
    "to be filled by o.e.m.",
    "default string",
    "system product name",
    "system manufacturer",
    "not specified",
    "unknown",
    "o.e.m.",
];

/// An inventory while its sections come in.
#[derive(Debug, Default)]
pub struct Reading {
    inventory: Inventory,
    seen: Vec<String>,
    /// The lines of /proc/cpuinfo.
    cpuinfo: Vec<(String, String)>,
    /// How interfaces are set up, and how many rules there are.
    links: Vec<Nic>,
    rules: Option<Netfilter>,
}

impl Reading {
    /// What was read by the probe or by the shell.
    pub fn by(read_by: ReadBy) -> Reading {
        let inventory = Inventory { read_by: Some(read_by), ..Inventory::default() };
        Reading { inventory, ..Reading::default() }
    }

    /// Reads a section. One that came before, is unknown or is none is passed over.
    pub fn take(&mut self, section: Value, odd: &mut Odd) {
        let fields = Fields(clean(section, odd));
        let Some(name) = fields.text("section") else { return };
        if name == "path" {
            let paths = &mut self.inventory.paths;
            if let Some(path) = fields.all::<PathFacts>()
                && paths.len() < MOST_PATHS
                && !paths.iter().any(|known| known.path == path.path)
            {
                paths.push(path);
            }
            return;
        }
        if self.seen.contains(&name) {
            odd.add(format!("the section {name} was received twice"));
            return;
        }
        let into = &mut self.inventory;
        match name.as_str() {
            "probe" => into.probe_version = fields.text("probe_version"),
            "model" => into.system = Some(system(&fields)),
            "kernel" => into.kernel = fields.all(),
            "distribution" => into.distribution = Some(distribution(&fields)),
            "cpu" => {
                self.cpuinfo = fields.pairs("cpuinfo");
                into.cpu = Some(Cpu {
                    caches: sorted(fields.list("caches")),
                    clocks: fields.list::<ClockPolicy>("clocks"),
                    ..fields.all().unwrap_or_default()
                });
            }
            "clocks" => into.clocks = fields.all::<Clocks>(),
            "memory" => into.memory = fields.all::<MemoryFacts>(),
            "flash" => into.flash = fields.list::<Mtd>("mtd"),
            "buses" => {
                into.buses = fields.names("buses", "name");
                into.pci = fields.list::<PciDevice>("pci");
                into.usb = fields.list::<UsbDevice>("usb");
                into.usb_drivers = fields.names("usb_functions", "driver");
                into.sata_links = fields.list::<SataLink>("sata_links");
            }
            "wireless" => into.radios = fields.list::<Radio>("radios"),
            "nics" => into.network = Some(nics(&fields)),
            "disks" => into.disks = fields.list::<Disk>("disks"),
            "netfilter" => into.netfilter = fields.all::<Netfilter>(),
            "nfs_server" => into.nfs_server = Some(nfs_server(&fields)),
            "smb_server" => into.smb_server = fields.all::<SmbServer>(),
            "links" => self.links = fields.list::<Nic>("nics"),
            "rules" => self.rules = fields.all::<Netfilter>(),
            // What the probe's process cost itself, and what newer probes tell.
            _ => return,
        }
        self.seen.push(name);
    }

    /// What was read so far.
    pub fn so_far(&self) -> &Inventory {
        &self.inventory
    }

    /// The inventory, with what follows from several sections.
    pub fn finish(self) -> Inventory {
        let Reading { mut inventory, cpuinfo, links: set_up, rules, .. } = self;
        if let Some(network) = &mut inventory.network {
            links::merge(&mut network.nics, set_up);
        }
        if let Some(rules) = rules {
            links::merge_rules(inventory.netfilter.get_or_insert_default(), rules);
        }
        let said = |key: &str| cpuinfo.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        if let Some(cpu) = &mut inventory.cpu {
            cpu.model = processor::name(&cpuinfo);
            cpu.named_clock_hertz = cpu.model.as_deref().and_then(processor::named_clock);
            cpu.reported_clock_hertz = processor::reported_clock(&cpuinfo);
            cpu.bogomips = said("bogomips").or(said("BogoMIPS"));
            cpu.aes_instructions = processor::has_aes(&cpuinfo);
        }
        let system = inventory.system.get_or_insert_default();
        system.model = system.model.take().or(said("machine")).or(said("Model"));
        system.soc = system.soc.take().or(said("system type")).or(said("Hardware"));
        if *system == System::default() {
            inventory.system = None;
        }
        inventory
    }
}

/// The fields of a section.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// All of it as facts, whose fields have the probe's names.
    pub(super) fn all<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(Value::Object(self.0.clone())).ok()
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    fn items(&self, key: &str) -> impl Iterator<Item = &Value> {
        self.0.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    pub(super) fn list<T: DeserializeOwned>(&self, key: &str) -> Vec<T> {
        self.items(key).filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()
    }

    /// One text of each entry of a list of objects, each once.
    fn names(&self, key: &str, field: &str) -> Vec<String> {
        let mut names = Vec::new();
        for name in self.items(key).filter_map(|item| item.get(field)?.as_str()) {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// A list of `{"key": …, "value": …}`.
    fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let text = |item: &Value, key: &str| Some(item.get(key)?.as_str()?.trim().to_owned());
        self.items(key)
            .filter_map(|item| Some((text(item, "key")?, text(item, "value")?)))
            .collect()
    }
}

fn sorted(mut caches: Vec<Cache>) -> Vec<Cache> {
    caches.sort_by(|a, b| (a.level_number, &a.kind).cmp(&(b.level_number, &b.kind)));
    caches
}

fn system(fields: &Fields) -> System {
    let real = |key: &str| {
        let text = fields.text(key)?;
        (!PLACEHOLDERS.contains(&text.trim().to_lowercase().as_str())).then_some(text)
    };
    let soc = match (real("soc_family"), real("soc")) {
        (Some(family), Some(soc)) if !soc.starts_with(&family) => Some(format!("{family} {soc}")),
        (family, soc) => soc.or(family),
    };
    System {
        // What OpenWrt and the device tree say was written for people; firmware only sometimes.
        model: real("openwrt_model")
            .or(real("device_tree_model"))
            .or(real("product"))
            .or(real("soc_machine")),
        vendor: real("vendor"),
        board: real("openwrt_board").or(real("board")),
        soc,
        firmware_version: real("firmware_version"),
        firmware_date: real("firmware_date"),
        compatible: fields.list("device_tree_compatible"),
    }
}

fn distribution(fields: &Fields) -> Distribution {
    let files: Vec<(String, Fields)> = fields
        .items("releases")
        .filter_map(|file| Some((file.get("file")?.as_str()?.to_owned(), file.as_object()?)))
        .map(|(file, fields)| (file, Fields(fields.clone())))
        .collect();
    let said = |file: &str, key: &str| {
        let (_, fields) = files.iter().find(|(name, _)| name.ends_with(file))?;
        let value = fields.pairs("values").into_iter().find(|(k, _)| k == key)?.1;
        (!value.is_empty()).then_some(value)
    };
    let openwrt = said("/openwrt_release", "DISTRIB_DESCRIPTION");
    let synology = said("/etc.defaults/VERSION", "productversion").map(|version| {
        let build = said("/etc.defaults/VERSION", "buildnumber");
        let build = build.map(|build| format!("-{build}")).unwrap_or_default();
        format!("Synology DSM {version}{build}")
    });
    Distribution {
        name: openwrt.or(synology).or(said("/os-release", "PRETTY_NAME")),
        id: said("/os-release", "ID").or(said("/openwrt_release", "DISTRIB_ID")),
        version: said("/os-release", "VERSION_ID")
            .or(said("/openwrt_release", "DISTRIB_RELEASE"))
            .or(fields.text("debian_version"))
            .or(fields.text("alpine-release")),
        version_file: fields.text("version"),
        init: fields.text("init"),
    }
}

/// ethtool's name of the driver, else that of /sys.
fn nics(fields: &Fields) -> Nics {
    let mut nics: Nics = fields.all().unwrap_or_default();
    let drivers = fields
        .items("nics")
        .filter(|item| item.is_object())
        .map(|item| item.get("device_driver").and_then(Value::as_str).map(str::to_owned));
    for (nic, driver) in nics.nics.iter_mut().zip(drivers) {
        nic.driver = nic.driver.take().or(driver);
    }
    nics
}

fn nfs_server(fields: &Fields) -> NfsServer {
    let mut server: NfsServer = fields.all().unwrap_or_default();
    let more = fields.items("exports_configured_more").filter_map(|file| file.get("lines"));
    let lines = more.flat_map(|lines| lines.as_array().into_iter().flatten());
    server.exports_configured.extend(lines.filter_map(Value::as_str).map(str::to_owned));
    server
}
