//! The rules of pages.

use crate::rules::{ALL, E, W};

rules! { PAGES:
    PAG_001 {
        id: "PAG-001",
        name: "foreign-cursor",
        severities: &[(ALL, W)],
        section: "server/utilities/pagination, Implementation Guidelines",
        title: "A list was asked for with a cursor that was never handed out for it.",
        advice: "Send the `nextCursor` of the page before, for the same method and in the same session, and no other.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"page-2"}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"cDI="}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"cDI="}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        needs_whole: true,
    }
    PAG_002 {
        id: "PAG-002",
        name: "cursor-edited",
        severities: &[(ALL, E)],
        section: "server/utilities/pagination, Implementation Guidelines",
        title: "A cursor was changed before it was sent back.",
        advice: "Send cursors back byte for byte: do not parse, trim, encode or decode them.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"cDI="}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"cDI"}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"cDI="}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"cDI="}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        needs_whole: true,
    }
    PAG_003 {
        id: "PAG-003",
        name: "cursor-loop",
        severities: &[(ALL, W)],
        section: "server/utilities/pagination, Response Format",
        title: "A page names a cursor as its next one that the same walk through the list had already, so that it never ends.",
        advice: "Hand out a cursor that leads on, and none with the last page.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"cDI="}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"cDI="}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"cDI="}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"cDI="}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"cDI="}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"cDM="}}"#,
    }
}
