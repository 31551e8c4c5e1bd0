//! The page over TLS, and where it is demanded.

use super::served::{Answer, Served, read_answer};
use crate::session::fixture::Place;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

/// A certificate for `localhost`, as files; and a client that trusts it.
fn certificate(place: &Place) -> (String, String, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (place.path().join("cert.pem"), place.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    (cert.display().to_string(), key.display().to_string(), Arc::new(config))
}

fn ask(served: &Served, config: &Arc<ClientConfig>, text: &str) -> Answer {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(text.as_bytes()).unwrap();
    read_answer(&mut BufReader::new(stream)).unwrap()
}

#[test]
fn page_over_tls_is_served_and_its_secret_is_demanded_there_too() {
    let place = Place::new();
    let (cert, key, config) = certificate(&place);
    let served = Served::start(&place, &["--tls-cert", &cert, "--tls-key", &key]);
    assert!(served.url.starts_with("https://127.0.0.1:"), "{}", served.url);
    let host = format!("localhost:{}", served.port);
    let page = ask(&served, &config, &format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    assert_eq!(page.status, 200, "{page:?}");
    let unknown = ask(&served, &config, &format!("GET /api/sessions HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    assert_eq!(unknown.status, 401, "{unknown:?}");
    let rebound = ask(&served, &config, "GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    assert_eq!(rebound.status, 403, "{rebound:?}");
    let login = |origin: &str| {
        let secret = &served.secret;
        let head =
            format!("POST /api/login HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\nx-tripwire-secret: {secret}\r\n");
        ask(&served, &config, &format!("{head}content-length: 0\r\n\r\n"))
    };
    let answer = login(&format!("https://{host}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("; Secure"), "{answer:?}");
    assert_eq!(login(&format!("http://{host}")).status, 403, "another origin");
    let plain = served.send(format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes());
    assert!(plain.is_none(), "nothing is answered without TLS: {plain:?}");
}

#[test]
fn page_that_others_reach_needs_tls_a_name_and_files_that_fit() {
    let place = Place::new();
    let (cert, key, _) = certificate(&place);
    let open = ["web", "--listen", "0.0.0.0:0"];
    place.run(&open).ended(11).complains("--tls-cert");
    let tls = ["--tls-cert", &cert, "--tls-key", &key];
    place.run(&[&open[..], &tls].concat()).ended(11).complains("--name");
    let here = ["web", "--listen", "127.0.0.1:0"];
    assert_eq!(place.run(&[&here[..], &["--tls-cert", &cert]].concat()).code, 2, "a certificate needs its key");
    place.run(&[&here[..], &["--tls-cert", &cert, "--tls-key", &cert]].concat()).ended(2).complains("cannot be used");
    place.run(&[&here[..], &["--tls-cert", "/no/such", "--tls-key", &key]].concat()).ended(2).complains("/no/such");
}
