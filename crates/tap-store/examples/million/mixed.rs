//! Traffic that is much like a coding agent's with a server of tools: the same each time.

use std::collections::VecDeque;

use tap_frame::Stream;

use super::Line;

/// Tools, and how many of a thousand calls are theirs. `delete_file` is called once in five thousand besides.
const TOOLS: [(&str, u64); 6] = [
    ("read_file", 420),
    ("search_code", 220),
    ("list_directory", 150),
    ("write_file", 100),
    ("run_query", 100),
    ("get_diagnostics", 10),
];

/// At most so many calls are in flight at a time.
const IN_FLIGHT: usize = 4;

/// A call that waits for its answer.
struct Waiting {
    id: u64,
    tool: &'static str,
    due_ns: u64,
}

/// Whole numbers that look random (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// So many lines. At nine tenths of them one answer holds the text `needle-7f3a`, and nothing else does.
pub(super) fn lines(n_lines: u64) -> impl Iterator<Item = Line> {
    let mut dice = Dice(7);
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    let (mut now_ns, mut next_id, mut needle) = (1_000_000, 2, Some(n_lines / 10 * 9));
    let mut opening = opening().into_iter();
    (0..n_lines).map(move |number| {
        now_ns += 50_000 + dice.below(400_000);
        if let Some((stream, text)) = opening.next() {
            return (stream, now_ns, text);
        }
        match dice.below(1_000) {
            0..4 => return (Stream::Stderr, now_ns, format!("level=info msg=\"indexed batch {number}\"\n")),
            4..30 => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","logger":"index","data":"step {number}"}}}}"#
                );
                return (Stream::ToClient, now_ns, text + "\n");
            }
            30..32 => {
                let text = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                return (Stream::ToClient, now_ns, format!("{text}\n"));
            }
            _ => {}
        }
        let is_due = waiting.front().is_some_and(|call| call.due_ns <= now_ns);
        if (is_due || IN_FLIGHT <= waiting.len())
            && let Some(call) = waiting.pop_front()
        {
            now_ns = now_ns.max(call.due_ns);
            let has_needle = needle.is_some_and(|at| at <= number);
            if has_needle {
                needle = None;
            }
            return (Stream::ToClient, now_ns, answer(&call, &mut dice, has_needle));
        }
        let id = next_id;
        next_id += 1;
        let tool = tool(&mut dice);
        // Most take some milliseconds, few take long.
        let takes_ns = match dice.below(2_000) {
            0 => 1_000_000_000 + dice.below(3_000_000_000),
            1..100 => 20_000_000 + dice.below(80_000_000),
            _ => 200_000 + dice.below(2_000_000),
        };
        waiting.push_back(Waiting { id, tool, due_ns: now_ns + takes_ns });
        (Stream::ToServer, now_ns, request(id, tool, &mut dice))
    })
}

fn tool(dice: &mut Dice) -> &'static str {
    if dice.below(5_000) == 0 {
        return "delete_file";
    }
    let mut left = dice.below(TOOLS.iter().map(|(_, share)| share).sum());
    for (name, share) in TOOLS {
        if left < share {
            return name;
        }
        left -= share;
    }
    TOOLS[0].0
}

fn opening() -> Vec<(Stream, String)> {
    let names = TOOLS.iter().map(|(name, _)| *name).chain(["delete_file"]);
    let tools = names.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    let tools = tools.collect::<Vec<_>>().join(",");
    [
        (
            Stream::ToServer,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1.0"}}}"#.to_owned(),
        ),
        (
            Stream::ToClient,
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"workspace","version":"2.1"}}}"#.to_owned(),
        ),
        (Stream::ToServer, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()),
        (Stream::ToServer, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned()),
        (Stream::ToClient, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}"#)),
    ]
    .map(|(stream, text)| (stream, text + "\n"))
    .into()
}

fn request(id: u64, tool: &str, dice: &mut Dice) -> String {
    let file = dice.below(20_000);
    let arguments = match tool {
        "search_code" => format!(r#"{{"pattern":"fn item_{file}","glob":"**/*.rs","limit":50}}"#),
        "run_query" => format!(r#"{{"sql":"select * from item where id = {id} order by name","readonly":true}}"#),
        "write_file" => {
            format!(r#"{{"path":"/home/user/project/src/file_{file}.rs","content":"pub fn item_{file}() {{}}\n"}}"#)
        }
        _ => format!(r#"{{"path":"/home/user/project/src/file_{file}.rs"}}"#),
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
    ) + "\n"
}

/// One in a hundred is an error of the tool's, one in five hundred one of the protocol's, one in five thousand large.
fn answer(call: &Waiting, dice: &mut Dice, has_needle: bool) -> String {
    let Waiting { id, tool, .. } = call;
    let needle = if has_needle { "needle-7f3a " } else { "" };
    let line = match dice.below(5_000) {
        0 => {
            let filling = "pub fn generated() -> usize { 42 } // ".repeat(5_000);
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{needle}{filling}"}}]}}}}"#
            )
        }
        1..51 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{needle}{tool}: no such file"}}],"isError":true}}}}"#
        ),
        51..61 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"{needle}invalid arguments for {tool}"}}}}"#
        ),
        61..111 => {
            let filling = "let value = compute(&input)?; ".repeat(270);
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{needle}{filling}"}}]}}}}"#
            )
        }
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{needle}pub fn item_{id:06}() -> usize {{ 42 }} // and so on"}}],"isError":false}}}}"#
        ),
    };
    line + "\n"
}
