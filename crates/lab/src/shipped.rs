//! Labs that come with the program.

/// Their names and files.
pub const SHIPPED: [(&str, &str); 6] = [
    ("router", include_str!("../labs/router.toml")),
    ("slow-router", include_str!("../labs/slow-router.toml")),
    ("nas", include_str!("../labs/nas.toml")),
    ("n750", include_str!("../labs/n750.toml")),
    ("ds218", include_str!("../labs/ds218.toml")),
    ("mips", include_str!("../labs/mips.toml")),
];

/// The file of the shipped lab of this name.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    #[test]
    fn shipped_labs_make_sense() {
        for (name, text) in SHIPPED {
            let plan = Plan::read(text, name).unwrap();
            assert!(plimsoll_model::is_lab_name(name) && !plan.about.is_empty(), "{name}");
            let json = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan, "{name}");
        }
    }
}
