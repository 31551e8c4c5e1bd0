//! What differs at every repetition of one and the same call is volatile: learned from the repetitions, not listed.
//!
//! Of the last few calls the words of the result are remembered, as numbers. When the same call comes again and its result
//! has the same words but for a few, those few are looked at. What looks random is volatile at once. A number that moves in
//! one direction may be progress and counts; one that turns back is volatile. A plain word must have changed several times,
//! in the midst of many that never did. A result that differs in volatile words only is shown as the one before it.

use super::hex;
use super::result_word::{Class, Piece, Pieces, RANDOM_MARK, Word, in_word};
use super::words::hash_bytes;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tripwire_core::label::Label;

/// Calls that are remembered, the newest last.
const CALLS_MAX: usize = 16;
/// Errors that are remembered by their form, the newest last.
const ERRORS_MAX: usize = 8;
/// Words at each end of a result that are compared one by one; the middle of a longer one must be the same.
const END_WORDS: usize = 24;
/// Places at which a result may differ and still be the same.
const CHANGING_MAX: usize = 4;
/// Words that must stay for a random one that is ignored where the call did not fail: alone it is what was asked for.
const AROUND_RANDOM: usize = 1;
/// Words that must stay for each number that is ignored where the call failed,
const AROUND_NUMBER: usize = 6;
/// and where it did not: there a number may be what was asked for.
const AROUND_ANSWER: usize = 12;
/// Words that must stay for a plain word that is ignored.
const AROUND_WORD: usize = 12;
/// How often a plain word must have changed before it is ignored.
const WORD_CHANGES: u8 = 3;

/// The results of the last calls, each as far as it is needed to know what in it is volatile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RepeatedCalls {
    /// By the call.
    calls: Vec<KnownCall>,
    /// By the tool and the form of its error, whatever it was called with.
    errors: Vec<KnownCall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownCall {
    call: u64,
    words: KnownWords,
    changing: Vec<ChangingWord>,
    shown: ShownResult,
}

/// The digests under which a result is shown to the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShownResult {
    pub(super) result: Label,
    pub(super) error: Option<Label>,
    pub(super) kind: Option<Label>,
}

/// A word that differed from one result of a call to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ChangingWord {
    place: u8,
    trend: Trend,
    changes: u8,
}

/// How a changing word moved so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Trend {
    /// A number that only grew.
    Up,
    /// A number that only shrank.
    Down,
    /// A word that was another one each time.
    Other,
    /// It is ignored from now on.
    Volatile,
}

/// A result as it is, with what is needed to compare it with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewResult<'r> {
    pub(super) tool: &'r str,
    /// The arguments' digest.
    pub(super) arguments: &'r str,
    /// All texts of the arguments: what was asked for is not volatile.
    pub(super) said: &'r str,
    /// The result in its normal form.
    pub(super) normal: &'r [u8],
}

impl RepeatedCalls {
    /// Takes in a result and says how it is to be shown, with a word of it that was ignored.
    pub(super) fn shown(&mut self, new: &NewResult<'_>, own: ShownResult) -> (ShownResult, Option<Label>) {
        let tool = hash_bytes(new.tool.as_bytes()).rotate_left(1);
        let failed = own.error.is_some();
        let mut told = None;
        let take = |known: &mut Vec<KnownCall>, call: u64| {
            known.iter().position(|known| known.call == call).map(|place| known.remove(place))
        };
        let call = tool ^ hash_bytes(new.arguments.as_bytes());
        let known = take(&mut self.calls, call);
        let mut shown = own.clone();
        let known = match known {
            Some(known) => {
                let (known, ignored) = known.again(own, new.normal);
                (shown, told) = (known.shown.clone(), ignored);
                known
            }
            None => KnownCall { call, words: KnownWords::of(new.normal), changing: Vec::new(), shown: own },
        };
        keep(&mut self.calls, known, CALLS_MAX);
        if failed {
            let words = ResultWords::of(new.normal);
            let form = tool ^ words.frame;
            let before = take(&mut self.errors, form);
            let alike = before.filter(|before| before.words.read().differs_at_random(&words, new));
            if let Some(before) = &alike {
                (shown.error, shown.kind) = (before.shown.error.clone(), before.shown.kind.clone());
            }
            let words = KnownWords::Read(words);
            let known = KnownCall { call: form, words, changing: Vec::new(), shown: shown.clone() };
            keep(&mut self.errors, known, ERRORS_MAX);
        }
        (shown, told)
    }
}

fn keep(list: &mut Vec<KnownCall>, known: KnownCall, max: usize) {
    list.push(known);
    let surplus = list.len().saturating_sub(max);
    list.drain(..surplus);
}

impl KnownCall {
    fn again(mut self, own: ShownResult, normal: &[u8]) -> (Self, Option<Label>) {
        let (before, words) = (self.words.read().into_owned(), ResultWords::of(normal));
        let same = self.shown == own;
        let both = self.shown.error.is_some() == own.error.is_some();
        let places = before.differences(&words).filter(|_| both);
        let Some(places) = places.filter(|places| places.len() <= CHANGING_MAX) else {
            let changing = if same { self.changing } else { Vec::new() };
            return (Self { words: KnownWords::Read(words), changing, shown: own, ..self }, None);
        };
        // What stayed although it might have changed does not change at every repetition.
        self.changing.retain(|word| word.trend == Trend::Volatile || places.contains(&word.place));
        let mut ignored = !places.is_empty();
        for place in &places {
            ignored &= self.notice(*place, &before, &words) == Trend::Volatile;
        }
        let last = places.last().copied();
        if !ignored && !same {
            self.shown = own;
        }
        let told = last.filter(|_| ignored).and_then(|place| word_at(normal, &words, place));
        self.words = KnownWords::Read(words);
        (self, told)
    }

    /// Notes a change at a place and says what is known of it now.
    fn notice(&mut self, place: u8, earlier: &ResultWords, words: &ResultWords) -> Trend {
        let at = usize::from(place);
        let (Some(before), Some(now)) = (earlier.ends.get(at).copied(), words.ends.get(at).copied()) else {
            return Trend::Other;
        };
        let known = self.changing.iter().position(|word| word.place == place);
        let mut word = match known {
            Some(index) => self.changing.remove(index),
            None => ChangingWord { place, trend: Trend::Other, changes: 0 },
        };
        let around = words.count.saturating_sub(self.changing.len().saturating_add(1));
        let (first, failed) = (word.changes == 0, self.shown.error.is_some());
        word.changes = word.changes.saturating_add(1);
        word.trend = match (word.trend, before.class(), now.class()) {
            (Trend::Volatile, _, _) => Trend::Volatile,
            (_, Class::Random, Class::Random | Class::Number | Class::Odd)
            | (_, Class::Number | Class::Odd, Class::Random)
                if failed || around >= AROUND_RANDOM =>
            {
                Trend::Volatile
            }
            (trend, Class::Number, Class::Number) => {
                let moved = if now.0 > before.0 { Trend::Up } else { Trend::Down };
                if first || trend == moved {
                    moved
                } else if around >= if failed { AROUND_NUMBER } else { AROUND_ANSWER } {
                    Trend::Volatile
                } else {
                    Trend::Other
                }
            }
            (_, Class::Plain | Class::Odd | Class::Number | Class::Random, _) => {
                let enough =
                    failed && word.changes >= WORD_CHANGES && around >= AROUND_WORD && self.changing.len() <= 1;
                if enough { Trend::Volatile } else { Trend::Other }
            }
        };
        self.changing.push(word);
        word.trend
    }
}

/// The words of a remembered result: most calls never come again, so a short result is read only when its call does.
#[derive(Debug, Clone)]
enum KnownWords {
    Read(ResultWords),
    Unread(Vec<u8>),
}

/// The longest result that is kept as it is until its words are asked for.
const UNREAD_BYTES_MAX: usize = 4_096;

impl KnownWords {
    fn of(normal: &[u8]) -> Self {
        if normal.len() <= UNREAD_BYTES_MAX {
            Self::Unread(normal.to_vec())
        } else {
            Self::Read(ResultWords::of(normal))
        }
    }

    fn read(&self) -> Cow<'_, ResultWords> {
        match self {
            Self::Read(words) => Cow::Borrowed(words),
            Self::Unread(normal) => Cow::Owned(ResultWords::of(normal)),
        }
    }
}

impl PartialEq for KnownWords {
    fn eq(&self, other: &Self) -> bool {
        self.read() == other.read()
    }
}

impl Eq for KnownWords {}

impl Serialize for KnownWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KnownWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ResultWords::deserialize(deserializer).map(Self::Read)
    }
}

/// The words of a result: those at its ends one by one, all else as one number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ResultWords {
    count: usize,
    /// What stands between the words, and the words of the middle.
    frame: u64,
    ends: Vec<Word>,
}

impl ResultWords {
    /// Only the two ends are read word by word; what is between them costs a few cycles for each eight bytes.
    fn of(normal: &[u8]) -> Self {
        let mut words = Self { count: 0, frame: 0, ends: Vec::new() };
        let mut head = Pieces(normal);
        while words.ends.len() < END_WORDS
            && let Some(piece) = head.next()
        {
            words.add(piece);
        }
        let (middle, tail) = behind_middle(head.0);
        for eight in middle.chunks(8) {
            let number = eight.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
            words.frame = (words.frame.rotate_left(5) ^ number).wrapping_mul(FRAME_PRIME);
        }
        Pieces(tail).for_each(|piece| words.add(piece));
        words.count = words.ends.len().saturating_add(middle.len().div_euclid(8));
        words
    }

    fn add(&mut self, piece: Piece<'_>) {
        if piece.is_word {
            self.ends.push(Word::of(piece.text));
        } else {
            self.frame = self.frame.rotate_left(7) ^ hash_bytes(piece.text);
        }
    }

    /// The places of the ends at which two results differ; none if they differ elsewhere too.
    fn differences(&self, other: &Self) -> Option<Vec<u8>> {
        if (self.count, self.frame) != (other.count, other.frame) {
            return None;
        }
        let pairs = (0_u8..).zip(self.ends.iter().zip(&other.ends));
        Some(pairs.filter(|(_, (one, two))| one != two).map(|(place, _)| place).collect())
    }
}

impl ResultWords {
    /// Whether an error of another call is the same but for a few words that nobody chose, neither here nor in what was
    /// asked for.
    fn differs_at_random(&self, other: &Self, new: &NewResult<'_>) -> bool {
        let Some(places) = self.differences(other) else { return false };
        let is_random = |place: &u8| {
            let at = usize::from(*place);
            let (before, now) =
                (self.ends.get(at).map(|word| word.class()), other.ends.get(at).map(|word| word.class()));
            let asked = || {
                word_at(new.normal, other, *place)
                    .is_none_or(|word| word.as_str().as_bytes() != RANDOM_MARK && new.said.contains(word.as_str()))
            };
            matches!(
                (before, now),
                (Some(Class::Random), Some(Class::Random | Class::Odd)) | (Some(Class::Odd), Some(Class::Random))
            ) && !asked()
        };
        !places.is_empty() && places.len() <= CHANGING_MAX && places.iter().all(is_random)
    }
}

/// An odd number with well spread bits.
const FRAME_PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes at the end of a text among which its last words are looked for.
const TAIL_BYTES: usize = 1_024;

/// A text in two: what is not read word by word, and its last words.
fn behind_middle(text: &[u8]) -> (&[u8], &[u8]) {
    let from = text.len().saturating_sub(TAIL_BYTES);
    let window = text.get(from..).unwrap_or_default();
    // A word must not be cut in two.
    let begin = if from == 0 { 0 } else { window.iter().position(|byte| !in_word(*byte)).unwrap_or(window.len()) };
    let mut pieces = Pieces(window.get(begin..).unwrap_or_default());
    let count = pieces.filter(|piece| piece.is_word).count();
    let mut surplus = count.saturating_sub(END_WORDS);
    while surplus > 0
        && let Some(piece) = pieces.next()
    {
        surplus = surplus.saturating_sub(usize::from(piece.is_word));
    }
    let at = text.len().saturating_sub(pieces.0.len());
    text.split_at_checked(at).unwrap_or((text, &[]))
}

/// The text of a word of the ends.
fn word_at(normal: &[u8], words: &ResultWords, place: u8) -> Option<Label> {
    let place = usize::from(place);
    let is_word = |piece: &Piece<'_>| piece.is_word;
    let mut head = Pieces(normal);
    let piece = if place < END_WORDS.min(words.ends.len()) {
        head.filter(is_word).nth(place)?
    } else {
        let mut read = 0_usize;
        while read < END_WORDS
            && let Some(piece) = head.next()
        {
            read = read.saturating_add(usize::from(piece.is_word));
        }
        Pieces(behind_middle(head.0).1).filter(is_word).nth(place.saturating_sub(END_WORDS))?
    };
    core::str::from_utf8(piece.text).ok().map(Label::cut)
}

impl Serialize for ResultWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.ends.len().saturating_mul(8).saturating_add(32));
        hex::push(&mut text, &u64::try_from(self.count).unwrap_or(u64::MAX).to_be_bytes());
        hex::push(&mut text, &self.frame.to_be_bytes());
        for word in &self.ends {
            hex::push(&mut text, &word.0.to_be_bytes());
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for ResultWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let no_frame = || D::Error::custom("a result has no frame");
        let (head, ends) = text.as_bytes().split_at_checked(32).ok_or_else(no_frame)?;
        let (count, frame) = head.split_at_checked(16).ok_or_else(no_frame)?;
        let count = hex::number(count).and_then(|count| usize::try_from(count).ok()).ok_or_else(no_frame)?;
        let frame = hex::number(frame).ok_or_else(no_frame)?;
        let (groups, rest) = ends.as_chunks::<8>();
        if groups.len() > END_WORDS.saturating_mul(2) || !rest.is_empty() {
            return Err(D::Error::custom("the words of a result are not of the expected length"));
        }
        let word = |group: &[u8; 8]| {
            let number = hex::number(group).and_then(|number| u32::try_from(number).ok());
            number.map(Word).ok_or_else(|| D::Error::custom("the words of a result are no digits"))
        };
        Ok(Self { count, frame, ends: groups.iter().map(word).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;
    use alloc::format;
    use alloc::string::ToString as _;

    fn new<'r>(arguments: &'r str, text: &'r str) -> NewResult<'r> {
        NewResult { tool: "Bash", arguments, said: arguments, normal: text.as_bytes() }
    }

    #[test]
    fn loop_2_an_error_with_a_random_word_is_the_same_error_whatever_was_called() {
        let mut memory = RepeatedCalls::default();
        let mut error = |arguments: &str, text: &str| {
            let digest = Some(digest::of(text.as_bytes()));
            let own = ShownResult { result: digest::of(text.as_bytes()), error: digest.clone(), kind: digest };
            memory.shown(&new(arguments, text), own).0.error.unwrap()
        };
        let first = error("a", "no such page, id <id>");
        assert_eq!(error("b", "no such page, id kXpQzRtB"), first);
        assert_eq!(error("c", "no such page, id <id>"), first);
        assert_ne!(error("dR4zQ9x", "no such page, id dR4zQ9x"), first, "it was asked for");
        assert_ne!(error("e", "no such pipe, id <id>"), first);
    }

    /// How the results of one call are shown: by the number of the first result that is shown alike.
    fn shown(results: &[&str]) -> Vec<usize> {
        shown_with(results, None)
    }

    fn shown_with(results: &[&str], error: Option<&str>) -> Vec<usize> {
        let mut memory = RepeatedCalls::default();
        let labels: Vec<Label> = results
            .iter()
            .map(|text| {
                let error = error.map(|error| digest::of(error.as_bytes()));
                let own = ShownResult { result: digest::of(text.as_bytes()), error, kind: None };
                let shown = memory.shown(&new("x", text), own).0.result;
                // What is remembered survives the round trip between two processes.
                memory = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
                shown
            })
            .collect();
        labels.iter().map(|label| labels.iter().position(|first| first == label).unwrap()).collect()
    }

    #[test]
    fn loop_2_what_looks_random_is_ignored_at_its_first_change() {
        assert_eq!(shown(&["FAILED a7Xk", "FAILED q3Zp", "FAILED m9Rt"]), [0, 0, 0]);
        assert_eq!(shown(&["bundle <id>.js", "bundle kXpQzRtB.js", "bundle <id>.js"]), [0, 0, 0]);
        assert_eq!(shown(&["a7Xk", "q3Zp", "m9Rt"]), [0, 1, 2], "alone it is what was asked for");
        assert_eq!(shown_with(&["a7Xk", "q3Zp", "m9Rt"], Some("it failed")), [0, 0, 0]);
    }

    #[test]
    fn loop_2_a_decimal_number_is_no_random_word_and_has_an_order() {
        assert_eq!(shown(&["12.5% done", "18.2% done", "25.0% done", "31.75% done"]), [0, 1, 2, 3]);
        assert_eq!(shown(&["loss 0.6931", "loss 0.6529", "loss 0.6511", "loss 0.6508"]), [0, 1, 2, 3]);
        assert_eq!(shown(&["next 10.0.0.7", "next 10.0.0.8", "next 10.0.0.9"]), [0, 1, 2]);
        let order = |text: &str| crate::result_word::order_of(text.as_bytes());
        assert!(order("0.0001") < order("0.5") && order("0.5") < order("1") && order("1") < order("1.25"));
        assert!(order("99") < order("100.5") && order("999999") < order("1000000") && order("12345678").is_none());
    }

    #[test]
    fn loop_2_a_number_that_turns_back_is_ignored_and_one_that_moves_on_is_progress() {
        let text = |seed: u32| format!("1 test failed: parser does not accept an empty list, seed {seed}");
        let texts = [8172, 9411, 733, 5120].map(text);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(shown_with(&texts, Some("it failed")), [0, 1, 1, 1]);
        assert_eq!(shown(&texts), [0, 1, 2, 3], "a number that is nearly all of an answer is the answer");
        let texts = [10, 20, 30, 40, 50].map(text);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(shown(&texts), [0, 1, 2, 3, 4]);
        assert_eq!(shown(&["queue 7", "queue 3", "queue 9", "queue 2"]), [0, 1, 2, 3], "nothing else is there");
    }

    #[test]
    fn loop_2_a_word_is_ignored_only_after_many_changes_in_a_long_result() {
        let text = |word: &str| {
            format!(
                "error: cannot start the container {word}, because the image has no entry point and no command is given to it"
            )
        };
        let texts = ["eager_turing", "happy_bose", "quirky_euler", "sad_dirac", "bold_gauss"].map(text);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(shown_with(&texts, Some("it failed")), [0, 1, 2, 2, 2]);
        assert_eq!(shown(&texts), [0, 1, 2, 3, 4], "another word is another answer");
        let short = ["value one", "value two", "value three", "value four", "value five"];
        assert_eq!(shown(&short), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn loop_2_other_words_are_another_result() {
        assert_eq!(shown(&["FAILED a7Xk", "PASSED q3Zp", "FAILED m9Rt"]), [0, 1, 2]);
        assert_eq!(shown(&["a b c", "a b c", "a c b", "a b c"]), [0, 0, 2, 0]);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut memory = RepeatedCalls::default();
        let long = "word 12 x9y8 ".repeat(500);
        for call in 0..100_usize {
            let own = ShownResult { result: digest::of(b"x"), error: Some(digest::of(b"y")), kind: None };
            memory.shown(&new(&call.to_string(), &format!("{long}{}", "!".repeat(call))), own);
        }
        assert_eq!((memory.calls.len(), memory.errors.len()), (CALLS_MAX, ERRORS_MAX));
        assert!(serde_json::to_string(&memory).unwrap().len() < 20_000);
    }
}
