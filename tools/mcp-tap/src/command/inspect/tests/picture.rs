//! The pictures in `README.md` and `docs/inspector.md`: real screens, drawn as SVG. `UPDATE_DOCS=1 cargo test` writes them.
//!
//! Each piece of one style is told how wide it is, so that columns stay where they are whatever font is at hand.

use std::fmt::Write;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use tap_inspector::Theme;
use unicode_width::UnicodeWidthStr;

/// Hundredths of a pixel: how wide a column is, how high a row, and how far below its top letters stand.
const COLUMN: usize = 843;
const ROW: usize = 1_700;
const BASE: usize = 1_300;

/// Around the screen, pixels.
const EDGE: usize = 10;

/// A picture must be small: it is in the repository, and on the first page.
const LARGEST: usize = 60 * 1_024;

/// What a terminal with a dark background shows for the sixteen colours.
const SIXTEEN: [&str; 16] = [
    "#0d1117", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9", "#8b949e", "#ffa198",
    "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];
const LETTERS: &str = "#c9d1d9";
const GROUND: &str = "#0d1117";

/// How a cell is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    letters: String,
    ground: String,
    bold: bool,
    underlined: bool,
    faint: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let letters = colour(cell.fg).unwrap_or_else(|| LETTERS.into());
        let ground = colour(cell.bg).unwrap_or_else(|| GROUND.into());
        let is = |modifier| cell.modifier.contains(modifier);
        let (letters, ground) = if is(Modifier::REVERSED) { (ground, letters) } else { (letters, ground) };
        let (bold, underlined, faint) = (is(Modifier::BOLD), is(Modifier::UNDERLINED), is(Modifier::DIM));
        Self { letters, ground, bold, underlined, faint }
    }

    fn attributes(&self) -> String {
        let mut text = String::new();
        if self.letters != LETTERS {
            let _ = write!(text, " fill=\"{}\"", self.letters);
        }
        for (is, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.underlined, " text-decoration=\"underline\""),
            (self.faint, " opacity=\".6\""),
        ] {
            text.push_str(if is { attribute } else { "" });
        }
        text
    }
}

/// A colour as SVG has it; `None` where it is the terminal's own.
fn colour(colour: Color) -> Option<String> {
    let index = match colour {
        Color::Reset => return None,
        Color::Rgb(red, green, blue) => return Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Indexed(index) => usize::from(index),
        named => {
            const NAMED: [Color; 16] = [
                Color::Black,
                Color::Red,
                Color::Green,
                Color::Yellow,
                Color::Blue,
                Color::Magenta,
                Color::Cyan,
                Color::Gray,
                Color::DarkGray,
                Color::LightRed,
                Color::LightGreen,
                Color::LightYellow,
                Color::LightBlue,
                Color::LightMagenta,
                Color::LightCyan,
                Color::White,
            ];
            NAMED.iter().position(|one| *one == named)?
        }
    };
    Some(match index {
        0..16 => SIXTEEN[index].into(),
        // The cube of six by six by six, and the greys behind it.
        16..232 => {
            let level = |part: usize| if part == 0 { 0 } else { 55 + 40 * part };
            let cube = index - 16;
            format!("#{:02x}{:02x}{:02x}", level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        _ => format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (index - 232)),
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Hundredths as a number of pixels, without what does not count.
fn pixels(hundredths: usize) -> String {
    match hundredths % 100 {
        0 => (hundredths / 100).to_string(),
        rest => format!("{}.{}", hundredths / 100, format!("{rest:02}").trim_end_matches('0')),
    }
}

/// Pieces of a row that look alike: where each begins, and its text. A wide character is a piece of its own, so that what
/// stands behind it does not depend on how wide a font makes it.
fn pieces(cells: &[Cell]) -> Vec<(usize, usize, String, Look)> {
    let mut pieces: Vec<(usize, usize, String, Look)> = Vec::new();
    let mut covered = 0;
    for (column, cell) in cells.iter().enumerate() {
        // The cell behind a wide character belongs to it.
        if column < covered {
            continue;
        }
        let (width, look) = (cell.symbol().width().max(1), Look::of(cell));
        covered = column + width;
        match pieces.last_mut() {
            Some((begins, columns, text, last))
                if *last == look && *columns == column - *begins && width == 1 && text.chars().count() == *columns =>
            {
                text.push_str(cell.symbol());
                *columns += 1;
            }
            _ => pieces.push((column, width, cell.symbol().into(), look)),
        }
    }
    pieces
}

/// A screen as SVG.
fn svg(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let (width, height) = (columns * COLUMN / 100 + 2 * EDGE, rows * ROW / 100 + 2 * EDGE);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" \
         fill=\"{LETTERS}\" xml:space=\"preserve\">",
        escaped(title),
    );
    for (row, cells) in buffer.content().chunks(columns).enumerate() {
        let top = 100 * EDGE + row * ROW;
        for (column, columns, piece, look) in pieces(cells) {
            let left = pixels(100 * EDGE + column * COLUMN);
            let wide = pixels(columns * COLUMN);
            if look.ground != GROUND {
                let _ = writeln!(
                    text,
                    "<rect x=\"{left}\" y=\"{}\" width=\"{wide}\" height=\"{}\" fill=\"{}\"/>",
                    pixels(top),
                    pixels(ROW),
                    look.ground,
                );
            }
            // What is blank need not be drawn, unless it has a line.
            let shown = if look.underlined { piece.as_str() } else { piece.trim_end() };
            let blank = shown.len() - shown.trim_start().len();
            let (blank, shown) = if look.underlined { (0, shown) } else { (blank, shown.trim_start()) };
            if shown.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>",
                pixels(100 * EDGE + (column + blank) * COLUMN),
                pixels(top + BASE),
                pixels(shown.width() * COLUMN),
                look.attributes(),
                escaped(shown),
            );
        }
    }
    text + "</g>\n</svg>\n"
}

/// Holds that a picture is what the program shows.
#[track_caller]
fn hold(name: &str, title: &str, size: (u16, u16), keys: &str) {
    let picture = super::look_in(Theme::terminal(), "demo.jsonl", size, |bench| {
        bench.press(keys);
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| bench.inspector.view(frame)).unwrap();
        svg(terminal.backend().buffer(), title)
    });
    assert!(picture.len() < LARGEST, "{name} has {} bytes", picture.len());
    let path = super::top().join("docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, picture).unwrap();
    } else {
        let is = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(is == picture, "docs/{name} is not what the inspector shows; UPDATE_DOCS=1 writes it");
    }
    for page in ["README.md", "docs/inspector.md"] {
        let text = std::fs::read_to_string(super::top().join(page)).unwrap();
        assert!(text.contains(&format!("{name})")), "{page} does not show {name}");
    }
}

#[test]
fn the_pictures_are_what_the_inspector_shows() {
    hold(
        "inspector.svg",
        "The inspector: a session of mcp-tap demo, with the cursor on a tool that failed, and its message beside it.",
        (120, 28),
        "] ] ctrl-right ctrl-right",
    );
}

#[test]
fn what_is_drawn_is_escaped_and_stays_in_its_column() {
    use ratatui::style::Style;
    let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, 12, 2));
    buffer.set_string(0, 0, "a<b>&", Style::new());
    buffer.set_string(6, 0, "x", Style::new().red().bold().reversed());
    buffer.set_string(0, 1, "日本 c", Style::new().fg(Color::Indexed(208)));
    let text = svg(&buffer, "one & two");
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("<text") || line.starts_with("<rect x")).collect();
    const ADJUST: &str = r#"lengthAdjust="spacingAndGlyphs""#;
    assert_eq!(
        lines,
        [
            format!(r#"<text x="10" y="23" textLength="42.15" {ADJUST}>a&lt;b&gt;&amp;</text>"#),
            r##"<rect x="60.58" y="10" width="8.43" height="17" fill="#ff7b72"/>"##.into(),
            format!(
                r##"<text x="60.58" y="23" textLength="8.43" {ADJUST} fill="#0d1117" font-weight="bold">x</text>"##
            ),
            format!(r##"<text x="10" y="40" textLength="16.86" {ADJUST} fill="#ff8700">日</text>"##),
            format!(r##"<text x="26.86" y="40" textLength="16.86" {ADJUST} fill="#ff8700">本</text>"##),
            format!(r##"<text x="52.15" y="40" textLength="8.43" {ADJUST} fill="#ff8700">c</text>"##),
        ]
    );
    assert!(text.contains("<title>one &amp; two</title>"));
    for (index, expected) in [(9, "#ffa198"), (16, "#000000"), (208, "#ff8700"), (231, "#ffffff"), (244, "#808080")] {
        assert_eq!(colour(Color::Indexed(index)).as_deref(), Some(expected), "{index}");
    }
}
