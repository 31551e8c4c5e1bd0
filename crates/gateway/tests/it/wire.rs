//! Replies: the same figures, however the network cuts the bytes and whatever they are packed with.

use crate::fixtures::{Fixture, all, streams};
use tripwire_gateway::wire::decode::{Decoder, Encoding};
use tripwire_gateway::wire::reply::ReplyReader;
use tripwire_gateway::wire::{Api, Refusal};
use tripwire_testing::sized;

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    packed.extend(b"name\0");
    packed.extend(miniz_oxide::deflate::compress_to_vec(bytes, 6));
    packed.extend([0; 8]);
    packed
}

/// Brotli without compression: pieces that are stored as they are (RFC 7932, section 9.2).
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (number, piece) in bytes.chunks(60_000).enumerate() {
        // Not the last, four nibbles of length, stored; the first also says that the window has 16 bits.
        let length = piece.len() as u32 - 1;
        let bits = (length << 3) | (1 << 19);
        let bits = if number == 0 { bits << 1 } else { bits };
        packed.extend(bits.to_le_bytes().get(..3).unwrap());
        packed.extend(piece);
    }
    packed.push(3);
    packed
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub(crate) fn packed(bytes: &[u8]) -> [(Encoding, Vec<u8>); 6] {
    [
        (Encoding::Identity, bytes.to_vec()),
        (Encoding::Gzip, gzip(bytes)),
        (Encoding::Deflate, miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6)),
        (Encoding::Deflate, miniz_oxide::deflate::compress_to_vec(bytes, 6)),
        (Encoding::Brotli, brotli(bytes)),
        (Encoding::Zstd, zstd(bytes)),
    ]
}

fn assert_read(fixture: &Fixture, reader: &ReplyReader, how: &str) {
    let facts = reader.facts();
    assert!(!reader.is_unreadable(), "{} {how}", fixture.name);
    assert_eq!(facts.told(), Some(fixture.usage), "{} {how}", fixture.name);
    assert_eq!(facts.model.as_deref(), Some(fixture.model), "{} {how}", fixture.name);
    assert!(facts.is_complete && facts.refusal.is_none(), "{} {how}", fixture.name);
    assert!(facts.said_bytes >= fixture.said_min, "{} {how}: {}", fixture.name, facts.said_bytes);
}

#[test]
fn gate_8_every_reply_is_counted_alike_under_every_cut_and_every_encoding() {
    let mut dice = Dice(88_172_645_463_325_252);
    let rounds = sized(40, 220);
    let mut cuts = 0;
    for fixture in all() {
        for (encoding, bytes) in packed(fixture.body.as_bytes()) {
            for round in 0..rounds {
                let mut reader = ReplyReader::new(fixture.api, fixture.content_type, encoding);
                let longest = [1, 3, 17, 400, bytes.len()][round % 5];
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at((1 + dice.below(longest)).min(rest.len()));
                    reader.feed(piece);
                    rest = after;
                }
                reader.end();
                assert_read(&fixture, &reader, &format!("{encoding:?} in pieces of at most {longest}"));
                cuts += 1;
            }
        }
    }
    assert!(cuts >= sized(1_900, 10_000), "{cuts}");
}

#[test]
fn gate_8_a_reply_that_is_taken_as_a_whole_is_counted_as_in_pieces_and_so_is_one_that_breaks_off() {
    for fixture in all() {
        for (encoding, bytes) in packed(fixture.body.as_bytes()) {
            let new = || ReplyReader::new(fixture.api, fixture.content_type, encoding);
            let mut reader = new();
            reader.take_whole(&bytes);
            assert_read(&fixture, &reader, &format!("{encoding:?} as a whole"));
            for end in [0, 1, bytes.len() / 2, bytes.len() - 1] {
                let (mut whole, mut pieces) = (new(), new());
                let begin = bytes.get(..end).unwrap();
                whole.take_whole(begin);
                begin.chunks(7).for_each(|piece| pieces.feed(piece));
                pieces.end();
                let seen = |reader: &ReplyReader| (format!("{:?}", reader.facts()), reader.is_unreadable());
                assert_eq!(seen(&whole), seen(&pieces), "{} {encoding:?} of {end} bytes", fixture.name);
            }
        }
    }
}

#[test]
fn gate_8_a_small_reply_that_unpacks_to_a_huge_one_is_not_unpacked() {
    let bomb = vec![b' '; 3 << 20];
    for (encoding, bytes) in packed(&bomb) {
        let mut decoder = Decoder::new(encoding, 1 << 20);
        let mut came = 0;
        let read = decoder.feed(&bytes, &mut |plain| {
            came += plain.len();
            Ok(())
        });
        assert!(read.is_err(), "{encoding:?}");
        assert!(came <= 1 << 20, "{encoding:?}: {came}");
    }
}

#[test]
fn gate_8_what_is_no_such_encoding_is_known_to_be_unreadable() {
    for encoding in [Encoding::Gzip, Encoding::Deflate, Encoding::Zstd, Encoding::Brotli, Encoding::Unknown] {
        let mut reader = ReplyReader::new(Api::Anthropic, "application/json", encoding);
        reader.feed(&[0xff; 4_096]);
        assert!(reader.is_unreadable(), "{encoding:?}");
    }
    assert_eq!(Encoding::of(Some("gzip, br")), Encoding::Unknown);
    assert_eq!(Encoding::of(None), Encoding::Identity);
}

#[test]
fn gate_8_figures_that_are_no_figures_are_not_believed() {
    for usage in [
        r#"{"input_tokens":-5,"output_tokens":3}"#,
        r#"{"input_tokens":1.5,"output_tokens":3}"#,
        r#"{"input_tokens":"12","output_tokens":3}"#,
        r#"{"input_tokens":1,"output_tokens":1e400}"#,
    ] {
        let body = format!(r#"{{"type":"message","model":"m","content":[],"usage":{usage}}}"#);
        let mut reader = ReplyReader::new(Api::Anthropic, "application/json", Encoding::Identity);
        reader.feed(body.as_bytes());
        reader.end();
        assert_eq!(reader.facts().told(), None, "{usage}");
    }
}

#[test]
fn gate_8_a_stream_that_breaks_off_is_known_to_be_incomplete() {
    for fixture in streams() {
        let half = fixture.body.len() / 2;
        let mut reader = ReplyReader::new(fixture.api, fixture.content_type, Encoding::Identity);
        reader.feed(fixture.body.as_bytes().get(..half).unwrap());
        reader.end();
        assert!(!reader.facts().is_complete, "{}", fixture.name);
    }
}

#[test]
fn gate_8_bytes_that_are_no_text_do_not_hide_the_figures_behind_them() {
    for fixture in streams() {
        let mut body = b"data: {\"x\":\"\xff\xfe\"}\n\n: \xc3\n".to_vec();
        body.extend(fixture.body.as_bytes());
        let mut reader = ReplyReader::new(fixture.api, fixture.content_type, Encoding::Identity);
        body.chunks(5).for_each(|piece| reader.feed(piece));
        reader.end();
        assert_read(&fixture, &reader, "behind bytes that are no text");
    }
}

#[test]
fn an_overload_inside_a_stream_is_told_from_other_errors() {
    for (api, data, expected) in [
        (Api::Anthropic, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, Refusal::Overloaded),
        (Api::Anthropic, r#"{"type":"error","error":{"type":"api_error","message":"x"}}"#, Refusal::Other),
        (Api::OpenAiChat, r#"{"error":{"code":"server_is_overloaded","message":"x"}}"#, Refusal::Overloaded),
        (
            Api::OpenAiResponses,
            r#"{"type":"response.failed","response":{"error":{"code":"server_is_overloaded"}}}"#,
            Refusal::Overloaded,
        ),
        (Api::Gemini, r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}"#, Refusal::Overloaded),
        (Api::Gemini, r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#, Refusal::Other),
    ] {
        let mut reader = ReplyReader::new(api, "text/event-stream", Encoding::Identity);
        reader.feed(format!("data: {data}\n\n").as_bytes());
        assert_eq!(reader.facts().refusal, Some(expected), "{data}");
    }
}
