//! The workspace as the checks see it: packages, texts, nothing that is still to be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The workspace as the checks see it.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) packages: Vec<Package>,
    /// Each `.rs` file below `crates`, `tools` and `tests`.
    pub(super) files: Vec<SourceFile>,
    /// The text of `README.md`.
    pub(super) readme: Option<String>,
    /// The text of `.ci/run`.
    pub(super) ci_run: Option<String>,
}

/// A package of ours.
#[derive(Debug, Clone)]
pub(super) struct Package {
    pub(super) name: String,
    /// Relative to the workspace, with `/`.
    pub(super) manifest_path: String,
    pub(super) manifest: String,
    /// What the package itself needs; dev-dependencies are left out.
    pub(super) dependencies: Vec<String>,
}

/// A file of Rust.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    /// Relative to the workspace, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// Why the workspace could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("cannot run cargo metadata: {0}")]
    Cargo(io::Error),
    #[error("cargo metadata failed: {0}")]
    Metadata(String),
    #[error("cannot understand what cargo metadata says: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot read {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<MetadataDependency>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    /// `null` for a normal one.
    kind: Option<String>,
}

impl Workspace {
    pub(super) fn read(root: &Path) -> Result<Self, ReadError> {
        let root = &root.canonicalize().map_err(|source| ReadError::File { path: root.to_owned(), source })?;
        let mut files = Vec::new();
        for folder in ["crates", "tools", "tests"] {
            read_sources(root, &root.join(folder), &mut files)?;
        }
        Ok(Self {
            packages: read_packages(root)?,
            files,
            readme: fs::read_to_string(root.join("README.md")).ok(),
            ci_run: fs::read_to_string(root.join(".ci/run")).ok(),
        })
    }
}

fn read_packages(root: &Path) -> Result<Vec<Package>, ReadError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(ReadError::Cargo)?;
    if !output.status.success() {
        return Err(ReadError::Metadata(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    metadata.packages.into_iter().map(|package| package_of(root, package)).collect()
}

fn package_of(root: &Path, package: MetadataPackage) -> Result<Package, ReadError> {
    let manifest = read_text(&package.manifest_path)?;
    let needed = package.dependencies.into_iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
    let mut dependencies: Vec<String> = needed.map(|dependency| dependency.name).collect();
    dependencies.sort();
    dependencies.dedup();
    Ok(Package { name: package.name, manifest_path: relative(root, &package.manifest_path), manifest, dependencies })
}

/// Takes in the `.rs` files of a folder and of those below it. A folder that is not there holds none.
fn read_sources(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), ReadError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ReadError::File { path: folder.to_owned(), source }),
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                read_sources(root, &path, files)?;
            }
        } else if name.ends_with(".rs") {
            files.push(SourceFile { path: relative(root, &path), text: read_text(&path)? });
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> Result<String, ReadError> {
    fs::read_to_string(path).map_err(|source| ReadError::File { path: path.to_owned(), source })
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
