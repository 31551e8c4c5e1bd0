//! The files of the page, embedded in the program.

use super::reply::content_security_policy;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::LazyLock;
use tripwire_core::record::chain::Digest;

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $file:literal, $content_type:expr) => {
        Asset { path: $path, content_type: $content_type, text: include_str!(concat!("../../web/", $file)) }
    };
}

/// The page as it is written: its style is a file of its own.
const INDEX: &str = include_str!("../../web/index.html");
const STYLE: &str = include_str!("../../web/app.css");
/// The line of the page that names the style.
const STYLE_LINK: &str = "<link rel=\"stylesheet\" href=\"/app.css\">";

/// The page as it is sent: the style inside of it, so that the first paint waits for one answer.
pub(super) struct Page {
    pub(super) text: String,
    /// What the page may do: run its own scripts, have this one style, ask its own server, and nothing else.
    pub(super) content_security_policy: String,
}

/// Built at the first request.
pub(super) static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let digest = STANDARD.encode(Digest::of(STYLE.as_bytes()).as_bytes());
    Page {
        text: INDEX.replace(STYLE_LINK, &format!("<style>{STYLE}</style>")),
        content_security_policy: content_security_policy(&format!("'self' 'sha256-{digest}'")),
    }
});

/// Every file beside the page.
pub(super) const ASSETS: [Asset; 12] = [
    asset!("/app.js", "app.js", SCRIPT),
    asset!("/api.js", "api.js", SCRIPT),
    asset!("/dom.js", "dom.js", SCRIPT),
    asset!("/format.js", "format.js", SCRIPT),
    asset!("/charts.js", "charts.js", SCRIPT),
    asset!("/graph.js", "graph.js", SCRIPT),
    asset!("/log.js", "log.js", SCRIPT),
    asset!("/sessions.js", "sessions.js", SCRIPT),
    asset!("/session.js", "session.js", SCRIPT),
    asset!("/panels.js", "panels.js", SCRIPT),
    asset!("/fleet.js", "fleet.js", SCRIPT),
    asset!("/favicon.svg", "favicon.svg", "image/svg+xml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_has_no_inline_script_and_calls_nobody() {
        let page = Asset { path: "/", content_type: "", text: &PAGE.text };
        let files: Vec<&Asset> = ASSETS.iter().chain([&page]).collect();
        let bytes: usize = files.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes <= 300 * 1_024, "{bytes} bytes");
        for Asset { path, text, .. } in files {
            for banned in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=\"", "onclick="]
            {
                assert!(!text.contains(banned), "{path} has `{banned}`");
            }
            let outside = text.match_indices("http").filter(|(at, _)| !text[*at..].starts_with("http://www.w3.org/"));
            assert_eq!(
                outside
                    .filter(|(at, _)| text[*at..].contains("://"))
                    .filter(|(at, _)| text[at + 4..].starts_with("://") || text[at + 4..].starts_with("s://"))
                    .count(),
                0,
                "{path}"
            );
        }
        assert!(!PAGE.text.contains("<script>"));
    }

    #[test]
    fn the_style_of_the_page_is_the_one_that_its_policy_names() {
        assert_eq!(PAGE.text.matches("<style>").count(), 1);
        assert!(!PAGE.text.contains("app.css") && !STYLE.contains("</"), "the file's own end would end the element");
        let (_, behind) = PAGE.text.split_once("<style>").unwrap();
        let (inside, _) = behind.split_once("</style>").unwrap();
        let digest = STANDARD.encode(Digest::of(inside.as_bytes()).as_bytes());
        assert!(PAGE.content_security_policy.contains(&format!("style-src 'self' 'sha256-{digest}';")));
    }

    #[test]
    fn the_page_asks_at_once_for_every_script() {
        for Asset { path, .. } in ASSETS.iter().filter(|asset| asset.content_type == SCRIPT && asset.path != "/app.js")
        {
            assert!(INDEX.contains(&format!("<link rel=\"modulepreload\" href=\"{path}\">")), "{path}");
        }
    }
}
