//! What a client reads is what the provider sent, byte for byte, however it was cut and packed: through real sockets.

use crate::fixtures::{Fixture, streams};
use crate::wire::{Dice, packed};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use tripwire_core::policy::OnOutbound;
use tripwire_core::prices::PriceList;
use tripwire_gateway::wire::Api;
use tripwire_gateway::wire::decode::Encoding;
use tripwire_gateway::{Outbound, ServeOptions, serve};
use tripwire_secrets::Redactor;
use tripwire_testing::{TestDir, sized};
use tripwire_workspace::geometry::layout::Layout;

/// A reply: how it is packed, and its pieces.
type Pieces = (Encoding, Vec<Vec<u8>>);

/// A provider that answers each request with the pieces that it is handed.
fn provider() -> (SocketAddr, Sender<Pieces>) {
    let (sender, replies): (_, Receiver<Pieces>) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            socket.set_nodelay(true).unwrap();
            let mut reader = BufReader::new(socket);
            while let Some(length) = read_head(&mut reader) {
                let mut body = vec![0; length.unwrap_or_default()];
                reader.read_exact(&mut body).unwrap();
                let Ok((encoding, pieces)) = replies.recv() else { return };
                let packed = match encoding {
                    Encoding::Gzip => "content-encoding: gzip\r\n",
                    Encoding::Deflate => "content-encoding: deflate\r\n",
                    Encoding::Brotli => "content-encoding: br\r\n",
                    Encoding::Zstd => "content-encoding: zstd\r\n",
                    Encoding::Identity | Encoding::Unknown => "",
                };
                let socket = reader.get_mut();
                write!(
                    socket,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{packed}transfer-encoding: chunked\r\n\r\n"
                )
                .unwrap();
                for piece in pieces {
                    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
                    socket.write_all(&chunk).unwrap();
                }
                socket.write_all(b"0\r\n\r\n").unwrap();
            }
        }
    });
    (address, sender)
}

/// Reads a head; the length that it says, or `None` at the end.
fn read_head(reader: &mut impl std::io::BufRead) -> Option<Option<usize>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(length);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
    }
}

fn gateway(dir: &TestDir, provider: SocketAddr) -> SocketAddr {
    let entry = |api: &str, base: &str| {
        format!("[[provider]]\nname = \"{api}\"\napi = \"{api}\"\nbase_url = \"http://{provider}{base}\"\n")
    };
    let file = dir.path().join("gateway.toml");
    std::fs::write(&file, [entry("anthropic", ""), entry("openai", "/v1"), entry("gemini", "")].concat()).unwrap();
    std::fs::create_dir(dir.path().join("g")).unwrap();
    let options = ServeOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        config: Some(file),
        layout: Layout::at(&dir.path().join("g")),
        env: |_| None,
        outbound: Outbound::new(OnOutbound::Note, Redactor::default()),
        prices: PriceList::default(),
        talk: Box::new(|_| ()),
        asked: None,
        money: None,
    };
    let (ready, address) = channel();
    // It serves until the test's process ends.
    std::thread::spawn(move || serve(options, |address| ready.send(address).unwrap()).unwrap());
    address.recv().unwrap()
}

/// The path and the body of a request; its text is as long as what the replies say they read.
const fn ask(api: Api) -> (&'static str, &'static str) {
    match api {
        Api::Anthropic => (
            "/anthropic/v1/messages",
            r#"{"model":"claude-sonnet-4-5","max_tokens":999,"stream":true,"messages":[TEXT]}"#,
        ),
        Api::OpenAiChat => (
            "/openai/v1/chat/completions",
            r#"{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"messages":[TEXT]}"#,
        ),
        Api::OpenAiResponses => ("/openai/v1/responses", r#"{"model":"gpt-5.2-codex","stream":true,"input":[TEXT]}"#),
        Api::Gemini => ("/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", r#"{"contents":[TEXT]}"#),
    }
}

/// Asks over a kept connection and reads the whole reply.
fn read_reply(reader: &mut BufReader<TcpStream>, fixture: &Fixture) -> Vec<u8> {
    let (path, body) = ask(fixture.api);
    let body = body.replace("TEXT", &format!("\"{}\"", "text".repeat(2_000)));
    let host = reader.get_ref().peer_addr().unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\naccept-encoding: gzip, br, zstd, deflate\r\n");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    reader.get_mut().write_all(request.as_bytes()).unwrap();
    read_head(reader).expect("a head");
    let mut all = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("{}: `{size}`", fixture.name));
        let start = all.len();
        all.resize(start + size, 0);
        reader.read_exact(&mut all[start..]).unwrap();
        reader.read_exact(&mut [0; 2]).unwrap();
        if size == 0 {
            return all;
        }
    }
}

#[test]
fn gate_8_a_client_reads_what_the_provider_sent_under_every_cut_and_every_encoding() {
    let dir = TestDir::new();
    let (address, replies) = provider();
    let socket = TcpStream::connect(gateway(&dir, address)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut client = BufReader::new(socket);
    let mut dice = Dice(2_463_534_242);
    let fixtures: Vec<(Fixture, _)> =
        streams().into_iter().map(|fixture| (packed(fixture.body.as_bytes()), fixture)).map(|(p, f)| (f, p)).collect();
    for round in 0..sized(400, 10_000) {
        let (fixture, forms) = &fixtures[round % fixtures.len()];
        let (encoding, sent) = &forms[dice.below(forms.len())];
        // Single bytes are the dearest cut, and the rarest.
        let longest = if dice.below(40) == 0 { 1 } else { [30, 90, 400, sent.len()][dice.below(4)] };
        let mut pieces = Vec::new();
        let mut rest = sent.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + dice.below(longest)).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        replies.send((*encoding, pieces)).unwrap();
        let read = read_reply(&mut client, fixture);
        assert!(read == *sent, "{} {encoding:?}, pieces of at most {longest}", fixture.name);
    }
}
