//! Where something is published: the host that a command names.

use crate::line::address::Address;
use crate::line::call::Call;

/// Options that name where a package goes.
const OPTIONS: [&str; 11] = [
    "--registry",
    "--repository-url",
    "--publish-url",
    "--registry-url",
    "--index-url",
    "--index",
    "--source",
    "-s",
    "--host",
    "--url",
    "--server",
];
/// Variables that name it.
const VARIABLES: [&str; 8] = [
    "npm_config_registry",
    "NPM_CONFIG_REGISTRY",
    "YARN_NPM_PUBLISH_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "TWINE_REPOSITORY_URL",
    "UV_PUBLISH_URL",
    "FLIT_INDEX_URL",
    "RUBYGEMS_HOST",
];

/// The host that a call names, if it names one.
pub(super) fn named_host(call: &Call) -> Option<String> {
    let given = call.options(&OPTIONS).into_iter().filter_map(|field| field.known());
    let set = VARIABLES.iter().filter_map(|name| call.variable(name));
    // `helm push chart oci://host/path`
    let last = call.operands().last().and_then(|field| field.known()).filter(|word| word.contains("://"));
    given.chain(set).chain(last).find_map(|word| Address::of(&word)).map(|address| address.host)
}

/// Whether a package goes into a folder of this machine: a feed of NuGet, or an index by `file:`.
pub(super) fn names_folder(call: &Call) -> bool {
    let feeds = matches!(call.name().as_str(), "dotnet" | "nuget" | "choco");
    let is_folder = |name: &String| name.starts_with("file:") || (feeds && name.starts_with(['.', '/', '~']));
    call.options(&OPTIONS).into_iter().filter_map(|field| field.known()).any(|name| is_folder(&name))
}

/// Whether an image is written into a file, a folder or the store of this machine.
pub(super) fn is_local_image(image: &str) -> bool {
    let kinds = ["dir:", "oci:", "docker-archive:", "docker-daemon:", "oci-archive:", "containers-storage:"];
    kinds.iter().any(|kind| image.strip_prefix(kind).is_some_and(|rest| !rest.starts_with("//")))
}

/// The registry of an image: the part before its first slash, if that reads like a host.
pub(super) fn image_host(image: &str) -> String {
    let first = image.split('/').next().filter(|_| image.contains('/')).unwrap_or_default();
    if first.starts_with('[') {
        return first.trim_start_matches('[').split(']').next().unwrap_or_default().to_owned();
    }
    let host = first.split(':').next().unwrap_or_default();
    let is_host = first.contains(['.', ':']) || first == "localhost";
    if is_host { host.to_ascii_lowercase() } else { "docker.io".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_pushed_to_the_host_before_its_first_slash() {
        for (image, host) in [
            ("app", "docker.io"),
            ("me/app:1", "docker.io"),
            ("ghcr.io/me/app", "ghcr.io"),
            ("localhost:5000/app", "localhost"),
            ("localhost/app", "localhost"),
            ("registry:5000/app", "registry"),
            ("[::1]:5000/app", "::1"),
            ("app:5000", "docker.io"),
        ] {
            assert_eq!(image_host(image), host, "{image}");
        }
    }
}
