//! The form of one kind of key: literal pieces and runs of letters.

/// Which letters a run may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// `0-9`.
    Digits,
    /// `0-9a-f`.
    Hex,
    /// `0-9a-fA-F`.
    AnyHex,
    /// `A-Z0-9`.
    Upper,
    /// `a-z0-9`.
    Lower,
    /// `A-Za-z`.
    Alpha,
    /// `A-Za-z0-9`.
    Alnum,
    /// `A-Za-z0-9_`.
    Word,
    /// `A-Za-z0-9_-`.
    Url,
    /// `A-Za-z0-9_.-`.
    Dotted,
    /// `A-Za-z0-9_.~-`.
    Tilde,
    /// `A-Za-z0-9+/=`.
    Base64,
    /// `A-Za-z0-9+/=_.~-`: what a token in a header may be made of.
    Token,
    /// `0-9a-fA-F-`: a UUID.
    Uuid,
}

impl Letters {
    /// Whether a byte is one of them.
    #[must_use]
    pub const fn has(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::AnyHex => byte.is_ascii_hexdigit(),
            Self::Upper => matches!(byte, b'A'..=b'Z' | b'0'..=b'9'),
            Self::Lower => matches!(byte, b'a'..=b'z' | b'0'..=b'9'),
            Self::Alpha => byte.is_ascii_alphabetic(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Tilde => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Token => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~')
            }
            Self::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
        }
    }
}

/// One piece behind the literal beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// These very bytes.
    Text(&'static str),
    /// So many letters, as many as there are.
    Run(Letters, usize, usize),
}

/// One kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Who gives such keys out.
    pub kind: &'static str,
    /// How they begin.
    pub start: &'static str,
    /// How they go on.
    pub rest: &'static [Piece],
}

impl Shape {
    /// Where a key of this shape that begins at `at` ends, if one does.
    pub(crate) fn end_of(&self, text: &[u8], at: usize) -> Option<usize> {
        let body = at.checked_add(self.start.len())?;
        if text.get(at..body)? != self.start.as_bytes() {
            return None;
        }
        let mut place = body;
        for piece in self.rest {
            place = match piece {
                Piece::Text(literal) => {
                    let end = place.checked_add(literal.len())?;
                    (text.get(place..end)? == literal.as_bytes()).then_some(end)?
                }
                Piece::Run(letters, least, most) => {
                    let run = text.get(place..)?.iter().take_while(|byte| letters.has(**byte)).count();
                    let taken = run.min(*most);
                    (taken >= *least).then_some(place.checked_add(taken)?)?
                }
            };
        }
        // A longer run of letters is something else, unless the last run has no end of its own.
        let open = matches!(self.rest.last(), Some(Piece::Run(_, _, most)) if *most == usize::MAX);
        let is_over = open || text.get(place).is_none_or(|next| !next.is_ascii_alphanumeric());
        (is_over && crate::randomness::is_varied(text.get(body..place)?)).then_some(place)
    }
}
