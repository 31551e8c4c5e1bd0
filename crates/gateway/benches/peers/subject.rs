//! What is measured: the provider itself, the gateway, and the peers that are installed.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// How long a peer may take to listen: LiteLLM imports for minutes on a machine that has other work.
const START_WAIT: Duration = Duration::from_secs(300);

pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    /// Headers that it alone needs.
    pub(crate) headers: String,
    /// Whether it gets an eighth of the work, so that a run ends.
    pub(crate) is_slow: bool,
    child: Option<Child>,
    _dir: TempDir,
}

impl Drop for Subject {
    fn drop(&mut self) {
        for pid in self.tree().into_iter().rev() {
            drop(Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status());
        }
        if let Some(child) = &mut self.child {
            drop(child.wait());
        }
    }
}

/// An address that is free now.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    listener.local_addr().expect("an address")
}

/// A program from a variable of the environment, or from `PATH`.
fn program(variable: &str, name: &str, how: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).map(|folder| folder.join(name));
    let found = named.into_iter().chain(places).find(|file| file.is_file());
    if found.is_none() {
        println!("NOT MEASURED: {name} is not installed; {how}, or name it in {variable}");
    }
    found
}

impl Subject {
    /// The bare provider, the gateway, then every peer that is there.
    pub(crate) fn all(provider: SocketAddr) -> Vec<Self> {
        let bare = Self {
            name: "(no proxy)",
            address: provider,
            path: "/v1/chat/completions",
            headers: String::new(),
            is_slow: false,
            child: None,
            _dir: TempDir::new().expect("a folder"),
        };
        let peers =
            [Self::nginx(provider), Self::portkey(provider), Self::litellm(provider), Self::ai_gateway(provider)];
        [Some(bare), Some(Self::gateway(provider))].into_iter().chain(peers).flatten().collect()
    }

    fn start(name: &'static str, address: SocketAddr, path: &'static str, dir: TempDir, command: &mut Command) -> Self {
        let log = std::fs::File::create(dir.path().join("log")).expect("a log");
        let child = command.stdout(log.try_clone().expect("a log")).stderr(log).stdin(Stdio::null()).spawn();
        Self {
            name,
            address,
            path,
            headers: String::new(),
            is_slow: false,
            child: Some(child.expect("it starts")),
            _dir: dir,
        }
    }

    fn gateway(provider: SocketAddr) -> Self {
        let binary =
            std::env::var_os("TRIPWIRE_BENCH_BINARY").expect("TRIPWIRE_BENCH_BINARY: use `just bench-gateway`");
        let dir = TempDir::new().expect("a folder");
        let address = free();
        let config = format!("[[provider]]\nname = \"p\"\napi = \"openai\"\nbase_url = \"http://{provider}/v1\"\n");
        std::fs::write(dir.path().join("g.toml"), config).expect("a configuration");
        let mut command = Command::new(binary);
        command.env_clear().current_dir(dir.path()).args(["gateway", "--config", "g.toml", "--listen"]);
        command.arg(address.to_string());
        Self::start("tripwire", address, "/openai/v1/chat/completions", dir, &mut command)
    }

    fn nginx(provider: SocketAddr) -> Option<Self> {
        let binary = program("NGINX", "nginx", "`apt-get install nginx-light`")?;
        let dir = TempDir::new().expect("a folder");
        let address = free();
        let place = dir.path().display();
        // As one would put it before a model API: kept connections, no buffering, HTTP/1.1 on both sides.
        let config = format!(
            "daemon off; worker_processes 1; pid {place}/pid; error_log {place}/error;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; client_body_temp_path {place}; proxy_temp_path {place}; fastcgi_temp_path {place};\n\
             uwsgi_temp_path {place}; scgi_temp_path {place}; upstream p {{ server {provider}; keepalive 256; }}\n\
             server {{ listen {address}; keepalive_requests 1000000; location / {{ proxy_pass http://p;\n\
             proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }} }} }}\n"
        );
        std::fs::write(dir.path().join("nginx.conf"), config).expect("a configuration");
        let mut command = Command::new(binary);
        command.arg("-c").arg(dir.path().join("nginx.conf")).arg("-p").arg(dir.path());
        Some(Self::start("nginx", address, "/v1/chat/completions", dir, &mut command))
    }

    fn portkey(provider: SocketAddr) -> Option<Self> {
        // With a newer server below it, each of its streams ends in a 500 (`TypeError: immutable`).
        let how = "`npm install @portkey-ai/gateway` with `{\"overrides\": {\"@hono/node-server\": \"1.3.3\"}}` in package.json";
        let script = program("PORTKEY", "portkey-gateway", how)?;
        let dir = TempDir::new().expect("a folder");
        let address = free();
        let mut command = Command::new("node");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", dir.path());
        command.env("NODE_ENV", "production").env("TRUSTED_CUSTOM_HOSTS", "localhost,127.0.0.1");
        command.arg(script).arg("--headless").arg(format!("--port={}", address.port()));
        let mut subject = Self::start("Portkey", address, "/v1/chat/completions", dir, &mut command);
        subject.is_slow = true;
        subject.headers = format!("x-portkey-provider: openai\r\nx-portkey-custom-host: http://{provider}/v1\r\n");
        Some(subject)
    }

    fn litellm(provider: SocketAddr) -> Option<Self> {
        let binary = program("LITELLM", "litellm", "`pip install 'litellm[proxy]'`")?;
        let dir = TempDir::new().expect("a folder");
        let address = free();
        let config = format!(
            "model_list:\n  - model_name: gpt-4o\n    litellm_params:\n      model: openai/gpt-4o\n      api_base: http://{provider}/v1\n      api_key: sk-bench\n"
        );
        std::fs::write(dir.path().join("l.yaml"), config).expect("a configuration");
        let mut command = Command::new(binary);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", dir.path());
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").current_dir(dir.path());
        command.env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
        command.args(["--config", "l.yaml", "--host", "127.0.0.1", "--telemetry", "False", "--port"]);
        command.arg(address.port().to_string());
        let mut subject = Self::start("LiteLLM", address, "/v1/chat/completions", dir, &mut command);
        subject.is_slow = true;
        Some(subject)
    }

    fn ai_gateway(provider: SocketAddr) -> Option<Self> {
        let how = "`RUSTFLAGS='--cfg tracing_unstable --cfg aws_sdk_unstable' cargo install --locked ai-gateway@0.3.2`";
        let binary = program("AI_GATEWAY", "ai-gateway", how)?;
        let dir = TempDir::new().expect("a folder");
        let address = free();
        let models = format!(
            "- model: gpt-4o\n  model_provider: openai\n  inference_provider: {{provider: openai, model_name: gpt-4o, endpoint: \"http://{provider}/v1\"}}\n  price: {{per_input_token: 2.5, per_output_token: 10.0}}\n  input_formats: [text]\n  output_formats: [text]\n  capabilities: []\n  type: completions\n  limits: {{max_context_size: 128000}}\n  description: bench\n  parameters: {{}}\n"
        );
        std::fs::create_dir(dir.path().join(".langdb")).expect("a folder");
        std::fs::write(dir.path().join(".langdb/models.yaml"), models).expect("a list of models");
        std::fs::write(dir.path().join("config.yaml"), "providers:\n  openai: {api_key: sk-bench}\n")
            .expect("a configuration");
        let mut command = Command::new(binary);
        command.env_clear().env("HOME", dir.path()).current_dir(dir.path());
        command.args(["--config", "config.yaml", "serve", "--host", "127.0.0.1", "--port"]);
        command.arg(address.port().to_string());
        let mut subject = Self::start("ai-gateway", address, "/v1/chat/completions", dir, &mut command);
        subject.is_slow = true;
        Some(subject)
    }

    /// Waits until it listens.
    pub(crate) async fn ready(&mut self) {
        let deadline = Instant::now() + START_WAIT;
        while TcpStream::connect(self.address).await.is_err() {
            assert!(Instant::now() < deadline, "{} does not listen", self.name);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The process and everything below it.
    fn tree(&self) -> Vec<u32> {
        let Some(child) = &self.child else { return Vec::new() };
        let mut all = vec![child.id()];
        let mut next = 0;
        while let Some(pid) = all.get(next).copied() {
            next += 1;
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        all
    }

    /// The CPU time of the whole tree: from the scheduler, in nanoseconds.
    pub(crate) fn cpu(&self) -> Duration {
        let of = |pid: u32| {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let nanos = threads.filter_map(|thread| {
                let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
                text.split_whitespace().next()?.parse::<u64>().ok()
            });
            Duration::from_nanos(nanos.sum())
        };
        self.tree().into_iter().map(of).sum()
    }

    /// Its resident memory.
    pub(crate) fn resident_kib(&self) -> u64 {
        let of = |pid: u32| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
        };
        self.tree().into_iter().map(of).sum()
    }
}
