//! A proxy with a resolver that says what the test wants, a log that is kept, and peers that speak real TLS.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tripwire_egress::{
    AllowList, HostName, Limits, Port, Proxy, ProxyConfig, ProxyHandle, RequestLog, RequestRecord, Resolver, Stage,
    Summary,
};

/// No test waits longer than this for a peer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Answers from a table and remembers every question.
#[derive(Default)]
pub(crate) struct TableResolver {
    pub(crate) answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) delay: Duration,
}

impl TableResolver {
    /// Each element is the answer to one question; the last one is repeated.
    pub(crate) fn answer(&self, host: &str, answers: &[&[&str]]) {
        let parsed = answers.iter().map(|one| one.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        self.answers.lock().unwrap().insert(host.to_owned(), parsed);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for TableResolver {
    fn resolve(&self, host: &HostName) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_string());
        thread::sleep(self.delay);
        let mut answers = self.answers.lock().unwrap();
        match answers.get_mut(host.as_str()) {
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
            Some(list) if list.len() > 1 => Ok(list.remove(0)),
            Some(list) => Ok(list[0].clone()),
        }
    }
}

#[derive(Default)]
pub(crate) struct KeptLog {
    pub(crate) records: Mutex<Vec<RequestRecord>>,
    /// Records from this number on are not taken.
    pub(crate) full_after: Option<usize>,
}

impl RequestLog for KeptLog {
    fn record(&self, record: &RequestRecord) -> io::Result<()> {
        let mut records = self.records.lock().unwrap();
        if self.full_after.is_some_and(|most| records.len() >= most) {
            return Err(io::Error::other("the disk is full"));
        }
        records.push(record.clone());
        Ok(())
    }
}

/// A running proxy with all its strings in the test's hand.
pub(crate) struct World {
    pub(crate) resolver: Arc<TableResolver>,
    pub(crate) log: Arc<KeptLog>,
    pub(crate) path: PathBuf,
    handle: Option<ProxyHandle>,
}

/// What a world is made of; the defaults allow nothing.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) allow: Vec<String>,
    pub(crate) loopback_ports: Vec<u16>,
    pub(crate) limits: Limits,
    pub(crate) resolver: TableResolver,
    pub(crate) log: KeptLog,
}

impl Plan {
    /// `good.test` on one loopback port.
    pub(crate) fn good(port: u16) -> Self {
        let plan = Self { allow: vec![format!("good.test:{port}")], loopback_ports: vec![port], ..Self::default() };
        plan.resolver.answer("good.test", &[&["127.0.0.1"]]);
        plan
    }

    pub(crate) fn start(self) -> World {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tw-allow-{}-{number}.sock", std::process::id()));
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path).unwrap();
        let resolver = Arc::new(self.resolver);
        let log = Arc::new(self.log);
        let mut config = ProxyConfig::new(AllowList::parse(&self.allow).unwrap(), Arc::clone(&log) as _);
        config.resolver = Arc::clone(&resolver) as _;
        config.allow_loopback_ports = self.loopback_ports.iter().map(|p| Port::new(*p).unwrap()).collect();
        config.limits = self.limits;
        let handle = Some(Proxy::start(listener, config).unwrap());
        World { resolver, log, path, handle }
    }
}

impl World {
    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a head and gives the socket with the answer's head.
    pub(crate) fn ask(&self, head: &str) -> (UnixStream, String) {
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let answer = read_answer(&mut stream);
        (stream, answer)
    }

    /// The same for a proxy that may close before it has heard the head.
    pub(crate) fn ask_once(&self, head: &str) -> String {
        let mut stream = self.connect();
        drop(stream.write_all(head.as_bytes()));
        let mut answer = vec![0; 512];
        let count = stream.read(&mut answer).unwrap_or(0);
        String::from_utf8_lossy(&answer[..count]).into_owned()
    }

    /// An open tunnel to `good.test`.
    pub(crate) fn tunnel(&self, port: u16) -> UnixStream {
        let (stream, answer) = self.ask(&connect_head("good.test", port));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }

    /// Waits for the record that ends a request.
    pub(crate) fn ended(&self, count: usize) -> Vec<RequestRecord> {
        let started = Instant::now();
        loop {
            let ends: Vec<_> = self.records().into_iter().filter(|record| record.stage == Stage::End).collect();
            if ends.len() >= count {
                return ends;
            }
            assert!(started.elapsed() < PATIENCE, "only {ends:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn records(&self) -> Vec<RequestRecord> {
        self.log.records.lock().unwrap().clone()
    }

    pub(crate) fn stop(&mut self) -> Summary {
        self.handle.take().unwrap().stop()
    }

    pub(crate) fn drop_handle(&mut self) {
        drop(self.handle.take());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.handle.take());
        drop(std::fs::remove_file(&self.path));
    }
}

pub(crate) fn connect_head(host: &str, port: u16) -> String {
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
}

/// Reads up to the empty line of an answer, byte by byte so that nothing behind it is lost.
pub(crate) fn read_answer(stream: &mut impl Read) -> String {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => answer.push(byte[0]),
            Ok(_) => break,
            Err(error) => panic!("no answer: {error}, so far {:?}", String::from_utf8_lossy(&answer)),
        }
    }
    String::from_utf8(answer).unwrap()
}

/// Reads to the end; a reset counts as an end.
pub(crate) fn read_rest(stream: &mut impl Read) -> Vec<u8> {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "the peer did not close");
    }
    rest
}

/// A listener that keeps every byte it gets and answers with fixed ones.
pub(crate) struct RawServer {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<u8>>>,
}

impl RawServer {
    /// `answer` is sent as soon as the first bytes have come.
    pub(crate) fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let kept = Arc::clone(&kept);
                thread::spawn(move || keep_bytes(stream, answer, &kept));
            }
        });
        Self { port, received }
    }

    pub(crate) fn received(&self) -> Vec<u8> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until that many bytes have come.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<u8> {
        let started = Instant::now();
        while self.received().len() < count {
            assert!(started.elapsed() < PATIENCE, "only {} of {count} bytes", self.received().len());
            thread::sleep(Duration::from_millis(2));
        }
        self.received()
    }
}

fn keep_bytes(mut stream: TcpStream, answer: &[u8], kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    let mut answered = false;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.lock().unwrap().extend_from_slice(&buffer[..count]);
        if !answered {
            answered = true;
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// A certificate for test names, and both ends' configurations.
pub(crate) struct Pki {
    pub(crate) pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Pki {
    pub(crate) fn new() -> Self {
        let names = ["good.test", "other.test", "localhost"].map(str::to_owned).to_vec();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Self {
            pem: made.cert.pem(),
            certificate: made.cert.der().clone(),
            key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
        }
    }

    pub(crate) fn server(&self, provider: rustls::crypto::CryptoProvider) -> Arc<ServerConfig> {
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .unwrap();
        Arc::new(config)
    }

    pub(crate) fn client(
        &self,
        provider: rustls::crypto::CryptoProvider,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

/// A TLS server that answers each request of bytes by a function of them, and says what it saw.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
}

impl TlsServer {
    /// Sends back what it gets until the client closes.
    pub(crate) fn echo(config: Arc<ServerConfig>) -> Self {
        Self::start(config, |stream| {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
            stream.conn.send_close_notify();
            drop(stream.flush());
        })
    }

    /// Answers one HTTP request with a fixed text.
    pub(crate) fn http(config: Arc<ServerConfig>) -> Self {
        Self::start(config, |stream| {
            drop(read_answer(stream));
            let body = "hello from behind the proxy\n";
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            drop(stream.write_all(answer.as_bytes()));
            stream.conn.send_close_notify();
            drop(stream.flush());
        })
    }

    fn start(config: Arc<ServerConfig>, serve: fn(&mut StreamOwned<ServerConnection, TcpStream>)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                thread::spawn(move || serve(&mut StreamOwned::new(connection, stream)));
            }
        });
        Self { port }
    }
}

pub(crate) fn ring() -> rustls::crypto::CryptoProvider {
    rustls::crypto::ring::default_provider()
}

pub(crate) fn server_name(name: &str) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap()
}

/// The ClientHello that a real client sends first.
pub(crate) fn real_hello(name: &str) -> Vec<u8> {
    let pki = Pki::new();
    let config = pki.client(ring(), rustls::ALL_VERSIONS);
    let mut connection = ClientConnection::new(Arc::new(config), server_name(name)).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

/// A ClientHello built by hand, for those that no honest client sends.
pub(crate) fn hello_message(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (kind, data) in extensions {
        block.extend(kind.to_be_bytes());
        block.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        block.extend(data);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend(u16::try_from(block.len()).unwrap().to_be_bytes());
    body.extend(block);
    handshake(1, &body)
}

pub(crate) fn handshake(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
    message.extend(body);
    message
}

/// An SNI extension with any number of names of any type.
pub(crate) fn sni(names: &[(u8, &[u8])]) -> (u16, Vec<u8>) {
    let mut list = Vec::new();
    for (kind, name) in names {
        list.push(*kind);
        list.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        list.extend(*name);
    }
    let mut data = u16::try_from(list.len()).unwrap().to_be_bytes().to_vec();
    data.extend(list);
    (0, data)
}

/// Cuts a message into handshake records of at most `cut` bytes.
pub(crate) fn records(message: &[u8], cut: usize) -> Vec<u8> {
    message.chunks(cut).flat_map(|piece| record(22, piece)).collect()
}

pub(crate) fn record(content_type: u8, payload: &[u8]) -> Vec<u8> {
    let mut record = vec![content_type, 3, 1];
    record.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    record.extend(payload);
    record
}

/// A whole hello for one name, in one record.
pub(crate) fn hello_for(name: &str) -> Vec<u8> {
    records(&hello_message(&[sni(&[(0, name.as_bytes())])]), 16_384)
}
