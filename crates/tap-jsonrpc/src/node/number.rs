//! Numbers: what a number is worth, read from its digits, without rounding and without arithmetic on large ones.

/// A number of JSON's grammar: its digits, of which some are behind the point, times a power of ten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// As written, or the nearest that fits.
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Reads a number token; `None` when it is none.
    ///
    /// Source: RFC 8259, section 6.
    pub(super) fn parse(token: &'a [u8]) -> Option<Self> {
        let (is_negative, unsigned) = match token {
            [b'-', unsigned @ ..] => (true, unsigned),
            _ => (false, token),
        };
        let (whole, rest) = split_digits(unsigned);
        if let [] | [b'0', _, ..] = whole {
            return None;
        }
        let (fraction, rest) = match rest {
            [b'.', behind_point @ ..] => match split_digits(behind_point) {
                ([], _) => return None,
                split => split,
            },
            _ => (&[][..], rest),
        };
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', b'-', digits @ ..] => -read(digits)?,
            [b'e' | b'E', b'+', digits @ ..] | [b'e' | b'E', digits @ ..] => read(digits)?,
            _ => return None,
        };
        Some(Self { is_negative, whole, fraction, exponent })
    }

    /// Whether the value is an integer.
    pub(super) fn is_integer(self) -> bool {
        self.last_digit().is_none_or(|(_, power)| 0 <= power)
    }

    /// The value, if it is an integer that fits.
    pub(super) fn as_i64(self) -> Option<i64> {
        let Some((n_digits, power)) = self.last_digit() else {
            return Some(0);
        };
        let factor = 10_i64.checked_pow(u32::try_from(power).ok()?)?;
        // Below zero there is room for one number more.
        let negative = self
            .whole
            .iter()
            .chain(self.fraction)
            .take(n_digits)
            .try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0')))?;
        let negative = negative.checked_mul(factor)?;
        if self.is_negative { Some(negative) } else { negative.checked_neg() }
    }

    /// The last digit that is not 0: how many digits there are up to it, and the power of ten that it counts. `None` when
    /// the value is zero.
    fn last_digit(self) -> Option<(usize, i64)> {
        let is_not_zero = |&digit: &u8| digit != b'0';
        let index = match self.fraction.iter().rposition(is_not_zero) {
            Some(index) => self.whole.len() + index,
            None => self.whole.iter().rposition(is_not_zero)?,
        };
        let n_digits = index + 1;
        Some((n_digits, self.exponent.saturating_add(self.whole.len() as i64 - n_digits as i64)))
    }
}

/// The digits at the start, and the rest.
fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let n_digits = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    bytes.split_at(n_digits)
}

/// The value of some digits, or the nearest that fits; `None` when there is none, or something else.
fn read(digits: &[u8]) -> Option<i64> {
    let add = |value: i64, &digit: &u8| {
        digit.is_ascii_digit().then(|| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}
