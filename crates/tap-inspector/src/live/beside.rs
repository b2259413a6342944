//! Two versions of a message, line by line.

use tap_compare::{PieceOf, compare_lines};

/// A line of two versions: what stands on the left, what on the right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BesideLine {
    pub(crate) left: Option<String>,
    pub(crate) right: Option<String>,
    pub(crate) differs: bool,
}

/// Puts two texts beside each other, so that lines that are the same stand on one line. Where they are too long to be held
/// against each other, every line that is not the same in its place counts as different.
pub(crate) fn beside(left: &str, right: &str) -> Vec<BesideLine> {
    // The last line may end or not.
    let ended =
        |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (left, right) = (&*ended(left), &*ended(right));
    let Some(pieces) = compare_lines(left, right) else {
        let (mut left, mut right) = (left.lines(), right.lines());
        return std::iter::from_fn(|| match (left.next(), right.next()) {
            (None, None) => None,
            (a, b) => Some(BesideLine { left: a.map(Into::into), right: b.map(Into::into), differs: a != b }),
        })
        .collect();
    };
    let mut lines: Vec<BesideLine> = Vec::new();
    let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
    for piece in pieces {
        let text = piece.text.trim_end_matches('\n').to_owned();
        match piece.of {
            PieceOf::A => only_left.push(text),
            PieceOf::B => only_right.push(text),
            PieceOf::Both => {
                pair(&mut only_left, &mut only_right, &mut lines);
                lines.push(BesideLine { left: Some(text.clone()), right: Some(text), differs: false });
            }
        }
    }
    pair(&mut only_left, &mut only_right, &mut lines);
    lines
}

/// What is only on one side stands beside what is only on the other one.
fn pair(left: &mut Vec<String>, right: &mut Vec<String>, lines: &mut Vec<BesideLine>) {
    let n_lines = left.len().max(right.len());
    let (mut a, mut b) = (left.drain(..), right.drain(..));
    lines.extend((0..n_lines).map(|_| BesideLine { left: a.next(), right: b.next(), differs: true }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_stands_on_one_line() {
        for (left, right, expected) in [
            ("", "", ""),
            ("a\nb", "a\nb", "a=a b=b"),
            ("a\nb\nc", "a\nx\nc", "a=a b~x c=c"),
            ("a\nc", "a\nx\ny\nc", "a=a -~x -~y c=c"),
            ("a\nb\n", "a\n", "a=a b~-"),
            ("a", "a\n", "a=a"),
        ] {
            let lines = beside(left, right);
            let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
            let told: Vec<_> = lines
                .iter()
                .map(|line| {
                    format!("{}{}{}", text(&line.left), if line.differs { '~' } else { '=' }, text(&line.right))
                })
                .collect();
            assert_eq!(told.join(" "), expected, "{left:?} {right:?}");
        }
        let long = "x\n".repeat(3_000);
        assert!(beside(&long, &long).iter().all(|line| !line.differs));
        assert_eq!(beside(&long, "x").iter().filter(|line| line.differs).count(), 2_999);
    }
}
