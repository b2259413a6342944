//! The local authority: a key of this user's own that signs certificates for the names that clients ask for.
//!
//! It is made on first use and kept in a folder: `authority.pem` holds the key and its certificate, for the user alone;
//! `authority.crt` is the certificate, to be trusted by clients; `bundle.crt` is it together with what the system trusts,
//! for clients whose setting replaces the system's authorities. Certificates that it signs live in memory only.
//!
//! Its certificate cannot name the hosts it may sign for, since that is any host. It can say what for: TLS servers alone,
//! and no further authorities.

use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the authority is good for, days.
const AUTHORITY_DAYS: u32 = 730;

/// With less than this left a new one is made, days. More than a certificate that it signs is good for.
const RENEWED_DAYS: u32 = 90;

/// How long a certificate for a name is good for, days: far below what any client refuses as too long.
const LEAF_DAYS: u32 = 60;

/// A certificate for a name is used for so long before another is signed, days.
const LEAF_USED_DAYS: u32 = 30;

/// How many names have their certificate kept. When there are more, all are signed again as they are asked for.
const LEAVES: usize = 500;

/// A name longer than this does not fit the common name of a certificate (X.520, ub-common-name). Clients read the
/// alternative names.
const COMMON_NAME_BYTES: usize = 64;

/// What precedes the end of the authority's time, Unix seconds, in its file.
const VALID_UNTIL: &str = "valid until: ";

/// That there is no authority to sign with.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The folder or a file in it cannot be made, read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is there, but holds something else.
    #[error("{} does not hold an authority's key and certificate: delete it to have a new one made", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
    },
    /// Somebody else may have the key.
    #[error(
        "{} can be read by others, who may have its key by now: delete it to have a new one made, and trust that instead",
        path.display()
    )]
    Open {
        /// Which file.
        path: PathBuf,
    },
    /// A key or certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

/// Signs certificates for names.
pub struct LocalAuthority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    until: SystemTime,
    is_new: bool,
    /// One key for all names: they are all served by this process.
    leaf_key: KeyPair,
    leaves: Mutex<HashMap<String, Leaf>>,
}

impl std::fmt::Debug for LocalAuthority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalAuthority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

struct Leaf {
    config: Arc<ServerConfig>,
    until: SystemTime,
}

/// What the authority's file holds.
struct Kept {
    key: KeyPair,
    certificate: CertificateDer<'static>,
    until: SystemTime,
}

impl LocalAuthority {
    /// The authority of this folder; made, with the folder, where there is none or its time is nearly over at `now`.
    ///
    /// Any number of processes may do this at once: all get the same one.
    ///
    /// # Errors
    ///
    /// When files cannot be read or written, or are not what they should be. Nothing is then overwritten.
    pub fn open(folder: &Path, now: SystemTime) -> Result<Self, AuthorityError> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let lock_path = folder.join("authority.lock");
        let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(&lock_path);
        let lock = lock.map_err(failed(&lock_path))?;
        // Held by nobody for longer than it takes to make a key. Let go when the file is closed.
        lock.lock().map_err(failed(&lock_path))?;
        let path = folder.join("authority.pem");
        let kept = read(&path)?.filter(|kept| now + DAY * RENEWED_DAYS < kept.until);
        let is_new = kept.is_none();
        let kept = match kept {
            Some(kept) => kept,
            None => make(&path, now)?,
        };
        let certificate_path = folder.join("authority.crt");
        let text = pem_of("CERTIFICATE", &kept.certificate);
        if std::fs::read(&certificate_path).ok().as_deref() != Some(text.as_bytes()) {
            replace(&certificate_path, text.as_bytes(), 0o644)?;
        }
        let Kept { key, certificate, until } = kept;
        let issuer = Issuer::new(authority_parameters(&key), key);
        let leaf_key = KeyPair::generate().map_err(cannot_make)?;
        Ok(Self { folder: folder.into(), issuer, certificate, until, is_new, leaf_key, leaves: Mutex::default() })
    }

    /// Whether it was made just now, so that nobody trusts it yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The file with its certificate (PEM), which clients are to trust.
    #[must_use]
    pub fn certificate_path(&self) -> PathBuf {
        self.folder.join("authority.crt")
    }

    /// Writes a file (PEM) with this authority's certificate, those that the system trusts, and those in `others` (PEM), for
    /// clients that are told of one file and trust nothing else then.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_bundle(&self, others: &[Vec<u8>]) -> Result<PathBuf, AuthorityError> {
        let mut trusted = rustls_native_certs::load_native_certs().certs;
        // What cannot be read of a file is not trusted by those either who would read it themselves.
        trusted.extend(others.iter().flat_map(|text| CertificateDer::pem_slice_iter(text).map_while(Result::ok)));
        let mut text = pem_of("CERTIFICATE", &self.certificate);
        // Where the system's are such a file already, ours is in it.
        let not_ours = trusted.iter().filter(|certificate| **certificate != self.certificate);
        text.extend(not_ours.map(|certificate| pem_of("CERTIFICATE", certificate)));
        let path = self.folder.join("bundle.crt");
        replace(&path, text.as_bytes(), 0o644)?;
        Ok(path)
    }

    /// How to serve TLS under `host`, a name or an address.
    ///
    /// # Errors
    ///
    /// When the name cannot stand in a certificate.
    pub(crate) fn server_config(&self, host: &str, now: SystemTime) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(host).filter(|leaf| now < leaf.until) {
            return Ok(leaf.config.clone());
        }
        if leaves.len() >= LEAVES {
            leaves.clear();
        }
        let config = Arc::new(self.sign(host, now)?);
        leaves.insert(host.into(), Leaf { config: config.clone(), until: now + DAY * LEAF_USED_DAYS });
        Ok(config)
    }

    fn sign(&self, host: &str, now: SystemTime) -> Result<ServerConfig, AuthorityError> {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let name = match address {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.trim_end_matches('.').to_owned().try_into().map_err(cannot_make)?),
        };
        let mut leaf = CertificateParams::default();
        leaf.distinguished_name = DistinguishedName::new();
        let common_name = if host.len() <= COMMON_NAME_BYTES { host } else { "a host behind mcp-tap" };
        leaf.distinguished_name.push(DnType::CommonName, common_name);
        leaf.subject_alt_names = vec![name];
        // Clocks differ.
        leaf.not_before = (now - DAY).into();
        leaf.not_after = (now + DAY * LEAF_DAYS).min(self.until).into();
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let certificate = leaf.signed_by(&self.leaf_key, &self.issuer).map_err(cannot_make)?;
        let key = PrivateKeyDer::Pkcs8(self.leaf_key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(cannot_make)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .map_err(cannot_make)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// What the authority's certificate says. Given by its key alone but for its time, so that nothing needs to be read out of
/// the certificate to sign with it.
fn authority_parameters(key: &KeyPair) -> CertificateParams {
    let digest = ring::digest::digest(&ring::digest::SHA256, key.public_key_raw());
    let digits: String = digest.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    // A name of its own for each, so that a client that trusts an old one and a new one takes neither for the other.
    authority.distinguished_name.push(DnType::CommonName, format!("mcp-tap local authority {digits}"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    authority
}

fn make(path: &Path, now: SystemTime) -> Result<Kept, AuthorityError> {
    let key = KeyPair::generate().map_err(cannot_make)?;
    let mut parameters = authority_parameters(&key);
    let until = now + DAY * AUTHORITY_DAYS;
    parameters.not_before = (now - DAY).into();
    parameters.not_after = until.into();
    let certificate = parameters.self_signed(&key).map_err(cannot_make)?;
    let seconds = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    // Text before the first line of a PEM file is for people (RFC 7468, 2).
    let text = format!(
        "The key of mcp-tap's local authority. Whoever has it can pretend to be any host to those who trust it.\n\
         {VALID_UNTIL}{seconds}\n{}{}",
        pem_of("PRIVATE KEY", key.serialized_der()),
        pem_of("CERTIFICATE", certificate.der())
    );
    replace(path, text.as_bytes(), 0o600)?;
    Ok(Kept { key, certificate: certificate.der().clone(), until })
}

fn read(path: &Path) -> Result<Option<Kept>, AuthorityError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path)(error)),
    };
    let mode = file.metadata().map_err(failed(path))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(AuthorityError::Open { path: path.into() });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed(path))?;
    understand(&text).map(Some).ok_or_else(|| AuthorityError::Broken { path: path.into() })
}

fn understand(text: &str) -> Option<Kept> {
    let seconds = text.lines().find_map(|line| line.strip_prefix(VALID_UNTIL))?.parse().ok()?;
    let until = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()?;
    let key = KeyPair::try_from(&key).ok()?;
    let certificate = CertificateDer::from_pem_slice(text.as_bytes()).ok()?;
    Some(Kept { key, certificate, until })
}

/// Writes a file that appears whole or not at all.
fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), AuthorityError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(partial);
    // What a process of the same number left behind: its permissions would stay.
    let _ = std::fs::remove_file(&partial);
    let written = File::options().create_new(true).write(true).mode(mode).open(&partial).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        failed(path)(error)
    })
}

/// A thing as text (RFC 7468).
fn pem_of(label: &str, der: &[u8]) -> String {
    let base64 = base64::engine::general_purpose::STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in base64.as_bytes().chunks(64) {
        text.extend(line.iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

fn failed(path: &Path) -> impl Fn(io::Error) -> AuthorityError {
    move |source| AuthorityError::File { path: path.into(), source }
}

fn cannot_make(error: impl std::fmt::Display) -> AuthorityError {
    AuthorityError::Make(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_authority_stays_the_same_until_its_time_is_nearly_over() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("data/mcp-tap");
        let now = SystemTime::now();
        let mut certificates = Vec::new();
        for (days, is_new) in [(0, true), (1, false), (639, false), (641, true), (642, false)] {
            let authority = LocalAuthority::open(&folder, now + DAY * days).unwrap();
            assert_eq!(authority.is_new(), is_new, "after {days} days");
            certificates.push(std::fs::read_to_string(authority.certificate_path()).unwrap());
        }
        assert!(certificates[0] == certificates[2] && certificates[2] != certificates[3]);
        assert_eq!(certificates[3], certificates[4]);
        assert_eq!(names(&folder), ["authority.crt", "authority.lock", "authority.pem"]);
    }

    #[test]
    fn a_certificate_that_was_deleted_or_changed_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let open = || LocalAuthority::open(folder.path(), SystemTime::now()).unwrap();
        let path = open().certificate_path();
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, "another").unwrap();
        open();
        assert_eq!(std::fs::read(&path).unwrap(), text);
        std::fs::remove_file(&path).unwrap();
        open();
        assert_eq!(std::fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_key_that_others_can_read_is_used_no_more() {
        let folder = tempfile::tempdir().unwrap();
        LocalAuthority::open(folder.path(), SystemTime::now()).unwrap();
        let path = folder.path().join("authority.pem");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let told = LocalAuthority::open(folder.path(), SystemTime::now()).unwrap_err().to_string();
        assert!(told.contains("can be read by others"), "{told}");
    }

    #[test]
    fn certificates_are_signed_for_names_and_addresses_and_kept_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let authority = LocalAuthority::open(folder.path(), now).unwrap();
        let long = ["a-label-of-a-name-that-is-not-short"; 3].join(".");
        for host in ["example.com", "example.com.", "127.0.0.1", "[::1]", &long, "xn--bcher-kva.example"] {
            let first = authority.server_config(host, now).unwrap();
            assert!(Arc::ptr_eq(&first, &authority.server_config(host, now + DAY * 29).unwrap()), "{host}");
            assert!(!Arc::ptr_eq(&first, &authority.server_config(host, now + DAY * 31).unwrap()), "{host}");
        }
        assert!(authority.server_config("bücher.example", now).is_err());
        for number in 0..LEAVES + 10 {
            authority.server_config(&format!("{number}.example.com"), now).unwrap();
        }
        assert!(authority.leaves.lock().unwrap().len() <= LEAVES);
    }

    #[test]
    fn a_bundle_holds_this_authority_and_others() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let authority = LocalAuthority::open(folder.path(), SystemTime::now()).unwrap();
        let other = LocalAuthority::open(other.path(), SystemTime::now()).unwrap();
        let text = |authority: &LocalAuthority| std::fs::read_to_string(authority.certificate_path()).unwrap();
        let others = [text(&other).into_bytes(), b"no certificate".to_vec(), text(&authority).into_bytes()];
        let bundle = std::fs::read_to_string(authority.write_bundle(&others).unwrap()).unwrap();
        assert!(bundle.starts_with(&text(&authority)) && bundle.contains(&text(&other)));
        assert_eq!(bundle.matches(&text(&authority)).count(), 1);
    }
}
