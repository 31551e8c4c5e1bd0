//! `--allow-host` through the binary: what is named is reached, everything else is refused, as root and as a user.

use crate::sandbox::host::{Host, everybody};
use serde_json::Value;
use std::io::Read as _;
use std::net::TcpListener;

/// Asks the proxy for one destination from inside and prints the status line it answers with.
pub(crate) fn ask(destination: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{https_proxy##*:}} || exit 9; \
         printf 'CONNECT {destination} HTTP/1.1\\r\\nHost: {destination}\\r\\n\\r\\n' >&3; \
         IFS= read -r -t 60 line <&3; printf '%s\\n' \"$line\"; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 >/dev/null; true"
    )
}

fn status(answer: &Value) -> String {
    assert_eq!(answer["ran"], true, "{answer}");
    answer["stdout"].as_str().unwrap_or_default().trim().to_owned()
}

#[test]
fn box_1_a_host_that_is_not_named_is_refused_before_it_is_looked_up() {
    for who in everybody() {
        let host = Host::new(who);
        for destination in ["other.example:443", "127.0.0.1:443", "localhost:443", "allowed.example:80"] {
            let said = status(&host.exec_with(&["--allow-host", "allowed.example"], &ask(destination)));
            assert!(said.starts_with("HTTP/1.1 4"), "{who:?} {destination}: {said}");
        }
    }
}

#[test]
fn box_1_a_named_host_is_reached_only_with_tls_of_its_name_and_never_a_private_address() {
    for who in everybody() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let port = server.local_addr().expect("an address").port();
        let named = format!("localhost:{port}");
        let host = Host::new(who);
        let private = status(&host.exec_with(&["--allow-host", &named], &ask(&named)));
        assert!(private.starts_with("HTTP/1.1 4") || private.starts_with("HTTP/1.1 5"), "{who:?}: {private}");
        let flag = port.to_string();
        let opened = status(&host.exec_with(&["--allow-host", &named, "--allow-loopback-port", &flag], &ask(&named)));
        assert!(opened.starts_with("HTTP/1.1 200"), "{who:?}: {opened}");
        let (mut stream, _) = server.accept().expect("the proxy connected");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("the proxy closed");
        assert!(got.is_empty(), "{who:?}: bytes that are no TLS of this name were forwarded: {got:?}");
    }
}

#[test]
fn box_2_a_list_that_cannot_be_served_runs_nothing() {
    for who in everybody() {
        let answer = Host::new(who).exec_with(&["--allow-host", "10.0.0.1"], "echo ran");
        assert_eq!((&answer["ran"], &answer["refused_by"]), (&Value::Bool(false), &Value::from("request")), "{answer}");
    }
}

/// Sends bytes to the proxy from inside, as they are, and prints the first line of the answer.
fn send(raw: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{https_proxy##*:}} || exit 9; printf '%b' '{raw}' >&3; IFS= read -r -t 60 line <&3; printf '%s\\n' \"$line\""
    )
}

#[test]
fn box_1_no_spelling_of_a_request_gets_past_the_list() {
    let host_line = "Host: allowed.example:443\\r\\n\\r\\n";
    let connect = |target: &str| format!("CONNECT {target} HTTP/1.1\\r\\n{host_line}");
    let attacks = [
        connect("other.example:443"),
        connect("allowed.example.other.example:443"),
        connect("xallowed.example:443"),
        connect("allowed.example@other.example:443"),
        connect("other.example#allowed.example:443"),
        connect("other.example\\0allowed.example:443"),
        connect("allowed.example:22"),
        connect("allowed.example:0443"),
        connect("allowed.example:65979"),
        connect("allowed.example..:443"),
        connect("127.0.0.1:443"),
        connect("[::ffff:127.0.0.1]:443"),
        connect("0x7f.1:443"),
        connect("2130706433:443"),
        connect("169.254.169.254:80"),
        connect("http://allowed.example:443"),
        "CONNECT allowed.example:443 HTTP/1.1\\nHost: other.example\\n\\n".to_owned(),
        "CONNECT allowed.example:443 HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n".to_owned(),
        "CONNECT allowed.example:443 HTTP/1.1\\r\\nHost: allowed.example:443\\r\\nHost: other.example\\r\\n\\r\\n"
            .to_owned(),
        format!("CONNECT  other.example:443 HTTP/1.1\\r\\n{host_line}"),
        format!("CONNECT allowed.example:443 HTTP/1.1\\r\\n Host: other.example\\r\\n{host_line}"),
        format!("CONNECT allowed.example:443 HTTP/1.1\\r\\nContent-Length: 4\\r\\n{host_line}"),
        format!("GET http://allowed.example/ HTTP/1.1\\r\\n{host_line}"),
        format!("POST https://allowed.example/ HTTP/1.1\\r\\n{host_line}"),
        format!("CONNECT allowed.example:443 HTTP/2.0\\r\\n{host_line}"),
    ];
    for who in everybody() {
        let host = Host::new(who);
        for raw in &attacks {
            let said = status(&host.exec_with(&["--allow-host", "allowed.example"], &send(raw)));
            assert!(said.starts_with("HTTP/1.1 4") || said.starts_with("HTTP/1.1 50"), "{who:?} {raw}: {said}");
        }
    }
}

#[test]
fn box_1_another_name_inside_the_tunnel_and_ways_around_the_proxy_reach_nobody() {
    if !crate::sandbox::host::has("python3") {
        return;
    }
    // A hello of TLS for another name, for none, and for the right one with a second name behind it.
    let script = "import os,socket,ssl,sys\nport=int(os.environ['https_proxy'].rsplit(':',1)[1]); target=sys.argv[1]\n\
                  def hello(name):\n  c=ssl.create_default_context(); c.check_hostname=False; c.verify_mode=ssl.CERT_NONE\n  i,o=ssl.MemoryBIO(),ssl.MemoryBIO(); s=c.wrap_bio(i,o,server_hostname=name)\n  try: s.do_handshake()\n  except ssl.SSLWantReadError: pass\n  return o.read()\n\
                  for first in (hello('other.example'),hello(None),b'\\x16\\x03\\x01'+b'\\xff'*40,hello('localhost').replace(b'localhost',b'evilhosts'),b'SSH-2.0-x\\r\\n'):\n\
                  \x20 s=socket.create_connection(('127.0.0.1',port)); s.settimeout(8)\n  s.sendall(('CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n'%(target,target)).encode()); r=s.recv(99)\n  assert b'200' in r,r\n  s.sendall(first)\n\
                  \x20 try:\n    while s.recv(99): pass\n  except OSError: pass\n\
                  for a in (('127.0.0.1',int(target.rsplit(':',1)[1])),('1.1.1.1',443),('169.254.169.254',80)):\n  try: socket.create_connection(a,2); print('PWNED',a)\n  except OSError: pass\n\
                  print('done')\n";
    for who in everybody() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let port = server.local_addr().expect("an address").port();
        let (named, flag) = (format!("localhost:{port}"), port.to_string());
        let host = Host::new(who);
        std::fs::write(host.ws().join("attack.py"), script).expect("write");
        let options = ["--allow-host", &named, "--allow-loopback-port", &flag, "--timeout", "60"];
        let answer = host.exec_with(&options, &format!("/usr/bin/python3 attack.py {named}"));
        assert_eq!(answer["stdout"], "done\n", "{who:?}: {answer}");
        for _ in 0..5 {
            let (mut stream, _) = server.accept().expect("the proxy connected");
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("the proxy closed");
            assert!(got.is_empty(), "{who:?}: bytes for another name were forwarded: {got:?}");
        }
    }
}
