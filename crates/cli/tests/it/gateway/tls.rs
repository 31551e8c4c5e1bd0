//! Providers behind TLS, and a proxy on the way to them.

use super::support::{Gateway, PROVIDER_KEY, Provider, TOKEN, message, read_head, read_request, say, until};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tripwire_core::record::chain::Digest;
use tripwire_testing::TestDir;

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[]}"#;

/// A provider that speaks TLS under the name `localhost`, with a certificate that nobody else trusts.
struct TlsProvider {
    port: u16,
    certificate: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl TlsProvider {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (config, kept) = (Arc::clone(&config), Arc::clone(&kept));
                std::thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    let mut reader = BufReader::new(StreamOwned::new(connection, socket));
                    while let Some(request) = read_request(&mut reader) {
                        kept.lock().unwrap().push(request.head);
                        let body = message(10, 10);
                        let head = format!(
                            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                            body.len()
                        );
                        drop(reader.get_mut().write_all(head.as_bytes()));
                    }
                });
            }
        });
        Self { port, certificate: made.cert.pem(), heads }
    }

    /// A configuration that trusts its certificate.
    fn trusting(&self, dir: &TestDir) -> String {
        let file = dir.path().join("ca.pem");
        std::fs::write(&file, &self.certificate).unwrap();
        self.config(&format!("ca_file = \"{}\"\n", file.display()))
    }

    fn config(&self, trust: &str) -> String {
        format!(
            "[[provider]]\nname = \"a\"\napi = \"anthropic\"\nbase_url = \"https://localhost:{}\"\nkey_env = \"PROVIDER_KEY\"\n{trust}[[key]]\nname = \"ci\"\ntoken_sha256 = \"{}\"\n",
            self.port,
            Digest::of(TOKEN.as_bytes())
        )
    }
}

fn folder() -> TestDir {
    let dir = TestDir::new();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    dir
}

/// A proxy that makes tunnels and remembers for whom.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut reader = BufReader::new(client.try_clone().unwrap());
            let Some(head) = read_head(&mut reader) else { continue };
            let target = head.split_whitespace().nth(1).unwrap().to_owned();
            let own = head.lines().find(|line| line.starts_with("proxy-authorization"));
            kept.lock().unwrap().push(own.map_or_else(|| target.clone(), |own| format!("{target} {own}")));
            let server = TcpStream::connect(target).unwrap();
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client.try_clone().unwrap())]
            {
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    (address, asked)
}

#[test]
fn gate_8_gateway_a_provider_with_a_certificate_of_its_own_is_trusted_by_its_file_only() {
    let provider = TlsProvider::new();
    let dir = folder();
    let config = provider.trusting(&dir);
    let gateway = Gateway::start_in(dir, &config);
    for _ in 0..2 {
        assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "{}", gateway.stderr());
    }
    assert!(provider.heads.lock().unwrap()[0].contains(PROVIDER_KEY));
    let dir = folder();
    let config = provider.config("");
    let gateway = Gateway::start_in(dir, &config);
    let refused = gateway.post("/anthropic/v1/messages", ASK);
    assert!(refused.status == 502 && refused.body.contains("certificate"), "{refused:?}");
    assert_eq!((provider.heads.lock().unwrap().len(), gateway.spent()), (2, 0), "no key left, nothing was booked");
}

#[test]
fn gate_8_gateway_a_reload_takes_new_certificates_for_a_provider_of_the_same_name() {
    let (before, after) = (TlsProvider::new(), TlsProvider::new());
    let dir = folder();
    let config = before.trusting(&dir);
    let gateway = Gateway::start_in(dir, &config);
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "{}", gateway.stderr());
    let reload = |config: &str, number: usize| {
        std::fs::write(gateway.dir.path().join("gateway.toml"), config).unwrap();
        gateway.signal("-HUP");
        until("it is taken", || gateway.stderr().matches("was read again").count() == number);
        gateway.post("/anthropic/v1/messages", ASK)
    };
    assert_eq!(reload(&after.trusting(&gateway.dir), 1).status, 200);
    let refused = reload(&before.config(""), 2);
    assert!(refused.status == 502 && refused.body.contains("certificate"), "no longer trusted: {refused:?}");
}

#[test]
fn gate_8_gateway_a_proxy_is_used_where_the_environment_names_one_and_not_where_it_is_excepted() {
    let provider = TlsProvider::new();
    let (address, asked) = proxy();
    let url = format!("http://{address}");
    let start = |variables: &[(&str, &str)]| {
        let dir = folder();
        let config = provider.trusting(&dir);
        Gateway::start_with(dir, &config, variables)
    };
    let gateway = start(&[("HTTPS_PROXY", &url)]);
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "{}", gateway.stderr());
    assert_eq!(*asked.lock().unwrap(), [format!("localhost:{}", provider.port)]);
    for except in ["localhost", ".localhost", "other.example, LOCALHOST", "*"] {
        let gateway = start(&[("HTTPS_PROXY", &url), ("NO_PROXY", except)]);
        assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "{except}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{except}");
    }
    asked.lock().unwrap().clear();
    let with_user = format!("http://user:p%40ss@{address}/");
    let gateway = start(&[("HTTPS_PROXY", &with_user)]);
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "{}", gateway.stderr());
    let expected = format!("localhost:{} proxy-authorization: Basic dXNlcjpwQHNz", provider.port);
    assert_eq!(*asked.lock().unwrap(), [expected], "the name and the password of the address are for the proxy");
    let refuses = Provider::new(|_, socket| say(socket, "407 Proxy Authentication Required", "text/plain", b""));
    let gateway = start(&[("https_proxy", &format!("http://{}", refuses.address))]);
    let refused = gateway.post("/anthropic/v1/messages", ASK);
    assert!(refused.status == 502 && refused.body.contains("407"), "{refused:?}");
    assert_eq!(gateway.spent(), 0);
}
