//! A model that says what it is told, to whichever client asks: three wire forms on loopback, counting what it is asked.

pub(crate) use super::wire::{Turn, Usage};

use super::wire::Wire;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a turn costs unless a test says otherwise.
const FEW: Usage = Usage { fresh: 10, read: 0, write: 0, output: 5 };

/// What the model was asked, and where it listens.
pub(crate) struct Model {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    ledger: Arc<Mutex<Vec<(String, Usage)>>>,
    over: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

struct Script {
    turns: Vec<Turn>,
    usage: Usage,
    ledger: Arc<Mutex<Vec<(String, Usage)>>>,
}

impl Script {
    /// What an answer used, written down: never more than the request wants back.
    fn charge(&self, model: String, usage: Usage, limit: Option<u64>) -> Usage {
        let usage = Usage { output: usage.output.min(limit.unwrap_or(u64::MAX)), ..usage };
        self.ledger.lock().expect("no test panics while holding it").push((model, usage));
        usage
    }
}

impl Model {
    /// Answers the first `calls` requests with the same shell command, and then says that it is done.
    pub(crate) fn repeating(command: &str, calls: usize) -> Self {
        Self::scripted(vec![Turn::Shell(command.to_owned()); calls])
    }

    /// Answers turn by turn, and says that it is done after the last one.
    pub(crate) fn scripted(turns: Vec<Turn>) -> Self {
        Self::costing(turns, FEW)
    }

    /// As [`Self::scripted`], with these tokens for each answer.
    pub(crate) fn costing(turns: Vec<Turn>, usage: Usage) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let (asked, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&asked), Arc::clone(&over));
        let ledger = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Script { turns, usage, ledger: Arc::clone(&ledger) });
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), seen, script) = (stream, Arc::clone(&seen), Arc::clone(&script)) else { continue };
                std::thread::spawn(move || serve(stream, &seen, &script));
            }
        });
        Self { url: format!("http://{address}"), asked, ledger, over, address }
    }

    /// The bodies of the requests so far; side questions of a client do not count.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics while holding it").clone()
    }

    /// What every answer used, side questions included, with the model that was asked.
    pub(crate) fn ledger(&self) -> Vec<(String, Usage)> {
        self.ledger.lock().expect("no test panics while holding it").clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

/// Serves one connection, request after request.
fn serve(stream: TcpStream, asked: &Mutex<Vec<String>>, script: &Script) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut writer = stream;
    while let Some((path, body)) = read_request(&mut reader) {
        let answer = match Wire::of(&path) {
            Some(wire) if wire.is_turn(&body) => {
                let (model, limit) = wire.asked(&path, &body);
                let mut asked = asked.lock().expect("no test panics while holding it");
                asked.push(body);
                let done = Turn::Say("Done.".to_owned());
                let turn = script.turns.get(asked.len() - 1).unwrap_or(&done);
                sse(&wire.answer(asked.len(), turn, script.charge(model, script.usage, limit)))
            }
            Some(wire) => {
                let (model, limit) = wire.asked(&path, &body);
                sse(&wire.answer(0, &Turn::Say("{}".to_owned()), script.charge(model, FEW, limit)))
            }
            None => "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8_lossy(&body).into_owned()))
}

fn sse(events: &[(String, serde_json::Value)]) -> String {
    let event = |(name, data): &(String, serde_json::Value)| {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        format!("{name}data: {data}\n\n")
    };
    let body: String = events.iter().map(event).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}
