//! Hosts' configurations on this machine: which there are, what is in them, and a new text in the place of the old.

use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tap_hosts::{Document, Folders, Format, Host, Place, Platform, Read, Scope, Shape, places, read};

use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::paths::backup_folder;

/// A configuration that is there.
#[derive(Debug, Clone)]
pub(crate) struct ConfigurationFile {
    pub(crate) path: PathBuf,
    /// Whose it is; `None` for one that was only named.
    pub(crate) host: Option<Host>,
    pub(crate) scope: Scope,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    pub(crate) text: String,
    pub(crate) read: Read,
}

/// A configuration that is there and cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

impl ConfigurationFile {
    /// Reads a file that was named.
    pub(crate) fn named(path: &Path) -> Result<Self, Failure> {
        let text = text_of(path).map_err(|why| Failure::new(format!("cannot read {}: {why}", path.display())))?;
        let format = Format::of(&path.to_string_lossy());
        let wrong = |error| Failure::new(format!("{}: {error}", path.display()));
        let document = Document::parse(&text, format).map_err(wrong)?;
        let shape = Shape::guess(&document).ok_or_else(|| {
            Failure::new(format!("{} has no servers where a host would have them", path.display()))
                .hint("such as `mcpServers`, `servers`, `mcp_servers`, `context_servers` or `extensions`")
        })?;
        let read = read(&text, format, shape).map_err(wrong)?;
        Ok(Self { path: path.into(), host: None, scope: Scope::User, format, shape, text, read })
    }

    /// What it is now; it may have been changed since.
    pub(crate) fn again(&self) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::new(format!("{}: {why}", self.path.display()));
        let text = text_of(&self.path).map_err(wrong)?;
        let read = read(&text, self.format, self.shape).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { text, read, ..self.clone() })
    }

    /// What its host is called, or the file.
    pub(crate) fn title(&self) -> &'static str {
        self.host.map_or("this file", Host::title)
    }
}

/// The configurations of this host, or of all; those with servers in them, and those that cannot be read.
pub(crate) fn configurations(host: Option<Host>) -> Result<(Vec<ConfigurationFile>, Vec<Unreadable>), Failure> {
    let (mut files, mut unreadable): (Vec<ConfigurationFile>, _) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for place in places(&folders()?).into_iter().filter(|place| host.is_none_or(|host| host == place.host)) {
        for path in expand(&place.path) {
            let Ok(metadata) = path.metadata() else {
                continue;
            };
            // The same file under two names, or where the home is worked in.
            let is_known = (metadata.dev(), metadata.ino());
            if !metadata.is_file() || seen.contains(&is_known) {
                continue;
            }
            seen.push(is_known);
            match one(&place, path.clone()) {
                Ok(file) if file.read.servers.is_empty() && file.read.problems.is_empty() => {}
                Ok(file) => files.push(file),
                Err(why) => unreadable.push(Unreadable { path, why }),
            }
        }
    }
    Ok((files, unreadable))
}

fn one(place: &Place, path: PathBuf) -> Result<ConfigurationFile, String> {
    let text = text_of(&path)?;
    let read = read(&text, place.format, place.shape).map_err(|error| error.to_string())?;
    let Place { host, scope, format, shape, .. } = *place;
    Ok(ConfigurationFile { path, host: Some(host), scope, format, shape, text, read })
}

fn text_of(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into())
}

fn folders() -> Result<Folders, Failure> {
    let text = |path: PathBuf| path.to_string_lossy().trim_end_matches('/').to_owned();
    let set = |name: &str| std::env::var(name).ok().filter(|value| value.starts_with('/'));
    let home = std::env::home_dir().filter(|home| home.is_absolute()).map(text);
    let home =
        home.ok_or_else(|| Failure::new("HOME is not set, so there is no place where hosts have their files"))?;
    let work =
        std::env::current_dir().map(text).map_err(|error| Failure::new(format!("cannot tell the folder: {error}")))?;
    Ok(Folders {
        platform: if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Unix },
        configuration: set("XDG_CONFIG_HOME").unwrap_or_else(|| format!("{home}/.config")),
        home,
        work,
        claude_code: set("CLAUDE_CONFIG_DIR"),
        codex: set("CODEX_HOME"),
        cline_file: set("CLINE_MCP_SETTINGS_PATH"),
    })
}

/// The paths that a path stands for, of which one part may have a `*`.
fn expand(path: &str) -> Vec<PathBuf> {
    let Some((before, after)) = path.split_once('*') else {
        return vec![path.into()];
    };
    let (folder, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, rest) = after.split_once('/').map_or((after, None), |(suffix, rest)| (suffix, Some(rest)));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits =
        |name: &str| name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix);
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(fits))
        .map(|entry| rest.map_or_else(|| entry.path(), |rest| entry.path().join(rest)))
        .collect();
    found.sort();
    found
}

/// What became of a new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is there.
    Yes,
    /// The file was changed by somebody since it was read, and is left as it is.
    ChangedMeanwhile,
}

/// Puts a new text in the place of the old one: whole or not at all, with the same permissions and owner, through links, and
/// only if the old one is still there.
pub(crate) fn replace(path: &Path, old: &str, new: &str) -> Result<Placed, Failure> {
    let failed = |error: io::Error| cannot_write(path, &error);
    let metadata = path.metadata().map_err(failed)?;
    if metadata.permissions().readonly() {
        return Err(Failure::new(format!("{} is read-only", path.display()))
            .hint("make it writable, or change it where it is made from"));
    }
    let mut file = NewFile::create(path, Readers::Owner)?;
    file.write_all(new.as_bytes()).map_err(failed)?;
    like(&file, &metadata).map_err(failed)?;
    // As late as can be; what is written between this and the next line is lost.
    if std::fs::read(path).map_err(failed)? != old.as_bytes() {
        return Ok(Placed::ChangedMeanwhile);
    }
    file.finish()?;
    Ok(Placed::Yes)
}

fn like(file: &NewFile, metadata: &Metadata) -> io::Result<()> {
    let file = file.writer().map_err(|failure| io::Error::other(failure.message))?;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
        // Only root can give a file away; others keep it as theirs.
        let _ = std::os::unix::fs::fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
    }
    file.set_permissions(metadata.permissions())
}

/// Keeps what a file was before the tap was put into it. One is kept a file.
pub(crate) fn back_up(path: &Path, text: &str, is_untouched: bool) -> Result<Option<PathBuf>, Failure> {
    let folder = backup_folder()?;
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let name = whole.to_string_lossy().trim_start_matches('/').replace('%', "%25").replace('/', "%2F");
    let backup = folder.join(name);
    if !is_untouched && backup.exists() {
        return Ok(None);
    }
    let failed = |error: io::Error| cannot_write(&backup, &error);
    let mut options = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(options.recursive(true), 0o700);
    options.create(&folder).map_err(failed)?;
    let mut file = NewFile::create(&backup, Readers::Owner)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.finish()?;
    Ok(Some(backup))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_changed_meanwhile_is_left_and_nothing_lies_about() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, "theirs").unwrap();
        assert!(matches!(replace(&path, "as it was read", "ours"), Ok(Placed::ChangedMeanwhile)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(matches!(replace(&path, "theirs", "ours"), Ok(Placed::Yes)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "ours");
    }

    #[test]
    fn one_part_of_a_path_may_be_any() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yml", "c.yaml"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("p1")).unwrap();
        let base = folder.path().to_str().unwrap();
        let names = |pattern: &str| {
            let found = expand(&format!("{base}/{pattern}"));
            found.iter().map(|path| path.strip_prefix(base).unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("*.yaml"), ["a.yaml", "c.yaml"]);
        assert_eq!(names("p*/mcp.json"), ["p1/mcp.json"]);
        assert_eq!(names("none/*/x"), Vec::<String>::new());
        assert_eq!(names("b.yml"), ["b.yml"]);
    }
}
