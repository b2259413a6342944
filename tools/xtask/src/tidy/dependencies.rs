//! Who depends on whom, as cargo tells it, and the lints that each package takes over.

use super::workspace::Package;
use super::{FORBIDDEN_PACKAGES, MayKnow, NOT_SANS_IO_PACKAGES, Remark, SANS_IO, WHO_MAY_KNOW_WHOM};

/// Checks one package; `ours` are all packages of the workspace.
pub(super) fn check(package: &Package, ours: &[Package]) -> Vec<Remark> {
    let mut failures = check_known(package, ours);
    failures.extend(check_forbidden(package));
    failures.extend(check_lints(package));
    failures
}

/// Checks that each row of the table is of a package that exists.
pub(super) fn check_table(ours: &[Package]) -> Vec<Remark> {
    let is_ours = |name: &str| ours.iter().any(|package| package.name == name);
    let stale = WHO_MAY_KNOW_WHOM.iter().filter(|(name, _)| !is_ours(name));
    stale
        .map(|(name, _)| {
            let wrong = format!("the table of who may know whom has a row for {name}, which does not exist");
            Remark::new("tools/xtask/src/tidy.rs", 1, wrong, "delete the row, or make the crate")
        })
        .collect()
}

fn check_known(package: &Package, ours: &[Package]) -> Vec<Remark> {
    let name = &package.name;
    let Some((_, may_know)) = WHO_MAY_KNOW_WHOM.iter().find(|(row, _)| row == name) else {
        let to_do = "add it to WHO_MAY_KNOW_WHOM in tools/xtask/src/tidy.rs and to docs/architecture.md";
        return vec![Remark::new(
            &package.manifest_path,
            1,
            format!("{name} is not in the table of who may know whom"),
            to_do,
        )];
    };
    let MayKnow::Only(allowed) = may_know else { return Vec::new() };
    let known = package.dependencies.iter().filter(|dependency| ours.iter().any(|other| other.name == **dependency));
    known
        .filter(|dependency| !allowed.contains(&dependency.as_str()))
        .map(|dependency| {
            let allowed = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
            Remark::new(
                &package.manifest_path,
                line_of(package, dependency),
                format!("{name} may know {allowed}, but depends on {dependency}"),
                "remove the dependency, or change the design: the table in tools/xtask/src/tidy.rs and docs/architecture.md",
            )
        })
        .collect()
}

fn check_forbidden(package: &Package) -> Vec<Remark> {
    let name = &package.name;
    let by_name = FORBIDDEN_PACKAGES.iter().filter(|(row, _)| row == name).flat_map(|(_, packages)| *packages);
    let sans_io = NOT_SANS_IO_PACKAGES.iter().filter(|_| SANS_IO.contains(&name.as_str()));
    by_name
        .chain(sans_io)
        .filter(|forbidden| package.dependencies.iter().any(|dependency| dependency == *forbidden))
        .map(|forbidden| {
            Remark::new(
                &package.manifest_path,
                line_of(package, forbidden),
                format!("{name} must not depend on {forbidden}"),
                "move what needs it to a crate that may wait for the outside",
            )
        })
        .collect()
}

fn check_lints(package: &Package) -> Option<Remark> {
    let mut table = "";
    for line in package.manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            table = line;
        }
        let setting: String = line.split_whitespace().collect();
        let inherits = match table {
            "[lints]" => setting == "workspace=true",
            _ => setting == "lints.workspace=true",
        };
        if inherits {
            return None;
        }
    }
    Some(Remark::new(
        &package.manifest_path,
        1,
        format!("{} does not take over the lints of the workspace", package.name),
        "add `[lints]` with `workspace = true`",
    ))
}

/// The line of the manifest that asks for this dependency; 1 if it cannot be told.
fn line_of(package: &Package, dependency: &str) -> usize {
    let asks = |line: &str| {
        let rest = line.trim_start().strip_prefix(dependency);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    package.manifest.lines().position(asks).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INHERITS: &str = "[lints]\nworkspace = true\n";

    fn package(name: &str, dependencies: &[&str], manifest: &str) -> Package {
        Package {
            name: name.to_owned(),
            manifest_path: "Cargo.toml".to_owned(),
            manifest: manifest.to_owned(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// A package with the workspace's lints, among all that the table names.
    #[track_caller]
    fn check_dependencies(name: &str, dependencies: &[&str], expected: &[&str]) {
        let lines: String = dependencies.iter().map(|name| format!("{name}.workspace = true\n")).collect();
        let manifest = format!("[dependencies]\n{}{INHERITS}", lines);
        let ours: Vec<Package> = WHO_MAY_KNOW_WHOM.iter().map(|(name, _)| package(name, &[], INHERITS)).collect();
        let remarks = check(&package(name, dependencies, &manifest), &ours);
        let remarks: Vec<String> = remarks.iter().map(Remark::to_string).collect();
        assert_eq!(remarks.len(), expected.len(), "{remarks:?}");
        for (remark, expected) in remarks.iter().zip(expected) {
            assert!(remark.starts_with(expected), "{remark:?} should start with {expected:?}");
        }
    }

    #[test]
    fn a_crate_may_know_whom_its_row_names() {
        check_dependencies("tap-store", &["rusqlite", "tap-frame", "tap-session"], &[]);
        check_dependencies("mcp-tap", &["tap-frame", "tap-store", "tap-relay"], &[]);
        check_dependencies("tap-frame", &["bytes"], &[]);
    }

    #[test]
    fn a_crate_must_not_know_another() {
        check_dependencies(
            "tap-relay",
            &["tap-frame", "tap-store"],
            &["Cargo.toml:3: tap-relay may know tap-frame, tap-transport, but depends on tap-store; remove"],
        );
        check_dependencies(
            "tap-frame",
            &["tap-jsonrpc"],
            &["Cargo.toml:2: tap-frame may know none of ours, but depends on tap-jsonrpc; "],
        );
    }

    #[test]
    fn a_crate_outside_the_table_is_a_failure_and_so_is_a_row_without_a_crate() {
        check_dependencies("tap-new", &[], &["Cargo.toml:1: tap-new is not in the table of who may know whom; add it"]);
        let all: Vec<Package> = WHO_MAY_KNOW_WHOM.iter().map(|(name, _)| package(name, &[], INHERITS)).collect();
        assert_eq!(check_table(&all), []);
        let remarks = check_table(&all[1..]);
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].text.contains(&all[0].name), "{remarks:?}");
    }

    #[test]
    fn forbidden_packages_are_found() {
        check_dependencies("tap-relay", &["bytes"], &[]);
        check_dependencies("tap-relay", &["serde_json"], &["Cargo.toml:2: tap-relay must not depend on serde_json; "]);
        check_dependencies("tap-session", &["tokio"], &["Cargo.toml:2: tap-session must not depend on tokio; "]);
        check_dependencies("tap-store", &["rusqlite", "serde_json"], &[]);
    }

    #[test]
    fn lints_are_taken_over() {
        for (manifest, is_fine) in [
            (INHERITS, true),
            ("lints.workspace = true\n[dependencies]\n", true),
            ("[package]\nversion.workspace = true\n", false),
            ("[lints]\n[dependencies]\nworkspace = true\n", false),
            ("[lints.rust]\nmissing_docs = \"warn\"\n", false),
        ] {
            let remark = check_lints(&package("tap-frame", &[], manifest));
            assert_eq!(remark.is_none(), is_fine, "manifest: {manifest:?}");
        }
    }
}
