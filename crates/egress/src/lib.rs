//! The network allow-list: a proxy that lets a confined command reach named hosts and nothing else.
//!
//! The sandbox has no network. What it has is one unix socket behind a loopback bridge, and this proxy at the other
//! end. A request passes five gates, each of which hands the next one a value that only it can make:
//!
//! 1. `connect`: the bytes are one strict HTTP `CONNECT` head, else 400, 405, 431 or 505;
//! 2. `policy`: the name and port are on the list, else 403 *before any DNS question*;
//! 3. `dial`: the proxy resolves the name itself, refuses every address that is not plainly public, and connects
//!    to exactly the address it checked, so a second DNS answer can change nothing;
//! 4. `hello`: the first bytes are one TLS ClientHello whose only SNI is that name, else nothing is forwarded;
//! 5. `splice`: bytes flow both ways until both sides are done, idle too long, or stopped.
//!
//! Blocking threads and the standard library only: the proxy lives beside a sandboxed command for seconds or minutes
//! with a few dozen connections, and a short dependency list is worth more here than an async runtime.

mod address;
mod answer;
mod connect;
mod dial;
mod hello;
mod limits;
mod log;
mod name;
mod policy;
mod private_socket;
mod proxy;
mod resolve;
mod serve;
mod server_hello;
mod shared;
mod splice;
mod tls;
mod wire;

pub use address::{AddressClass, classify};
pub use connect::{ConnectRequest, HeadError, HeadProgress, HeadRefusal, HttpVersion, read_head};
pub use hello::{ClientHello, HelloError, HelloProgress, read_client_hello};
pub use limits::Limits;
pub use log::{EndReason, Reason, RequestLog, RequestRecord, Stage, Summary, Verdict};
pub use name::{HostName, NameError, Port};
pub use policy::{AllowList, AllowListError, Destination, EntryError, PolicyRefusal};
pub use private_socket::{PrivateSocket, PrivateSocketError};
pub use proxy::{Proxy, ProxyHandle, StartError};
pub use resolve::{Resolver, SystemResolver};
pub use shared::ProxyConfig;
