//! Unpacks a copy of a reply: gzip, deflate, brotli, zstd. A bound holds what a small reply can unpack to.

use brotli_decompressor::writer::DecompressorWriter;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use ruzstd::decoding::FrameDecoder;
use std::borrow::Cow;
use std::io::Write;

/// What a reply's `content-encoding` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The bytes are the text.
    Identity,
    /// gzip.
    Gzip,
    /// zlib, or bare deflate as some servers send it under the same name.
    Deflate,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// Something else, or several of them.
    Unknown,
}

impl Encoding {
    /// What a client may be allowed to ask for.
    pub const ACCEPTED: [&'static str; 4] = ["gzip", "deflate", "br", "zstd"];

    /// Reads the header.
    #[must_use]
    pub fn of(header: Option<&str>) -> Self {
        match header.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => Self::Unknown,
        }
    }
}

/// Why a copy cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Takes unpacked bytes; an error ends the reading.
type Sink<'s> = dyn FnMut(&[u8]) -> Result<(), ()> + 's;

/// Unpacks one reply piece by piece.
pub struct Decoder {
    state: State,
    left: u64,
    /// Room for unpacked bytes, made once.
    piece: Vec<u8>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("left", &self.left).finish_non_exhaustive()
    }
}

enum State {
    Identity,
    Gzip { header: Vec<u8>, inflate: Option<Inflater> },
    Deflate(Option<Inflater>),
    Brotli(Box<DecompressorWriter<Vec<u8>>>),
    Zstd { decoder: Box<FrameDecoder>, packed: Vec<u8> },
    Unknown,
}

/// Bytes that are unpacked at once.
const PIECE_BYTES: usize = 32 << 10;
/// The longest header of a gzip member that is looked for.
const GZIP_HEADER_BYTES_MAX: usize = 64 << 10;
/// Packed bytes of zstd that may wait for the rest of their block: two of the largest blocks.
const ZSTD_WAITING_BYTES_MAX: usize = 512 << 10;

impl Decoder {
    /// A decoder that unpacks at most so many bytes.
    #[must_use]
    pub fn new(encoding: Encoding, bytes_max: u64) -> Self {
        let state = match encoding {
            Encoding::Identity => State::Identity,
            Encoding::Gzip => State::Gzip { header: Vec::new(), inflate: None },
            Encoding::Deflate => State::Deflate(None),
            Encoding::Brotli => State::Brotli(Box::new(DecompressorWriter::new(Vec::new(), PIECE_BYTES))),
            Encoding::Zstd => State::Zstd { decoder: Box::new(FrameDecoder::new()), packed: Vec::new() },
            Encoding::Unknown => State::Unknown,
        };
        let piece = match encoding {
            Encoding::Gzip | Encoding::Deflate | Encoding::Zstd => vec![0; PIECE_BYTES],
            Encoding::Identity | Encoding::Brotli | Encoding::Unknown => Vec::new(),
        };
        Self { state, left: bytes_max, piece }
    }

    /// Whether the bytes are the text.
    pub(super) const fn is_identity(&self) -> bool {
        matches!(self.state, State::Identity)
    }

    /// Unpacks the next bytes into the sink.
    ///
    /// # Errors
    /// When they are no such encoding, or too much comes of them.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), Unreadable> {
        let Self { state, left, piece } = self;
        let mut sink = |plain: &[u8]| {
            *left = left.checked_sub(plain.len() as u64).ok_or(())?;
            sink(plain)
        };
        match state {
            State::Identity => sink(bytes).map_err(|()| Unreadable),
            State::Gzip { header, inflate } => {
                let Some((rest, inflate)) = gzip(header, inflate, bytes)? else { return Ok(()) };
                inflate.unpack(&rest, piece, &mut sink)
            }
            State::Deflate(state) => {
                let state = state.get_or_insert_with(|| {
                    // The first byte of zlib names its method and window; bare deflate has none.
                    let is_zlib = bytes.first().is_some_and(|first| first & 0x0f == 8);
                    Inflater::new(if is_zlib { DataFormat::Zlib } else { DataFormat::Raw })
                });
                state.unpack(bytes, piece, &mut sink)
            }
            State::Brotli(writer) => {
                for piece in bytes.chunks(1_024) {
                    writer.write_all(piece).map_err(|_| Unreadable)?;
                    let plain = std::mem::take(writer.get_mut());
                    sink(&plain).map_err(|()| Unreadable)?;
                }
                Ok(())
            }
            State::Zstd { decoder, packed } => {
                packed.extend_from_slice(bytes);
                zstd(decoder, packed, piece, &mut sink)
            }
            State::Unknown => Err(Unreadable),
        }
    }
}

/// Packed bytes and what unpacks them.
type Packed<'s, 'b> = (Cow<'b, [u8]>, &'s mut Inflater);

/// The bytes behind the header, once it is there, and what unpacks them.
fn gzip<'s, 'b>(
    header: &mut Vec<u8>,
    state: &'s mut Option<Inflater>,
    bytes: &'b [u8],
) -> Result<Option<Packed<'s, 'b>>, Unreadable> {
    if let Some(state) = state {
        return Ok(Some((Cow::Borrowed(bytes), state)));
    }
    header.extend_from_slice(bytes);
    let Some(length) = gzip_header(header)? else {
        return if header.len() > GZIP_HEADER_BYTES_MAX { Err(Unreadable) } else { Ok(None) };
    };
    let rest = header.split_off(length);
    header.clear();
    Ok(Some((Cow::Owned(rest), state.insert(Inflater::new(DataFormat::Raw)))))
}

/// The length of a gzip member's header, once it is there (RFC 1952).
fn gzip_header(bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
    let Some(fixed) = bytes.get(..10) else { return Ok(None) };
    if !fixed.starts_with(&[0x1f, 0x8b, 8]) {
        return Err(Unreadable);
    }
    let flags = fixed.get(3).copied().unwrap_or(0);
    let mut at = 10;
    if flags & 4 != 0 {
        let Some([low, high]) = bytes.get(at..at + 2) else { return Ok(None) };
        at += 2 + usize::from(u16::from_le_bytes([*low, *high]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let Some(end) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
                return Ok(None);
            };
            at += end + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    Ok((bytes.len() >= at).then_some(at))
}

/// Unpacks deflate.
struct Inflater {
    state: Box<InflateState>,
    is_done: bool,
}

impl Inflater {
    fn new(format: DataFormat) -> Self {
        Self { state: InflateState::new_boxed(format), is_done: false }
    }

    fn unpack(&mut self, mut bytes: &[u8], piece: &mut [u8], sink: &mut Sink<'_>) -> Result<(), Unreadable> {
        // What follows the end is a checksum, or nothing that belongs to the text.
        while !self.is_done {
            let result = inflate(&mut self.state, bytes, piece, MZFlush::None);
            sink(piece.get(..result.bytes_written).unwrap_or_default()).map_err(|()| Unreadable)?;
            bytes = bytes.get(result.bytes_consumed..).unwrap_or_default();
            let moved = result.bytes_consumed + result.bytes_written > 0;
            match result.status {
                Ok(MZStatus::StreamEnd) => self.is_done = true,
                Ok(_) if moved => {}
                Ok(_) | Err(MZError::Buf) if bytes.is_empty() => return Ok(()),
                Ok(_) | Err(_) => return Err(Unreadable),
            }
        }
        Ok(())
    }
}

fn zstd(
    decoder: &mut FrameDecoder,
    packed: &mut Vec<u8>,
    piece: &mut [u8],
    sink: &mut Sink<'_>,
) -> Result<(), Unreadable> {
    loop {
        // A header that is not whole yet looks like a broken one.
        let read = decoder.decode_from_to(packed, piece);
        let (read, written) = match read {
            Ok(moved) => moved,
            Err(_) if packed.len() < 32 => return Ok(()),
            Err(_) => return Err(Unreadable),
        };
        sink(piece.get(..written).unwrap_or_default()).map_err(|()| Unreadable)?;
        let drained = packed.drain(..read.min(packed.len())).len();
        // A frame that waits for its checksum says that it has read it.
        if drained == 0 && written == 0 {
            return if packed.len() > ZSTD_WAITING_BYTES_MAX { Err(Unreadable) } else { Ok(()) };
        }
    }
}
