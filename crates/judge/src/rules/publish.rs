//! Publishing: packages, images, releases, mail and posts. What others have fetched or read nobody takes back.
//!
//! What stays on this machine or in a private network passes, and so do hosts that the policy lists. A `git push` is no
//! publishing: a protected branch has rules of its own.

mod targets;

use self::targets::{image_host, is_local_image, named_host, names_folder};
use super::database::lists_tasks;
use crate::hold::{GuardRule, Hold};
use crate::line::address::Address;
use crate::line::call::Call;
use crate::line::command;
use crate::line::field::Field;
use crate::site::Site;
use tripwire_core::policy::OnPublish;
use tripwire_shell::glob::Glob;

/// A command that publishes: the program, the words behind it, and where it goes unless it says otherwise.
type Publisher = (&'static str, &'static [&'static str], &'static str);

const NPM: &str = "registry.npmjs.org";
const PYPI: &str = "upload.pypi.org";
const MAVEN: &str = "central.sonatype.com";
const FORGE: &str = "github.com";

/// Packages, by the words that begin the command.
const PACKAGES: [Publisher; 60] = [
    ("npm", &["publish"], NPM),
    ("npm", &["stage", "publish"], NPM),
    ("pnpm", &["publish"], NPM),
    ("yarn", &["publish"], NPM),
    ("yarn", &["npm", "publish"], NPM),
    ("bun", &["publish"], NPM),
    ("lerna", &["publish"], NPM),
    ("changeset", &["publish"], NPM),
    ("nx", &["release", "publish"], NPM),
    ("np", &[], NPM),
    ("release-it", &[], NPM),
    ("semantic-release", &[], NPM),
    ("jsr", &["publish"], "jsr.io"),
    ("deno", &["publish"], "jsr.io"),
    ("vsce", &["publish"], "marketplace.visualstudio.com"),
    ("ovsx", &["publish"], "open-vsx.org"),
    ("cargo", &["publish"], "crates.io"),
    ("cargo", &["workspaces", "publish"], "crates.io"),
    ("cargo", &["ws", "publish"], "crates.io"),
    ("release-plz", &["release"], "crates.io"),
    ("twine", &["upload"], PYPI),
    ("uv", &["publish"], PYPI),
    ("poetry", &["publish"], PYPI),
    ("flit", &["publish"], PYPI),
    ("hatch", &["publish"], PYPI),
    ("pdm", &["publish"], PYPI),
    ("rye", &["publish"], PYPI),
    ("maturin", &["publish"], PYPI),
    ("maturin", &["upload"], PYPI),
    ("anaconda", &["upload"], "anaconda.org"),
    ("gem", &["push"], "rubygems.org"),
    ("jreleaser", &["full-release"], MAVEN),
    ("jreleaser", &["release"], MAVEN),
    ("lein", &["deploy"], "clojars.org"),
    ("dotnet", &["nuget", "push"], "nuget.org"),
    ("nuget", &["push"], "nuget.org"),
    ("choco", &["push"], "chocolatey.org"),
    ("pod", &["trunk", "push"], "cocoapods.org"),
    ("mix", &["hex.publish"], "hex.pm"),
    ("rebar3", &["hex", "publish"], "hex.pm"),
    ("gleam", &["publish"], "hex.pm"),
    ("stack", &["upload"], "hackage.haskell.org"),
    ("dart", &["pub", "publish"], "pub.dev"),
    ("flutter", &["pub", "publish"], "pub.dev"),
    ("luarocks", &["upload"], "luarocks.org"),
    ("opam", &["publish"], "opam.ocaml.org"),
    ("opam-publish", &[], "opam.ocaml.org"),
    ("cpan-upload", &[], "pause.perl.org"),
    ("conan", &["upload"], "center.conan.io"),
    ("snapcraft", &["upload"], "snapcraft.io"),
    ("snapcraft", &["push"], "snapcraft.io"),
    ("elm", &["publish"], "package.elm-lang.org"),
    ("goreleaser", &["release"], FORGE),
    ("helm", &["push"], "registry"),
    ("cosmocc", &["publish"], "registry"),
    ("hf", &["upload"], "huggingface.co"),
    ("huggingface-cli", &["upload"], "huggingface.co"),
    ("clawhub", &["publish"], "clawhub.com"),
    ("wasmer", &["publish"], "wasmer.io"),
    ("apm", &["publish"], "atom.io"),
];

/// Posts and messages, by the words that begin the command.
const POSTS: [Publisher; 25] = [
    ("toot", &["post"], "a social network"),
    ("toot", &["reply"], "a social network"),
    ("t", &["update"], "a social network"),
    ("t", &["reply"], "a social network"),
    ("t", &["dm"], "a social network"),
    ("tweet", &[], "a social network"),
    ("twurl", &["-d"], "a social network"),
    ("bsky", &["post"], "a social network"),
    ("rtl_tweet", &[], "a social network"),
    ("slack", &["chat", "send"], "a chat"),
    ("slackcat", &[], "a chat"),
    ("slack-term", &["send"], "a chat"),
    ("telegram-send", &[], "a chat"),
    ("telegram-cli", &["-e"], "a chat"),
    ("discord.sh", &[], "a chat"),
    ("matrix-commander", &[], "a chat"),
    ("signal-cli", &["send"], "a chat"),
    ("wacli", &["send"], "a chat"),
    ("apprise", &[], "a chat"),
    ("swaks", &[], "mail"),
    ("himalaya", &["message", "send"], "mail"),
    ("himalaya", &["send"], "mail"),
    ("gam", &["sendemail"], "mail"),
    ("sendemail", &[], "mail"),
    ("mailsend", &[], "mail"),
];
/// Programs that send mail to those whom they are given.
const MAILERS: [&str; 11] =
    ["mail", "mailx", "s-nail", "nail", "heirloom-mailx", "mutt", "neomutt", "sendmail", "msmtp", "ssmtp", "exim"];
/// Hosts that pass a message on to people, with the beginning of the path that does it.
const MESSENGERS: [(&str, &str); 19] = [
    ("hooks.slack.com", "/"),
    ("slack.com", "/api/chat.postMessage"),
    ("discord.com", "/api/webhooks"),
    ("discordapp.com", "/api/webhooks"),
    ("api.telegram.org", "/bot"),
    ("api.twitter.com", "/"),
    ("api.x.com", "/"),
    ("graph.facebook.com", "/"),
    ("api.linkedin.com", "/"),
    ("bsky.social", "/xrpc/com.atproto.repo.createRecord"),
    ("api.sendgrid.com", "/v3/mail/send"),
    ("api.mailgun.net", "/"),
    ("api.eu.mailgun.net", "/"),
    ("api.postmarkapp.com", "/email"),
    ("api.resend.com", "/emails"),
    ("api.twilio.com", "/"),
    ("chat.googleapis.com", "/"),
    ("upload.pypi.org", "/"),
    ("uploads.github.com", "/"),
];

/// Judges a call that may publish.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if site.world.facts.publish == OnPublish::Allow || call.is_dry_run() || command::asks_for_help(call) {
        return None;
    }
    if let Some(module) = module(call) {
        return judge(site, &module);
    }
    let plain = words(call);
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let name = call.name();
    let begins = |(program, words, _): &&Publisher| *program == name && plain.starts_with(words);
    if let Some((_, _, host)) = PACKAGES.iter().find(begins) {
        let host = named_host(call).unwrap_or_else(|| (*host).to_owned());
        let held = !only_prepares(call) && !passes_to(site, &host);
        return held.then(|| published(&format!("a package at `{host}`")));
    }
    if let Some((_, _, place)) = POSTS.iter().find(begins) {
        return Some(published(&format!("a message: {place}")));
    }
    match name.as_str() {
        "docker" | "podman" | "nerdctl" | "buildah" | "img" | "finch" => image(site, call, &plain),
        "docker-compose" if plain.first() == Some(&"push") => Some(published("the images of a project")),
        "skopeo" | "crane" | "oras" | "regctl" | "ko" => copied(site, call, &plain),
        "gh" | "hub" | "glab" | "tea" => release(site, call, &plain),
        "gradle" | "gradlew" if call.has_any(&["-m"]) => None,
        "gradle" | "gradlew" | "sbt" | "mill" => tasks(&plain),
        "mvn" | "mvnw" => goals(site, call, &plain),
        "rake" if plain.contains(&"release") && !lists_tasks(call) => Some(published("a package at `rubygems.org`")),
        "cabal" if plain.first() == Some(&"upload") && call.has_any(&["--publish"]) => {
            Some(published("a package at `hackage.haskell.org`"))
        }
        "cargo" if matches!(plain.first(), Some(&"release" | &"smart-release")) => {
            let executes = call.has_any(&["--execute", "-x"]);
            executes.then(|| published("a package at `crates.io`"))
        }
        "aws" => is_amazon_message(&plain).then(|| published("a message: mail or a notification")),
        "git" if plain.first() == Some(&"send-email") => Some(published("a message: mail")),
        "git-send-email" => Some(published("a message: mail")),
        name if MAILERS.contains(&name) => mail(call),
        _ => None,
    }
}

/// Judges a request over HTTP that is no deletion.
pub(super) fn posted(site: &Site<'_>, method: &str, addresses: &[Address]) -> Option<Hold> {
    if site.world.facts.publish == OnPublish::Allow || matches!(method, "GET" | "HEAD" | "OPTIONS") {
        return None;
    }
    let reaches = |address: &&Address| {
        let known = MESSENGERS.iter().any(|(host, path)| address.host == *host && address.path.starts_with(path));
        let release = address.host == "api.github.com" && address.path.trim_end_matches('/').ends_with("/releases");
        let office = address.host.ends_with(".webhook.office.com");
        let package = method == "PUT" && matches!(address.host.as_str(), "registry.npmjs.org" | "crates.io");
        (known || release || office || package) && !passes_to(site, &address.host)
    };
    addresses.iter().find(reaches).map(|address| published(&format!("a message or a release at `{}`", address.host)))
}

fn published(what: &str) -> Hold {
    Hold::plain(GuardRule::Publish, &format!("it publishes {what}; what others have got cannot be taken back"))
}

/// The words of a command, from where a runner over many packages ends: `yarn workspace NAME publish`, `yarn workspaces
/// foreach npm publish`, `pnpm recursive publish`.
fn words(call: &Call) -> Vec<String> {
    let mut words = command::words(call);
    let at = words.iter().position(|word| word == "publish" || word == "npm");
    match (call.name().as_str(), words.first().map(String::as_str), at) {
        ("yarn", Some("workspace" | "workspaces"), Some(at)) | ("pnpm", Some("recursive"), Some(at)) => {
            words.split_off(at)
        }
        _ => words,
    }
}

/// The module that `python -m` runs, as a program.
fn module(call: &Call) -> Option<Call> {
    let name = call.name();
    if !name.starts_with("python") && !name.starts_with("pypy") {
        return None;
    }
    let at = call.args.iter().position(|field| field.text() == "-m");
    match at {
        Some(at) => Some(call.with_args(call.args.get(at + 1..)?.to_vec())),
        None => {
            let words = command::words(call);
            let uploads = words.first().is_some_and(|word| word.ends_with("setup.py"))
                && words.iter().any(|word| matches!(word.as_str(), "upload" | "register"));
            uploads.then(|| call.with_args(vec![Field::of("twine"), Field::of("upload")]))
        }
    }
}

/// Options with which a publisher only prepares or checks.
fn only_prepares(call: &Call) -> bool {
    let skips = |word: &String| word.starts_with("--skip=") && word.contains("publish");
    let short = match call.name().as_str() {
        "cargo" => call.has_short(&['n']),
        "semantic-release" => call.has_short(&['d']),
        _ => false,
    };
    short
        || call.has_any(&["--snapshot", "--skip-publish", "--no-publish", "--preview", "--check"])
        || call.words().iter().any(skips)
        || call.options(&["-r", "--repository", "--index"]).iter().any(|name| name.text() == "testpypi")
        || named_host(call).is_some_and(|host| host == "test.pypi.org")
        || names_folder(call)
}

/// Whether publishing to a host passes.
fn passes_to(site: &Site<'_>, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    Address::is_private(&host) || site.world.facts.publish_hosts.iter().any(|pattern| Glob::of(pattern).fits(&host))
}

/// Images that are pushed to a registry.
fn image(site: &Site<'_>, call: &Call, plain: &[&str]) -> Option<Hold> {
    let images: Vec<String> = match plain {
        ["push", ..] | ["image" | "manifest", "push", ..] => {
            let last = call.operands().last().map(|field| (*field).clone());
            vec![last.filter(|field| !field.is_partly_unknown()).map_or_else(String::new, |field| field.text())]
        }
        ["compose", "push", ..] => vec![String::new()],
        ["build" | "bake", ..] | [_, "build" | "bake", ..] => {
            let output = call.options(&["-o", "--output"]);
            let pushes = call.has_any(&["--push"]) || output.iter().any(|value| value.text().contains("push=true"));
            if !pushes {
                return None;
            }
            let tags: Vec<String> = call.options(&["-t", "--tag"]).iter().map(Field::text).collect();
            if tags.is_empty() { vec![String::new()] } else { tags }
        }
        _ => return None,
    };
    let hosts = images.iter().filter(|image| !is_local_image(image)).map(|image| image_host(image));
    let reached = hosts.into_iter().find(|host| !passes_to(site, host))?;
    Some(published(&format!("an image at `{reached}`")))
}

/// Tools that copy images or other things between registries: the last word is where they go.
fn copied(site: &Site<'_>, call: &Call, plain: &[&str]) -> Option<Hold> {
    let pushes = matches!(plain.first(), Some(&"copy" | &"push" | &"cp" | &"sync" | &"append" | &"image"))
        || (call.name() == "ko"
            && matches!(plain.first(), Some(&"build" | &"publish" | &"apply"))
            && !call.has_short(&['L']));
    let target = plain.last()?;
    if !pushes || call.has_any(&["--local"]) || is_local_image(target) {
        return None;
    }
    let host = image_host(target.trim_start_matches("docker://").trim_start_matches("oci://"));
    (!passes_to(site, &host)).then(|| published(&format!("an image at `{host}`")))
}

/// Releases, public gists and repositories at a forge.
fn release(site: &Site<'_>, call: &Call, plain: &[&str]) -> Option<Hold> {
    if passes_to(site, FORGE) {
        return None;
    }
    let draft = call.has_any(&["--draft"]) && !call.words().iter().any(|word| word == "--draft=false");
    let public =
        call.has_any(&["--public"]) || call.option(&["--visibility"]).is_some_and(|kind| kind.text() == "public");
    let what = match plain {
        ["release" | "releases", "create" | "upload", ..] if !draft && !call.has_short(&['d']) => "a release",
        ["release", "edit", ..] if call.words().iter().any(|word| word == "--draft=false") => "a release",
        ["gist" | "snippet", "create", ..] if public || call.has_short(&['p']) => "a text for everybody",
        ["repo", "create" | "edit", ..] if public => "a repository",
        ["api", path, ..] if path.trim_end_matches('/').ends_with("/releases") && writes(call) => "a release",
        _ => return None,
    };
    Some(published(&format!("{what} at a forge")))
}

/// Whether a request of the forge's client writes.
fn writes(call: &Call) -> bool {
    let method = call.option(&["-X", "--method"]).map(|field| field.text().to_uppercase());
    let fields = call.has_any(&["-f", "-F", "--field", "--raw-field", "--input"]);
    method.map_or(fields, |method| method == "POST")
}

/// Build tools whose tasks publish; to this machine's own repository they do not.
fn tasks(plain: &[&str]) -> Option<Hold> {
    let publishes = |word: &&&str| {
        let task = word.rsplit([':', '.', '/']).next().unwrap_or(word).trim_start_matches('+');
        let local = task.ends_with("Local") || task.ends_with("ToMavenLocal") || task.ends_with("M2");
        task.starts_with("publish") && !local
            || matches!(task, "uploadArchives" | "closeAndReleaseRepository" | "sonatypeRelease")
    };
    let found = plain.iter().find(publishes)?;
    Some(published(&format!("a package (`{found}`)")))
}

/// Goals of Maven that publish, also behind others; into a folder, or with the deployment left out, they do not.
fn goals(site: &Site<'_>, call: &Call, plain: &[&str]) -> Option<Hold> {
    let publishes = |word: &&&str| {
        matches!(**word, "deploy" | "release:perform" | "nexus-staging:release" | "central-publishing:publish")
            || word.starts_with("deploy:deploy")
    };
    let found = plain.iter().find(publishes)?;
    let defined = |name: &str| {
        let value = |word: &String| word.trim_start_matches("-D").strip_prefix(name).map(str::to_owned);
        call.words().iter().find_map(value)
    };
    let skipped = defined("maven.deploy.skip").is_some_and(|value| value != "=false");
    let elsewhere = defined("altDeploymentRepository=").or_else(|| defined("url="));
    let local = elsewhere.as_ref().is_some_and(|place| place.contains("file:"));
    let host = elsewhere.and_then(|place| place.find("http").and_then(|at| Address::of(place.get(at..)?)));
    let host = host.map_or_else(|| MAVEN.to_owned(), |address| address.host);
    let held = !skipped && !local && !passes_to(site, &host);
    held.then(|| published(&format!("a package at `{host}` (`{found}`)")))
}

fn is_amazon_message(words: &[&str]) -> bool {
    matches!(
        words,
        ["sns", "publish" | "publish-batch", ..]
            | ["ses" | "sesv2", "send-email" | "send-raw-email" | "send-bulk-email" | "send-templated-email", ..]
            | ["pinpoint", "send-messages", ..]
    )
}

/// Mail to somebody elsewhere; to an account of this machine it passes, and so does reading.
fn mail(call: &Call) -> Option<Hold> {
    let away = |field: &&Field| field.text().contains('@') || field.unknown().is_some();
    let headers = call.name().starts_with("sendmail") || call.name().starts_with("msmtp") || call.name() == "ssmtp";
    let listed = headers && call.has_short(&['t']);
    let lists = call.has_short(&['H']) || call.words().iter().any(|word| word == "-bp");
    let to: Vec<Field> = call.options(&["-c", "-b"]);
    let sends = call.operands().iter().any(away) || to.iter().any(|field| away(&field)) || listed;
    (sends && !lists).then(|| published("a message: mail"))
}
