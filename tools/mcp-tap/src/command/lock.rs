//! `mcp-tap lock`: what servers offer, held fast in a file that is reviewed; and whether they still offer that.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use tap_compare::{Dials, Drift, Markers, drift};
use tap_jsonrpc::{Content, Node, scan};
use tap_router::canonical;

use super::client::{Meant, meant_and_left_out, run_until_stopped};
use super::diff::text::drift_items;
use super::tools::{Offered, ask_all};
use crate::arguments::{Global, Lock, Server, Servers};
use crate::failure::{COULD_NOT, Failure, NO};
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::output::{Output, Style};
use crate::recording::say;
use crate::servers::Configured;
use crate::text::{counted, pretty, shown};

/// The member that says what the file is, and its version.
const VERSION: &str = "mcpTapLock";

/// What of a server's is held fast.
const KINDS: [tap_compare::ListKind; 4] = tap_compare::ListKind::ALL;

/// Items of one list, by name or address: as the server wrote them.
type Items = BTreeMap<String, String>;

/// What is held fast: by server, then by the member that lists it.
pub(super) type Locked = BTreeMap<String, BTreeMap<&'static str, Items>>;

pub(crate) fn lock(global: &Global, lock: &Lock) -> Result<u8, Failure> {
    // What is wrong with the file is told before servers are started.
    let before = if lock.check || lock.file.is_file() { Some(read(&lock.file)?) } else { None };
    let is_named = global.config.is_some()
        || lock.server.url.is_some()
        || lock.server.session.is_some()
        || !lock.server.command.is_empty();
    if before.is_some() && !lock.check && !is_named {
        let file = shown(&lock.file.to_string_lossy(), false);
        return Err(Failure::new(format!("{file} is there already, and no server is named that would go into it"))
            .hint("name it: --config FILE, --url URL, --session REF or -- COMMAND"));
    }
    let (servers, n_left_out) = meant_and_left_out(global, &lock.server)?;
    let (now, n_failed) = offered(global, &lock.server, &servers)?;
    let n_failed = n_failed + n_left_out;
    if let Some(locked) = before.as_ref().filter(|_| lock.check) {
        return check(global, lock, locked, &now, n_failed);
    }
    if n_failed > 0 {
        return Err(Failure::new("not all servers could be asked, so that nothing is written"));
    }
    if let Some(before) = before.as_ref().filter(|_| !global.quiet) {
        told_changes(before, &now).iter().for_each(|line| say(line));
    }
    let mut locked = before.unwrap_or_default();
    let n_items = n_items(&now);
    locked.extend(now);
    write(&lock.file, &locked)?;
    if !global.quiet {
        say(&format!(
            "{} of {} held fast in {}; look through it, and keep it with your code",
            counted(n_items as u64, "thing"),
            counted(servers.len() as u64, "server"),
            shown(&lock.file.to_string_lossy(), false)
        ));
    }
    Ok(0)
}

fn n_items(locked: &Locked) -> usize {
    locked.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
}

fn write(path: &Path, locked: &Locked) -> Result<(), Failure> {
    let file = NewFile::create(path, Readers::Usual)?;
    file.writer()?.write_all(written(locked).as_bytes()).map_err(|error| cannot_write(path, &error))?;
    file.finish()
}

/// What is held fast in a file, with those servers put into it that are not there yet, as they are now: trust on first use.
pub(super) fn read_trusting(
    global: &Global,
    path: &Path,
    configured: &[&Configured],
    wanted: &Servers,
) -> Result<Locked, Failure> {
    let mut locked = if path.is_file() { read(path)? } else { Locked::new() };
    let new = configured.iter().filter(|server| !locked.contains_key(&server.name));
    let new: Vec<Meant> = new.map(|server| Meant::configured(server)).collect::<Result<_, _>>()?;
    if new.is_empty() {
        return Ok(locked);
    }
    // They are asked once before they are used, as `mcp-tap lock` would.
    let how = Server { timeout: wanted.timeout, no_record: wanted.no_record, ..Server::default() };
    let (now, _) = offered(global, &how, &new)?;
    if !global.quiet {
        for (name, lists) in &now {
            let n_items = lists.values().map(BTreeMap::len).sum::<usize>() as u64;
            let (name, file) = (shown(name, false), shown(&path.to_string_lossy(), false));
            say(&format!("{name} is seen for the first time: {} held fast in {file}", counted(n_items, "thing")));
        }
    }
    if !now.is_empty() {
        locked.extend(now);
        write(path, &locked)?;
    }
    Ok(locked)
}

/// What becomes of an existing file, a line for each server: what is added, changed, removed, and which servers are kept.
fn told_changes(before: &Locked, now: &Locked) -> Vec<String> {
    let none = Items::new();
    let mut lines = Vec::new();
    for (server, lists) in now {
        let name = shown(server, false);
        let Some(known) = before.get(server) else {
            lines.push(format!("{name}: added"));
            continue;
        };
        let (mut added, mut changed, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for kind in KINDS {
            let (a, b) = (known.get(kind.member()).unwrap_or(&none), lists.get(kind.member()).unwrap_or(&none));
            for (item, text) in b {
                match a.get(item) {
                    None => added.push(shown(item, false)),
                    Some(other) if !says_the_same(other, text) => changed.push(shown(item, false)),
                    Some(_) => {}
                }
            }
            removed.extend(a.keys().filter(|item| !b.contains_key(*item)).map(|item| shown(item, false)));
        }
        let parts: Vec<String> = [("added", added), ("changed", changed), ("removed", removed)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        lines.push(match parts.as_slice() {
            [] => format!("{name}: as it was"),
            parts => format!("{name}: {}", parts.join("; ")),
        });
    }
    let kept = before.keys().filter(|server| !now.contains_key(*server));
    lines.extend(kept.map(|server| format!("{}: not asked, kept as it was", shown(server, false))));
    lines
}

/// What servers offer now, and how many could not be asked.
fn offered(global: &Global, how: &Server, servers: &[Meant]) -> Result<(Locked, usize), Failure> {
    let asked = run_until_stopped(async { Ok(ask_all(global, how, servers).await) })?;
    let (mut now, mut n_failed) = (Locked::new(), 0);
    for (server, asked) in servers.iter().zip(asked) {
        match asked {
            Ok((offered, _)) if offered.problems.is_empty() => drop(now.insert(server.name.clone(), items(&offered))),
            Ok((offered, _)) => {
                n_failed += 1;
                say(&shown(&format!("{}: {}", server.name, offered.problems.join("; ")), false));
            }
            Err(failure) => {
                n_failed += 1;
                say(&shown(&failure.message, true));
            }
        }
    }
    Ok((now, n_failed))
}

fn items(offered: &Offered) -> BTreeMap<&'static str, Items> {
    let mut all = BTreeMap::new();
    for (kind, listing) in &offered.lists {
        let of =
            |item: &tap_peer::Item| Some((item.text(kind.key())?, String::from_utf8_lossy(&item.0.0).into_owned()));
        let items: Items = listing.items.iter().filter_map(of).collect();
        if !items.is_empty() {
            all.insert(kind.member(), items);
        }
    }
    all
}

/// The text of a file.
fn written(locked: &Locked) -> String {
    let list = |items: &Items| format!("[{}]", items.values().cloned().collect::<Vec<_>>().join(","));
    let server = |(name, lists): (&String, &BTreeMap<&'static str, Items>)| {
        let lists: Vec<String> = lists.iter().map(|(member, items)| format!("\"{member}\":{}", list(items))).collect();
        format!("{}:{{{}}}", tap_peer::quoted(name), lists.join(","))
    };
    let servers: Vec<String> = locked.iter().map(server).collect();
    format!("{}\n", pretty(&format!("{{\"{VERSION}\":1,\"servers\":{{{}}}}}", servers.join(","))))
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Locked, Failure> {
    let place = shown(&path.to_string_lossy(), false);
    let text = std::fs::read(path).map_err(|error| Failure::new(format!("cannot read {place}: {error}")))?;
    of_text(&text)
        .map_err(|what| Failure::new(format!("{place}: {what}")).hint("`mcp-tap lock` without --check writes one"))
}

fn of_text(text: &[u8]) -> Result<Locked, String> {
    if matches!(scan(text, &[]).content, Content::Blank | Content::NotJson(_)) {
        return Err("it is no JSON".into());
    }
    let node = Node::new(text);
    match node.get(VERSION).and_then(Node::as_i64) {
        Some(1) => {}
        Some(version) => return Err(format!("it is of version {version}, which this mcp-tap does not know")),
        None => return Err(format!("it has no `{VERSION}`, so that it is none of these files")),
    }
    let mut locked = Locked::new();
    for (name, lists) in node.get("servers").into_iter().flat_map(Node::members) {
        let mut of_server = BTreeMap::new();
        for kind in KINDS {
            let list = lists.get(kind.member()).into_iter().flat_map(Node::elements);
            let item = |item: Node<'_>| {
                let name = item.get(kind.key())?.text()?.into_owned();
                Some((name, String::from_utf8_lossy(item.bytes()).into_owned()))
            };
            let items: Items = list.filter_map(item).collect();
            if !items.is_empty() {
                of_server.insert(kind.member(), items);
            }
        }
        locked.insert(name.text().into_owned(), of_server);
    }
    Ok(locked)
}

/// Says what is not as it is held fast.
fn check(global: &Global, lock: &Lock, locked: &Locked, now: &Locked, n_failed: usize) -> Result<u8, Failure> {
    let mut out = Output::paged(global);
    let mut n_changed = 0;
    for (name, lists) in now {
        let Some(before) = locked.get(name) else {
            n_changed += 1;
            writeln!(out, "{}", out.styled(Style::Bad, &format!("{} is not in the file", shown(name, false))))?;
            continue;
        };
        let mut has_head = false;
        for kind in KINDS {
            let none = Items::new();
            let (a, b) = (before.get(kind.member()).unwrap_or(&none), lists.get(kind.member()).unwrap_or(&none));
            if is_same(a, b) {
                continue;
            }
            n_changed += 1;
            if !std::mem::replace(&mut has_head, true) {
                writeln!(out, "{}", out.styled(Style::Bold, &shown(name, false)))?;
            }
            let drift = drifted(kind, a, b);
            drift_items(&mut out, kind.one(), &drift, lock.limit)?;
            if drift.items.is_empty() {
                writeln!(out, "  {} are written in another way", kind.member())?;
            }
        }
    }
    if n_changed == 0 && n_failed == 0 {
        writeln!(out, "{}", out.styled(Style::Good, "as it is held fast"))?;
    } else if n_changed > 0 {
        let hint = "`mcp-tap lock` without --check takes it as it is now; look through the change first";
        writeln!(out, "{}", out.styled(Style::Dim, hint))?;
    }
    out.finish()?;
    Ok(match (n_failed, n_changed) {
        (0, 0) => 0,
        (0, _) => NO,
        _ => COULD_NOT,
    })
}

/// Whether items say the same: white space and the order of members mean nothing.
fn is_same(a: &Items, b: &Items) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((a, left), (b, right))| a == b && says_the_same(left, right))
}

fn says_the_same(a: &str, b: &str) -> bool {
    canonical(Node::new(a.as_bytes())) == canonical(Node::new(b.as_bytes()))
}

fn drifted(kind: tap_compare::ListKind, a: &Items, b: &Items) -> Drift {
    drift(kind, &nodes(a), &nodes(b), &Dials::default(), &mut Markers::new())
}

fn nodes(items: &Items) -> Vec<Node<'_>> {
    items.values().map(|text| Node::new(text.as_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(tool: &str) -> Locked {
        let items = Items::from([("t".to_owned(), tool.to_owned())]);
        Locked::from([("a \"b\"".to_owned(), BTreeMap::from([("tools", items)]))])
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = locked(r#"{"name":"t","description":"\ud800","n":1e400}"#);
        let text = written(&all);
        let read = of_text(text.as_bytes()).unwrap();
        let items = |locked: &Locked| locked["a \"b\""]["tools"].clone();
        assert!(is_same(&items(&all), &items(&read)), "{text}");
        assert!(text.contains("1e400") && text.contains(r"\ud800"), "{text}");
        for (text, says) in [
            ("{", "it is no JSON"),
            ("{}", "it has no `mcpTapLock`, so that it is none of these files"),
            ("{\"mcpTapLock\":2}", "it is of version 2, which this mcp-tap does not know"),
        ] {
            assert_eq!(of_text(text.as_bytes()).unwrap_err(), says);
        }
    }

    #[test]
    fn what_becomes_of_a_file_is_told_by_name() {
        let server = |tools: &[(&str, &str)]| {
            let items = tools.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            BTreeMap::from([("tools", items)])
        };
        let before = Locked::from([
            ("a".into(), server(&[("x", "{}"), ("y", r#"{"n":1}"#), ("z", "{}")])),
            ("b".into(), server(&[("x", r#"{"n":[1, 2]}"#)])),
            ("c".into(), server(&[])),
        ]);
        let now = Locked::from([
            ("a".into(), server(&[("w", "{}"), ("x", "{}"), ("y", r#"{"n":2}"#)])),
            ("b".into(), server(&[("x", r#"{"n":[1,2]}"#)])),
            ("d".into(), server(&[("x", "{}")])),
        ]);
        assert_eq!(
            told_changes(&before, &now),
            ["a: added w; changed y; removed z", "b: as it was", "d: added", "c: not asked, kept as it was"]
        );
    }

    #[test]
    fn only_what_says_something_else_is_a_change() {
        let same = |a: &str, b: &str| is_same(&locked(a)["a \"b\""]["tools"], &locked(b)["a \"b\""]["tools"]);
        assert!(same(r#"{"name":"t","a":[1, 2]}"#, r#"{ "a":[1,2],"name":"\u0074"}"#));
        assert!(!same(r#"{"name":"t","a":[1,2]}"#, r#"{"name":"t","a":[2,1]}"#));
        assert!(!same(r#"{"name":"t"}"#, r#"{"name":"t","description":""}"#));
    }
}
