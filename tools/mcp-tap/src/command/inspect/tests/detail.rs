//! A message and what is known around it, from a recording that is made here.

use std::path::PathBuf;

use insta::assert_snapshot;

use super::{LARGE, SMALL, look, screen};

/// A recording with these frames.
pub(super) fn recorded(folder: &tempfile::TempDir, name: &str, frames: &[&str]) -> PathBuf {
    let demo = std::fs::read_to_string(super::top().join("recordings/demo.jsonl")).unwrap();
    let head = demo.lines().next().unwrap().replace("4d0c0ffee4d0c0ffee4d0c0ffee4d0c0", &format!("{name:0<32}"));
    let path = folder.path().join(format!("{name}.jsonl"));
    let frames = frames.iter().enumerate().map(|(index, frame)| {
        let (to, message) = frame.split_once(' ').unwrap();
        let at = format!("{}.{:09}", index / 10, index % 10 * 100_000_000);
        match to {
            "->" => format!("{{\"to\":\"server\",\"at\":{at},\"msg\":{message}}}"),
            "<-" => format!("{{\"to\":\"client\",\"at\":{at},\"msg\":{message}}}"),
            _ => format!("{{\"stderr\":{message},\"at\":{at}}}"),
        }
    });
    let lines: Vec<String> = std::iter::once(head).chain(frames).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAADUlEQVR4nGNg+M9QDwADgQGAEp8IuAAAAABJRU5ErkJggg==";

/// A session in which most goes wrong that a message can show.
pub(super) fn troubled(folder: &tempfile::TempDir) -> PathBuf {
    let image = format!(
        r##"<- {{"jsonrpc":"2.0","id":5,"result":{{"content":[{{"type":"text","text":"# Weather\nSome *text*\n```json\n{{}}\n```\nend"}},{{"type":"image","data":"{PNG}","mimeType":"image/png"}}],"structuredContent":{{"degrees":"warm"}}}}}}"##
    );
    recorded(
        folder,
        "troubled",
        &[
            r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"host","version":"1"}}}"#,
            r#"<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"weather","version":"2"}}}"#,
            r#"-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"<- {"jsonrpc":"2.0","id":"r","method":"roots/list"}"#,
            r#"-> {"jsonrpc":"2.0","id":"r","result":{"roots":[{"uri":"file:///home/me/src"}]}}"#,
            r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"<- {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"forecast","inputSchema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","maximum":7}},"required":["city"]},"outputSchema":{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"]}}]}}"#,
            r#"-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Bern","days":2}}}"#,
            r#"<- {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"fine"}],"structuredContent":{"degrees":7}}}"#,
            r#"-> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"forecast","arguments":{"days":"two","place":{"x":[1,"needle"]}},"_meta":{"progressToken":"p"}}}"#,
            r#"-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Bern","days":9}}}"#,
            r#"<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"message":"asking"}}"#,
            r#"!! "no station near \"two\"""#,
            r#"<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"<- {"jsonrpc":"2.0","id":4,"result":{"isError":true,"content":[{"type":"text","text":"no such place"}]}}"#,
            &image,
            r#"-> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Rome"}}}"#,
            r#"<- {"jsonrpc":"2.0","id":6,"result":{"isError":true,"content":[{"type":"text","text":"no such place"}]}}"#,
        ],
    )
}

#[test]
fn schema_errors_stand_beside_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    let path = path.to_str().unwrap();
    assert_snapshot!("detail_marks", screen(path, LARGE, "# '11' enter"));
    assert_snapshot!("detail_beside", screen(path, LARGE, "# '11' enter enter z"));
    assert_snapshot!("detail_schema", screen(path, SMALL, "# '10' enter enter : 'schema' enter"));
    assert_snapshot!("detail_schema_small", screen(path, (40, 10), "# '10' enter enter : 'schema' enter"));
}

#[test]
fn all_messages_of_a_call_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    assert_snapshot!("detail_call", screen(path.to_str().unwrap(), SMALL, "# '10' enter : 'call' enter"));
    assert_snapshot!("detail_rounds", screen("modern.jsonl", LARGE, "# '10' enter : 'call' enter z"));
}

#[test]
fn what_may_explain_a_failure_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    assert_snapshot!("detail_explain", screen(path.to_str().unwrap(), SMALL, "# '10' enter K"));
    assert_snapshot!("detail_explain_again", screen(path.to_str().unwrap(), LARGE, "# '17' enter K z"));
    assert_snapshot!("detail_explain_demo", screen("demo.jsonl", SMALL, "# '10' enter K"));
}

#[test]
fn lines_lead_to_what_they_are_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    for (keys, expected) in [
        // The schema, from the line under the argument, and from the tab.
        ("# '11' enter enter j j j j j j j j j j enter Y", "copy troubled:7"),
        ("# '10' enter enter : 'schema' enter enter Y ctrl-o Y", "copy troubled:7, copy troubled:10"),
        // The last good call.
        ("# '10' enter K / 'last+good' enter enter Y", "copy troubled:8"),
    ] {
        let done = look(path.to_str().unwrap(), SMALL, true, |bench| {
            bench.press(keys);
            bench.done.join(", ")
        });
        let done = done.replace("demo:", "troubled:");
        assert_eq!(done, expected, "{keys}");
    }
}

#[test]
fn a_text_is_found_in_what_was_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    let place = |keys: &str| {
        let screen = screen(path.to_str().unwrap(), SMALL, keys);
        screen.lines().rev().nth(1).unwrap().trim().to_owned()
    };
    // Under a fold.
    assert_eq!(
        place("# '10' enter enter / 'place' enter h / 'NEEDLE' enter"),
        "/ 1 of 1: NEEDLE  params.arguments.place.x[1]  string"
    );
    assert_eq!(place("# '10' enter enter / 'place' enter n"), "/ 2 of 2: place  result.content[0].text  string");
    assert_eq!(place("# '10' enter enter / 'place' enter n n"), "/ 1 of 2: place  params.arguments.place  object");
    assert_eq!(place("# '10' enter enter / 'place' enter N"), "/ 2 of 2: place  result.content[0].text  string");
    assert_eq!(place("# '10' enter enter / 'absent' enter"), "`absent` is not in it");
    assert_eq!(place("# '10' enter enter / 'place' enter esc"), "params.arguments.place  object");
    // In other forms.
    assert_eq!(place("# '10' enter enter p / 'needle' enter"), "/ 1 of 1: needle");
    assert_eq!(place("# '10' enter enter p p / 'needle' enter"), "/ 1 of 1: needle");
}

#[test]
fn what_is_copied_is_what_the_menu_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    let on = |keys: &str| {
        look(path.to_str().unwrap(), SMALL, true, |bench| {
            bench.press(keys);
            bench.done.join(", ")
        })
    };
    // The cursor is on the argument `days`.
    let days = "# '11' enter enter / '9' enter";
    for (keys, expected) in [
        ("v", "copy 9"),
        ("p", "copy params.arguments.days"),
        ("n", "copy demo:11"),
        ("c", r#"copy mcp-tap call --session demo forecast '{"city":"Bern","days":9}'"#),
        ("j j enter", "copy params.arguments.days"),
        ("u", ""),
        ("esc", ""),
    ] {
        assert_eq!(on(&format!("{days} y {keys}")), expected, "{keys}");
    }
    assert!(on(&format!("{days} y r")).starts_with(r#"copy {"jsonrpc":"2.0","id":5,"method""#));
    assert!(on(&format!("{days} y a")).starts_with(r#"copy {"jsonrpc":"2.0","id":5,"result""#));
    assert!(on(&format!("{days} y b")).ends_with("}}\n"), "with the end of its line");
    assert!(on("# '10' enter y y").starts_with(r#"copy {"jsonrpc":"2.0","id":4"#), "from the list too");
    assert_eq!(on("# '10' enter y v"), "", "but there no value has a cursor");
    // Bytes of an image, the text of a string, JSON.
    assert_eq!(on("# '11' enter enter / 'iVBOR' enter x"), "write demo-16.png");
    assert_eq!(on("# '11' enter enter / 'Weather' enter x"), "write demo-16.txt");
    assert_eq!(on("# '11' enter enter / 'arguments' enter x"), "write demo-11.value.json");
    assert_snapshot!("copy_menu", screen(path.to_str().unwrap(), SMALL, &format!("{days} y j")));
    assert_snapshot!("copy_menu_tiny", screen(path.to_str().unwrap(), (40, 10), &format!("{days} y j j j j j j j j")));
    assert_snapshot!("copy_markdown", on("# '10' enter enter y m"));
}

#[test]
fn a_filter_for_a_value_finds_the_message_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(&folder);
    for (looked_for, rows) in [
        ("'9'", "11"),
        ("'Rome'", "17"),
        ("'no+such'", "10 17"),
        ("'degrees'", "8"),
        ("'isError'", "10 17"),
        ("'place'", "10"),
        ("'tools/call'", "8 10 11 17"),
    ] {
        let first = rows.split(' ').next().unwrap();
        let screen = screen(
            path.to_str().unwrap(),
            SMALL,
            &format!("# '{first}' enter enter / {looked_for} enter y f enter q q"),
        );
        let rows_of = screen.lines().skip_while(|line| !line.contains("LATENCY")).skip(2);
        let numbers = rows_of.map_while(|line| line.split_whitespace().find_map(|word| word.parse().ok()));
        let numbers: Vec<String> = numbers.map(|number: u64| number.to_string()).collect();
        assert_eq!(numbers.join(" "), rows, "{looked_for}\n{screen}");
    }
}

#[test]
fn an_image_is_drawn_where_there_are_colours_and_told_where_there_are_not() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;
    use tap_inspector::{Colours, Theme};

    const FOUR: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEklEQVR4nGP4z8DAAMIM/4EAAB/uBfsL2WiLAAAAAElFTkSuQmCC";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, data: &str| {
        let answer = format!(
            r#"<- {{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}}}"#
        );
        let request = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"draw"}}"#;
        recorded(&folder, name, &[request, &answer])
    };
    let (four, broken) = (path("a4", FOUR), path("b4", PNG));
    let shown = |path: &std::path::Path, colours: Colours, keys: &str| {
        super::look_in(Theme::terminal(), path.to_str().unwrap(), SMALL, |bench| {
            let inspector =
                std::mem::replace(&mut bench.inspector, tap_inspector::Inspector::new(Theme::plain(), SMALL, 0));
            bench.inspector = inspector.with_colours(colours);
            bench.press(keys);
            let mut terminal = Terminal::new(TestBackend::new(SMALL.0, SMALL.1)).unwrap();
            terminal.draw(|frame| bench.inspector.view(frame)).unwrap();
            let buffer = terminal.backend().buffer();
            let drawn = buffer.content().iter().filter(|cell| cell.symbol() == "▀").map(|cell| (cell.fg, cell.bg));
            (drawn.collect::<Vec<_>>(), bench.screen())
        })
    };
    let rgb = |red, green, blue| Color::Rgb(red, green, blue);
    let to_image = "enter / 'image/png' enter";
    let of_four = "enter / 'iVBOR' enter o";
    let (drawn, screen) = shown(&four, Colours::True, of_four);
    assert_eq!(drawn, [(rgb(255, 0, 0), rgb(0, 0, 255)), (rgb(0, 255, 0), rgb(255, 255, 255))], "{screen}");
    assert!(screen.contains("image/png  2x2; any key closes"), "{screen}");
    let (drawn, _) = shown(&four, Colours::Indexed, of_four);
    assert_eq!(drawn[0], (Color::Indexed(196), Color::Indexed(21)));
    // Any key closes it, and is not taken for anything else.
    assert!(shown(&four, Colours::True, &format!("{of_four} q")).1.contains("o draws it"));
    for (path, colours, keys, told) in [
        (&four, Colours::Few, of_four.to_owned(), "too few colours"),
        (&four, Colours::True, format!("{to_image} o"), "no image is under the cursor"),
        (&broken, Colours::True, of_four.to_owned(), "this image cannot be drawn"),
    ] {
        let (drawn, screen) = shown(path, colours, &keys);
        assert!(drawn.is_empty() && screen.contains(told), "{keys}: {told}\n{screen}");
    }
}
