//! Reading a stream line by line, as bytes.

use std::io::{self, BufRead};

/// Reads one line into `line`, which is cleared first, without its `\n` or `\r\n`; false at the end of the stream.
///
/// Bytes after the last `\n` count as a line.
///
/// # Errors
///
/// Those of the reader.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if reader.read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_without_their_ends() {
        for (input, expected) in
            [("", &[][..]), ("a\nb", &["a", "b"]), ("a\r\n\nb\rc\n", &["a", "", "b\rc"]), ("\u{2028}\n", &["\u{2028}"])]
        {
            let (mut reader, mut line, mut lines) = (input.as_bytes(), Vec::new(), Vec::new());
            while read_line(&mut reader, &mut line).unwrap() {
                lines.push(String::from_utf8(line.clone()).unwrap());
            }
            assert_eq!(lines, expected, "input: {input:?}");
        }
    }
}
