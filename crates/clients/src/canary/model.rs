//! A scripted model on loopback: no key, no network, and it counts what it is asked.

use super::wire::{ModelTurn, ProviderWire};
use serde_json::Value;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tripwire_fs::bounded;

/// The largest request that is read; a client's whole prompt with all its tools fits many times.
const REQUEST_BYTES_MAX: usize = 32 << 20;
/// The longest line of a request's head.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Lines of a request's head.
const LINES_MAX: usize = 200;
/// How long a connection may be silent.
const SILENT_FOR: Duration = Duration::from_secs(180);

/// A model that listens.
pub(super) struct ScriptedModel {
    address: SocketAddr,
    url: String,
    shared: Arc<ModelState>,
}

struct ModelState {
    turns: Vec<ModelTurn>,
    asked: AtomicUsize,
    over: AtomicBool,
}

impl ScriptedModel {
    /// Begins to listen. It answers turn by turn, and says that it is done after the last one.
    pub(super) fn begin(turns: Vec<ModelTurn>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ModelState { turns, asked: AtomicUsize::new(0), over: AtomicBool::new(false) });
        let serving = Arc::clone(&shared);
        std::thread::Builder::new().name("canary model".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&serving)) else { continue };
                // A connection that breaks is the client's own affair: it asks again or gives up.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        })?;
        Ok(Self { address, url: format!("http://{address}"), shared })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// How often an agent asked for a turn; side questions of a client do not count.
    pub(super) fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // The listener wakes up at the next connection, which is this one.
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
    }
}

/// Serves one connection, request after request.
fn serve(stream: TcpStream, shared: &ModelState) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENT_FOR))?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some((path, body)) = read_request(&mut reader)? {
        let answer = match ProviderWire::of(&path) {
            Some(wire) if wire.is_turn(&body) => {
                let number = shared.asked.fetch_add(1, Ordering::SeqCst);
                sse(&wire.answer(number + 1, shared.turns.get(number).unwrap_or(&ModelTurn::Done), &body))
            }
            Some(wire) => sse(&wire.answer(0, &ModelTurn::Done, &body)),
            None => "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        };
        writer.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// The path and the body of the next request; none at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(String, String)>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let first = bounded::read_line(reader, LINE_BYTES_MAX)?;
    if first.is_empty() {
        return Ok(None);
    }
    let path = String::from_utf8_lossy(&first).split(' ').nth(1).ok_or_else(|| bad("no path"))?.to_owned();
    let mut length = 0;
    for _ in 0..LINES_MAX {
        let line = bounded::read_line(reader, LINE_BYTES_MAX)?;
        let line = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(|_| bad("no length"))?;
        }
    }
    if length > REQUEST_BYTES_MAX {
        return Err(bad("too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, String::from_utf8_lossy(&body).into_owned())))
}

/// An answer as a stream of events, sent in one piece.
fn sse(events: &[(&str, Value)]) -> String {
    let event = |(name, data): &(&str, Value)| {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        format!("{name}data: {data}\n\n")
    };
    let body: String = events.iter().map(event).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &ScriptedModel, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(model.address).unwrap();
        write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn turns_come_in_order_and_side_questions_do_not_count() {
        let model = ScriptedModel::begin(vec![ModelTurn::Shell("echo tick".to_owned())]).unwrap();
        assert!(ask(&model, "/v1/messages?beta=true", "{}").contains("end_turn"), "a side question has no tools");
        assert_eq!(model.asked(), 0);
        let turn = "{\"tools\":[{\"name\":\"Bash\"}]}";
        assert!(ask(&model, "/v1/messages", turn).contains("echo tick"));
        assert!(ask(&model, "/v1/messages", turn).contains("end_turn"), "it is done after the last turn");
        assert_eq!(model.asked(), 2);
        assert!(ask(&model, "/v1/models", "").ends_with("{}"));
        assert_eq!(ask(&model, "/v1/messages", "").matches("HTTP/1.1 200").count(), 1);
    }

    #[test]
    fn nonsense_ends_the_connection_and_not_the_model() {
        let model = ScriptedModel::begin(Vec::new()).unwrap();
        let mut stream = TcpStream::connect(model.address).unwrap();
        stream.write_all(b"\xff\xfe\r\n\r\n").unwrap();
        drop(stream);
        assert!(ask(&model, "/v1/responses", "{}").contains("response.completed"));
    }
}
