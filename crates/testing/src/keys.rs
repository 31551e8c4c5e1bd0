//! Made-up keys of every format that the redactor knows.

use tripwire_secrets::{Letters, Piece, Shape};

/// Letters that look random and are the same in every run.
#[derive(Debug)]
pub struct RandomLetters(u64);

impl RandomLetters {
    /// Begins anywhere.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// So many letters of a kind; signs at which texts are cut are left out.
    pub fn letters(&mut self, of: Letters, count: usize) -> String {
        let all: Vec<u8> =
            (b'!'..=b'~').filter(|byte| of.has(*byte) && !matches!(byte, b'-' | b'.' | b'=' | b'~')).collect();
        let count_of_letters = u64::try_from(all.len()).unwrap_or(1);
        let letter = |number: u64| all.get(usize::try_from(number % count_of_letters).unwrap_or(0)).copied();
        (0..count).filter_map(|_| letter(self.next())).map(char::from).collect()
    }
}

/// A key of a shape.
pub fn key_of(shape: &Shape, random: &mut RandomLetters) -> String {
    let mut key = shape.start.to_owned();
    for piece in shape.rest {
        match piece {
            Piece::Text(text) => key.push_str(text),
            Piece::Run(Letters::Uuid, ..) => {
                let parts = [8, 4, 4, 4, 12].map(|count| random.letters(Letters::Hex, count));
                key.push_str(&parts.join("-"));
            }
            Piece::Run(letters, least, _) => key.push_str(&random.letters(*letters, *least)),
        }
    }
    key
}
