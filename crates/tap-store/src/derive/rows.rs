//! Rows of the derived tables, gathered for one step and written at its end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, named_params, params};
use tap_exchange::{Conversation, Exchange, Read, Source};
use tap_frame::{Origin, Stream};
use tap_jsonrpc::RawId;
use tap_session::{At, Event, FrameEnd, FrameHead, HttpSessionNumber, Identity, MessageRow, Place, RowKind, Status};

use crate::stored::{end_code, kind_of_conversation};
use crate::writer::signed;

/// What a session's frames come to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) n_frames: u64,
    pub(super) n_messages: u64,
    pub(super) n_calls: u64,
    pub(super) n_errors: u64,
    pub(super) n_bytes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, more: &Self) {
        self.n_frames += more.n_frames;
        self.n_messages += more.n_messages;
        self.n_calls += more.n_calls;
        self.n_errors += more.n_errors;
        self.n_bytes += more.n_bytes;
    }

    pub(super) fn frame(&mut self, head: &FrameHead) {
        self.n_frames += 1;
        if let Origin::Act(_) = head.origin {
            return;
        }
        self.n_bytes += head.length;
        if head.stream != Stream::Stderr && head.origin == Origin::Wire {
            self.n_messages += 1;
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match event {
            // What we made is nobody's call, and nobody's mistake.
            Event::Row(row) if row.is_made() => {}
            Event::Row(row) => match row.kind {
                RowKind::Request => self.n_calls += 1,
                RowKind::NotAMessage | RowKind::NotJson => self.n_errors += 1,
                _ => {}
            },
            Event::Answered { stood_for: true, .. } | Event::Done { .. } => {}
            Event::Answered { status, .. } => self.n_errors += u64::from(*status != Status::Ok),
        }
    }

    /// Of what was over HTTP, messages alone are counted as such, and what is no MCP fails only when the server does.
    pub(super) fn read(&mut self, read: &Read) {
        if let Some(frame) = &read.frame {
            self.n_frames += 1;
            if !matches!(frame.frame.origin, Origin::Act(_)) {
                self.n_bytes += frame.frame.bytes.len() as u64;
            }
        }
        let is_of_no_concern = read.exchange.as_ref().is_some_and(|exchange| {
            exchange.conversation.is_none() && exchange.status.is_some_and(|status| status < 500)
        });
        self.n_errors += read.n_broken_off;
        for event in &read.events {
            match event {
                Event::Row(row) => {
                    let is_message = row.at.member == 0 && row.kind.is_message() && !row.is_made();
                    self.n_messages += u64::from(is_message);
                    self.event(event);
                }
                // A request of JSON-RPC that was refused is one that failed, whether or not a session came of it.
                Event::Answered { error_code, .. } if is_of_no_concern && !is_of_message(error_code.as_deref()) => {}
                Event::Answered { .. } | Event::Done { .. } => self.event(event),
            }
        }
    }
}

/// Whether an answer that is a status of HTTP is one to a message, and not to an exchange without one.
fn is_of_message(error_code: Option<&str>) -> bool {
    error_code.is_some_and(|code| code.starts_with("HTTP "))
}

/// A row of `message`.
struct Entry {
    row: MessageRow,
    place: Place,
    length: u64,
    end: FrameEnd,
    exchange: Option<u64>,
    conversation: Option<HttpSessionNumber>,
    source: Option<Source>,
}

/// Rows that are to be written. Most answers come soon after their request, so that its row can be completed in here,
/// which saves writing it twice.
#[derive(Default)]
pub(super) struct Rows {
    entries: Vec<Entry>,
    /// Where the requests among them are.
    requests: HashMap<At, usize>,
    /// What came of rows that were written before: answers to requests, and what was done to messages.
    updates: Vec<Event>,
    exchanges: BTreeMap<u64, Arc<Exchange>>,
    /// To which session the newest row of an exchange was said to belong.
    said: HashMap<u64, Option<HttpSessionNumber>>,
    /// Exchanges of which earlier rows may say something else.
    moved: BTreeSet<u64>,
    refused: Vec<HttpSessionNumber>,
    /// Sessions of MCP that are not followed any more, as they were at last.
    pub(super) forgotten: Vec<Conversation>,
}

impl Rows {
    /// How many there are to be written.
    pub(super) fn len(&self) -> usize {
        self.entries.len() + self.updates.len()
    }

    pub(super) fn take(&mut self, head: &FrameHead, event: Event) {
        let FrameHead { start: place, length, end, .. } = *head;
        self.event(event, |row| Entry { row, place, length, end, exchange: None, conversation: None, source: None });
    }

    pub(super) fn take_read(&mut self, read: Read) {
        let Read { frame, events, exchange, refused, mut forgotten, .. } = read;
        self.forgotten.append(&mut forgotten);
        if let Some(exchange) = exchange {
            let said = self.said.insert(exchange.number, exchange.conversation);
            // The first rows of an exchange come with what is known of it; of an earlier step it is not known what they say.
            let is_first = frame.as_ref().is_some_and(|frame| Some(frame.frame.seq) == exchange.request_seq);
            if !is_first && said != Some(exchange.conversation) {
                self.moved.insert(exchange.number);
            }
            self.exchanges.insert(exchange.number, exchange);
        }
        for event in events {
            self.event(event, |row| match &frame {
                Some(frame) => Entry {
                    row,
                    place: frame.place,
                    length: frame.frame.bytes.len() as u64,
                    end: frame.end,
                    exchange: frame.exchange,
                    conversation: frame.conversation,
                    source: frame.source,
                },
                None => Entry {
                    row,
                    place: Place { segment: 0, offset: 0 },
                    length: 0,
                    end: FrameEnd::Newline,
                    exchange: None,
                    conversation: None,
                    source: None,
                },
            });
        }
        self.refused.extend(refused);
    }

    fn event(&mut self, event: Event, entry: impl FnOnce(MessageRow) -> Entry) {
        match event {
            Event::Row(row) => {
                if matches!(row.kind, RowKind::Request | RowKind::Exchange | RowKind::Gap) {
                    self.requests.insert(row.at, self.entries.len());
                }
                self.entries.push(entry(row));
            }
            Event::Answered { request, answer, latency_ns, status, ref error_code, .. } => {
                let entry = self.requests.get(&request).and_then(|index| self.entries.get_mut(*index));
                match entry {
                    Some(Entry { row, .. }) => {
                        row.pair = Some(answer);
                        row.latency_ns = Some(latency_ns);
                        row.status = Some(status);
                        row.error_code.clone_from(error_code);
                    }
                    None => self.updates.push(event),
                }
            }
            Event::Done { seq, ref done } => {
                let newest = self.entries.iter_mut().rev().take_while(|entry| seq <= entry.row.at.seq);
                let mut is_here = false;
                for entry in newest.filter(|entry| entry.row.at.seq == seq) {
                    entry.row.done = Some(done.clone());
                    is_here = true;
                }
                if !is_here {
                    self.updates.push(event);
                }
            }
        }
    }

    pub(super) fn write(&self, connection: &Connection, session: i64) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO message (session, seq, member, wall_ns, at_ns, stream, kind, raw_id, method, target, status,
                                  error_code, pair_seq, pair_member, latency_ns, segment, start, length, frame_end,
                                  lost_bytes, notes, exchange, conversation, raw_part, raw_length, raw_event, compressed,
                                  received, deed, made, fault, held_ns, done_seq, done_by, head_bytes, waits, gone)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                     ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        for Entry { row, place, length, end, exchange, conversation, source } in &self.entries {
            insert.execute(params![
                session,
                signed(row.at.seq),
                signed(row.at.member),
                signed(row.wall_ns),
                signed(row.at_ns),
                row.stream.code(),
                row.kind.code(),
                row.raw_id.as_ref().map(RawId::as_bytes),
                row.method,
                row.target,
                row.status.map(Status::code),
                row.error_code,
                row.pair.map(|pair| signed(pair.seq)),
                row.pair.map(|pair| signed(pair.member)),
                row.latency_ns.map(signed),
                signed(place.segment),
                signed(place.offset),
                signed(*length),
                end_code(*end),
                row.lost_bytes.map(signed),
                row.notes.bits(),
                exchange.map(signed),
                conversation.map(|number| signed(number.0)),
                source.map(|source| source.part.code()),
                source.map(|source| signed(source.raw_length)),
                source.and_then(|source| source.event).map(signed),
                source.map(|source| source.compressed),
                row.received.map(signed),
                row.done.as_ref().map(|done| done.deed.code()),
                row.done.as_ref().map(|done| done.made),
                row.done.as_ref().map(|done| done.fault),
                row.done.as_ref().map(|done| signed(done.held_ns)),
                row.done.as_ref().and_then(|done| done.other).map(|other| signed(other.seq)),
                row.done.as_ref().map(|done| &*done.by),
                row.done.as_ref().filter(|done| done.made).map(|done| signed(done.head_bytes)),
                row.done.as_ref().filter(|done| done.waits).map(|_| true),
                row.done.as_ref().filter(|done| done.was_kept_back()).map(|_| true),
            ])?;
        }
        let mut update = connection.prepare_cached(
            "UPDATE message SET pair_seq = ?, pair_member = ?, latency_ns = ?, status = ?, error_code = ?
             WHERE session = ? AND seq = ? AND member = ?",
        )?;
        let mut done_to = connection.prepare_cached(
            "UPDATE message SET deed = ?, made = 0, fault = ?, held_ns = ?, done_seq = ?, done_by = ?, gone = ?
             WHERE session = ? AND seq = ?",
        )?;
        for event in &self.updates {
            if let Event::Done { seq, done } = event {
                done_to.execute(params![
                    done.deed.code(),
                    done.fault,
                    signed(done.held_ns),
                    done.other.map(|other| signed(other.seq)),
                    &*done.by,
                    done.was_kept_back().then_some(true),
                    session,
                    signed(*seq),
                ])?;
            }
            if let Event::Answered { request, answer, latency_ns, status, error_code, .. } = event {
                update.execute(params![
                    signed(answer.seq),
                    signed(answer.member),
                    signed(*latency_ns),
                    status.code(),
                    error_code,
                    session,
                    signed(request.seq),
                    signed(request.member),
                ])?;
            }
        }
        self.write_http(connection, session)
    }

    fn write_http(&self, connection: &Connection, session: i64) -> rusqlite::Result<()> {
        for exchange in self.exchanges.values() {
            write_exchange(connection, session, exchange)?;
        }
        for number in &self.moved {
            let conversation = self.exchanges.get(number).and_then(|exchange| exchange.conversation);
            let mut update = connection.prepare_cached(
                "UPDATE message SET conversation = ?1
                 WHERE session = ?2 AND exchange = ?3 AND conversation IS NOT ?1",
            )?;
            update.execute(params![conversation.map(|number| signed(number.0)), session, signed(*number)])?;
        }
        for number in &self.refused {
            for statement in [
                "UPDATE message SET conversation = NULL WHERE session = ? AND conversation = ?",
                "UPDATE exchange SET conversation = NULL WHERE session = ? AND conversation = ?",
            ] {
                connection.prepare_cached(statement)?.execute(params![session, signed(number.0)])?;
            }
        }
        Ok(())
    }
}

/// Writes down sessions of MCP as they are now.
pub(super) fn write_conversations<'a>(
    connection: &Connection,
    session: i64,
    conversations: impl IntoIterator<Item = &'a Conversation>,
) -> rusqlite::Result<()> {
    conversations.into_iter().try_for_each(|conversation| write_conversation(connection, session, conversation))
}

fn write_exchange(connection: &Connection, session: i64, exchange: &Exchange) -> rusqlite::Result<()> {
    let mut replace = connection.prepare_cached(
        "INSERT OR REPLACE INTO exchange
             (session, number, connection, verb, target, request_version, request_fields, response_version,
              response_fields, status, opened_at_ns, request_end_at_ns, connect_ns, server_version, response_at_ns,
              first_byte_at_ns, ended_at_ns, end_code, request_bytes, response_bytes, lost_bytes, undecodable,
              conversation, request_seq, first_segment, last_segment)
         VALUES (:session, :number, :connection, :verb, :target, :request_version, :request_fields, :response_version,
                 :response_fields, :status, :opened_at_ns, :request_end_at_ns, :connect_ns, :server_version,
                 :response_at_ns, :first_byte_at_ns, :ended_at_ns, :end_code, :request_bytes, :response_bytes,
                 :lost_bytes, :undecodable, :conversation, :request_seq, :first_segment, :last_segment)",
    )?;
    replace.execute(named_params! {
        ":session": session,
        ":number": signed(exchange.number),
        ":connection": signed(exchange.connection),
        ":verb": exchange.verb,
        ":target": exchange.target,
        ":request_version": exchange.request.version,
        ":request_fields": &exchange.request.text[..],
        ":response_version": exchange.response.as_ref().map(|head| &head.version),
        ":response_fields": exchange.response.as_ref().map(|head| &head.text[..]),
        ":status": exchange.status,
        ":opened_at_ns": signed(exchange.opened_at_ns),
        ":request_end_at_ns": exchange.request_end_at_ns.map(signed),
        ":connect_ns": exchange.connect_ns.map(signed),
        ":server_version": exchange.server_version,
        ":response_at_ns": exchange.response_at_ns.map(signed),
        ":first_byte_at_ns": exchange.first_byte_at_ns.map(signed),
        ":ended_at_ns": exchange.ended_at_ns.map(signed),
        ":end_code": exchange.end.map(tap_frame::HttpEnd::code),
        ":request_bytes": signed(exchange.request_bytes),
        ":response_bytes": signed(exchange.response_bytes),
        ":lost_bytes": signed(exchange.lost_bytes),
        ":undecodable": exchange.undecodable,
        ":conversation": exchange.conversation.map(|number| signed(number.0)),
        ":request_seq": exchange.request_seq.map(signed),
        ":first_segment": signed(exchange.first_segment),
        ":last_segment": signed(exchange.last_segment),
    })?;
    Ok(())
}

/// Who talks, in a recording over HTTP: of many, those of the session of MCP that was begun last.
pub(super) fn newest_identity(connection: &Connection, session: i64) -> rusqlite::Result<Identity> {
    let newest = |column: &str| {
        let query = format!(
            "SELECT {column} FROM conversation WHERE session = ? AND {column} IS NOT NULL ORDER BY number DESC LIMIT 1"
        );
        connection.prepare_cached(&query)?.query_row([session], |row| row.get(0)).optional()
    };
    Ok(Identity { client: newest("client")?, server: newest("server")?, revision: newest("revision")? })
}

fn write_conversation(connection: &Connection, session: i64, conversation: &Conversation) -> rusqlite::Result<()> {
    let mut replace = connection.prepare_cached(
        "INSERT OR REPLACE INTO conversation
             (session, number, kind, held_by, client, server, revision, era, first_seq, last_seq, n_messages, n_calls,
              n_errors, began_at_ns, ended_at_ns)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let (kind, held_by) = kind_of_conversation(&conversation.kind);
    replace.execute(params![
        session,
        signed(conversation.number.0),
        kind,
        held_by,
        conversation.client,
        conversation.server,
        conversation.revision,
        conversation.era,
        signed(conversation.first_seq),
        signed(conversation.last_seq),
        signed(conversation.n_messages),
        signed(conversation.n_calls),
        signed(conversation.n_errors),
        signed(conversation.began_at_ns),
        conversation.ended_at_ns.map(signed),
    ])?;
    Ok(())
}
