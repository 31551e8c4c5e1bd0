//! Programs that people really run, through the bridge that the sandbox has: TCP on loopback to the unix socket.
//!
//! A program that is not installed is skipped by name; curl and python3 are on every runner of ours.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

use crate::support::{Pki, Plan, TlsServer, World, ring};

/// Carries loopback connections to the proxy's socket, as pid 1 of the sandbox does.
fn bridge(world: &World) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let path = world.path.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(proxy)) = (client, UnixStream::connect(&path)) else {
                return;
            };
            let (client_too, proxy_too) = (client.try_clone().unwrap(), proxy.try_clone().unwrap());
            thread::spawn(move || carry_up(client, proxy));
            thread::spawn(move || carry_down(proxy_too, client_too));
        }
    });
    port
}

fn carry_up(mut from: TcpStream, mut to: UnixStream) {
    drop(io::copy(&mut from, &mut to));
    drop(to.shutdown(Shutdown::Write));
}

fn carry_down(mut from: UnixStream, mut to: TcpStream) {
    drop(io::copy(&mut from, &mut to));
    drop(to.shutdown(Shutdown::Write));
}

/// A world with a web server behind it, and the certificate in a file.
struct Web {
    world: World,
    server: u16,
    proxy: u16,
    certificate: PathBuf,
}

impl Web {
    fn start(test: &str) -> Self {
        let pki = Pki::new();
        let server = TlsServer::http(pki.server(ring())).port;
        let world = Plan::good(server).start();
        let proxy = bridge(&world);
        let certificate = std::env::temp_dir().join(format!("tw-allow-{}-{test}.pem", std::process::id()));
        std::fs::write(&certificate, &pki.pem).unwrap();
        Self { world, server, proxy, certificate }
    }

    /// Runs a program with a bare environment but for the search path and the proxy variables.
    fn run(&self, program: &str, arguments: &[&str]) -> Option<Output> {
        let mut command = Command::new(program);
        let proxy = format!("http://127.0.0.1:{}", self.proxy);
        command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        if let Some(home) = std::env::var_os("HOME") {
            command.env("HOME", home);
        }
        for variable in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"] {
            command.env(variable, &proxy);
        }
        command.env("CERTIFICATE", &self.certificate);
        match command.output() {
            Ok(output) => Some(output),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => panic!("{program}: {error}"),
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.certificate));
    }
}

const BODY: &str = "hello from behind the proxy\n";

#[test]
fn curl_reaches_the_allowed_host_and_no_other() {
    let web = Web::start("curl");
    let certificate = web.certificate.to_str().unwrap();
    let good = format!("https://good.test:{}/", web.server);
    let Some(output) = web.run("curl", &["-sS", "--max-time", "20", "--cacert", certificate, &good]) else {
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), BODY, "{output:?}");
    for (url, told) in [
        (format!("https://other.test:{}/", web.server), "403"),
        (format!("https://127.0.0.1:{}/", web.server), "403"),
        (format!("https://[::1]:{}/", web.server), "403"),
        ("https://good.test/".to_owned(), "403"),
    ] {
        let output = web.run("curl", &["-sS", "--max-time", "20", "-k", &url]).unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && talk.contains(told), "{url}: {talk}");
    }
    let plain = web.run("curl", &["-sS", "--max-time", "20", "-i", "http://good.test/"]).unwrap();
    assert!(String::from_utf8_lossy(&plain.stdout).starts_with("HTTP/1.1 405 only CONNECT is served"), "{plain:?}");
    // The right CONNECT with another name inside: curl takes the name for TLS from the URL, the target from here.
    let elsewhere = format!("good.test:{}", web.server);
    let other = format!("https://other.test:{}/", web.server);
    let map = format!("other.test:{}:{elsewhere}", web.server);
    let output = web.run("curl", &["-sS", "--max-time", "20", "-k", "--connect-to", &map, &other]).unwrap();
    assert!(!output.status.success(), "{output:?}");
    let reasons: Vec<_> = web.world.ended(7).iter().map(|end| end.reason).collect();
    assert_eq!(reasons.last(), Some(&"sni_mismatch"), "{reasons:?}");
}

#[test]
fn python_urllib_reaches_the_allowed_host_and_no_other() {
    let web = Web::start("python");
    let script = "import os, ssl, sys, urllib.request\n\
                  context = ssl.create_default_context(cafile=os.environ['CERTIFICATE'])\n\
                  print(urllib.request.urlopen(sys.argv[1], timeout=20, context=context).read().decode(), end='')\n";
    let good = format!("https://good.test:{}/", web.server);
    let Some(output) = web.run("python3", &["-c", script, &good]) else {
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), BODY, "{output:?}");
    let other = format!("https://other.test:{}/", web.server);
    let output = web.run("python3", &["-c", script, &other]).unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(talk.contains("403 host is not on the allow-list"), "{talk}");
    let ends = web.world.ended(2);
    assert_eq!((ends[0].host.as_deref(), ends[0].bytes_up > 0), (Some("good.test"), true));
    assert_eq!(ends[1].reason, "host_not_allowed");
}
