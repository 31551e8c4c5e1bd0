//! The way from a hook process to the supervisor: one question and one answer over a unix socket.
//!
//! Under `tripwire run` the supervisor is the only writer of the session. A hook hands over what the client sent, waits
//! for the words that it has to say, and refuses if anything at all goes wrong on the way. Both sides use these frames:
//!
//! ```text
//! question: "TWQ1"  u32 length  client's name   u32 length  hook input
//! reply:    "TWR1"  u8 exit code  u32 length  stdout   u32 length  stderr
//! ```
//!
//! Lengths are little-endian and bounded; a frame that is not of this form is an error and never a guess.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tripwire_clients::Client;
use tripwire_clients::hooks::Reply;
use tripwire_core::explain::{ExitClass, Explain};

/// The environment variable in which the supervisor names its socket.
pub const SOCKET_VARIABLE: &str = "TRIPWIRE_SOCKET";
/// The environment variable in which the supervisor names the session that hooks belong to.
pub const SESSION_VARIABLE: &str = "TRIPWIRE_SESSION";

/// How long a hook waits for the supervisor: as long as a person may keep a run paused. The supervisor watches over the
/// hook's life, and the hook ends with the supervisor.
pub const SUPERVISED_WITHIN: Duration = Duration::from_secs(86_400);

/// The largest hook input that travels; a tool's whole output may be inside.
pub const INPUT_BYTES_MAX: usize = 64 << 20;
/// The longest text of an answer.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The longest name of a client.
const NAME_BYTES_MAX: usize = 64;

const QUESTION: [u8; 4] = *b"TWQ1";
const REPLY: [u8; 4] = *b"TWR1";

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The connection could not be made, broke, or took too long.
    #[error("the supervisor does not answer: {0}")]
    Io(#[from] io::Error),
    /// The other side does not speak these frames.
    #[error("the supervisor's socket carries {0}")]
    Frame(&'static str),
}

impl Explain for SocketError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io(_) => format!(
                "end the client and start it again with `tripwire run`; `{SOCKET_VARIABLE}` names a run that is over"
            )
            .into(),
            Self::Frame(_) => "start the client again with `tripwire run` of this version".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// What a hook process hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The client that called the hook.
    pub client: Client,
    /// What it wrote to the hook's standard input.
    pub input: Vec<u8>,
}

impl Question {
    /// Writes the frame.
    ///
    /// # Errors
    /// When the connection breaks or the input is too large.
    pub fn write(&self, to: &mut impl Write) -> Result<(), SocketError> {
        let mut frame = Vec::with_capacity(self.input.len().saturating_add(NAME_BYTES_MAX));
        frame.extend(QUESTION);
        part(&mut frame, self.client.name().as_bytes(), NAME_BYTES_MAX)?;
        part(&mut frame, &self.input, INPUT_BYTES_MAX)?;
        Ok(to.write_all(&frame)?)
    }

    /// Reads the frame.
    ///
    /// # Errors
    /// When it is not one, or names an unknown client.
    pub fn read(from: &mut impl Read) -> Result<Self, SocketError> {
        begins(from, QUESTION)?;
        let name = take(from, NAME_BYTES_MAX)?;
        let client = std::str::from_utf8(&name).ok().and_then(Client::named);
        let client = client.ok_or(SocketError::Frame("the name of an unknown client"))?;
        Ok(Self { client, input: take(from, INPUT_BYTES_MAX)? })
    }
}

/// Writes the frame of an answer.
///
/// # Errors
/// When the connection breaks or a text is too long.
pub fn write_reply(reply: &Reply, to: &mut impl Write) -> Result<(), SocketError> {
    let mut frame = Vec::with_capacity(reply.stdout.len().saturating_add(reply.stderr.len()).saturating_add(16));
    frame.extend(REPLY);
    frame.push(reply.exit_code);
    part(&mut frame, reply.stdout.as_bytes(), TEXT_BYTES_MAX)?;
    part(&mut frame, reply.stderr.as_bytes(), TEXT_BYTES_MAX)?;
    Ok(to.write_all(&frame)?)
}

/// Reads the frame of an answer.
///
/// # Errors
/// When it is not one.
pub fn read_reply(from: &mut impl Read) -> Result<Reply, SocketError> {
    begins(from, REPLY)?;
    let mut exit_code = [0_u8];
    from.read_exact(&mut exit_code)?;
    let text = |bytes| String::from_utf8(bytes).map_err(|_| SocketError::Frame("text that is not UTF-8"));
    let stdout = text(take(from, TEXT_BYTES_MAX)?)?;
    Ok(Reply { stdout, stderr: text(take(from, TEXT_BYTES_MAX)?)?, exit_code: exit_code[0] })
}

/// Asks the supervisor and waits for its answer, `within` at most.
///
/// # Errors
/// Whatever keeps the answer away: then the hook has to refuse.
pub fn ask(socket: &Path, question: &Question, within: Duration) -> Result<Reply, SocketError> {
    let until = Instant::now() + within;
    let stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(within))?;
    let mut bounded = Bounded { stream, until };
    question.write(&mut bounded.stream)?;
    read_reply(&mut bounded)
}

/// A stream whose reads together end in time: a peer that sends a byte now and then must not hold the hook for ever.
struct Bounded {
    stream: UnixStream,
    until: Instant,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn part(frame: &mut Vec<u8>, bytes: &[u8], max: usize) -> Result<(), SocketError> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= max);
    let length = length.ok_or(SocketError::Frame("more than a frame may hold"))?;
    frame.extend(length.to_le_bytes());
    frame.extend(bytes);
    Ok(())
}

fn begins(from: &mut impl Read, with: [u8; 4]) -> Result<(), SocketError> {
    let mut found = [0_u8; 4];
    from.read_exact(&mut found)?;
    if found == with { Ok(()) } else { Err(SocketError::Frame("something else than our frames")) }
}

fn take(from: &mut impl Read, max: usize) -> Result<Vec<u8>, SocketError> {
    let mut length = [0_u8; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > max {
        return Err(SocketError::Frame("more than a frame may hold"));
    }
    // Grown as the bytes arrive: a length alone must not make us reserve memory.
    let mut bytes = Vec::new();
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    if from.take(wanted).read_to_end(&mut bytes)? < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::net::UnixListener;

    fn serve(folder: &Path, answer: impl FnOnce(Question) -> Option<Reply> + Send + 'static) -> std::path::PathBuf {
        let path = folder.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let question = Question::read(&mut stream).unwrap();
            if let Some(reply) = answer(question) {
                write_reply(&reply, &mut stream).unwrap();
            } else {
                // Says nothing until the other side gives up.
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            }
        });
        path
    }

    #[test]
    fn a_question_is_answered_over_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = serve(folder.path(), |question| {
            let stdout = String::from_utf8(question.input).unwrap();
            Some(Reply { stdout, stderr: question.client.name().to_owned(), exit_code: 2 })
        });
        let question = Question { client: Client::Codex, input: b"{\"a\":1}".to_vec() };
        let reply = ask(&socket, &question, Duration::from_secs(20)).unwrap();
        let expected = Reply { stdout: "{\"a\":1}".to_owned(), stderr: "codex".to_owned(), exit_code: 2 };
        assert_eq!(reply, expected);
    }

    #[test]
    fn const_5_silence_and_absence_are_errors_and_no_answers() {
        let folder = tempfile::tempdir().unwrap();
        let question = Question { client: Client::Claude, input: Vec::new() };
        assert!(ask(&folder.path().join("none"), &question, Duration::from_secs(1)).is_err());
        let silent = serve(folder.path(), |_| None);
        assert!(ask(&silent, &question, Duration::from_millis(100)).is_err());
    }

    proptest! {
        #[test]
        fn frames_survive_the_way_and_random_bytes_are_errors(input in proptest::collection::vec(any::<u8>(), 0..300)) {
            let question = Question { client: Client::Gemini, input: input.clone() };
            let mut frame = Vec::new();
            question.write(&mut frame).unwrap();
            prop_assert_eq!(Question::read(&mut frame.as_slice()).unwrap(), question);
            for end in 0..frame.len() {
                prop_assert!(Question::read(&mut &frame[..end]).is_err());
            }
            prop_assert!(read_reply(&mut input.as_slice()).is_err() || input.starts_with(b"TWR1"));
        }
    }
}
