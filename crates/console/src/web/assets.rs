//! The files of the page, embedded in the program.

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $file:literal, $content_type:expr) => {
        Asset { path: $path, content_type: $content_type, text: include_str!(concat!("../../web/", $file)) }
    };
}

/// Every file.
pub(super) const ASSETS: [Asset; 13] = [
    asset!("/", "index.html", HTML),
    asset!("/app.css", "app.css", STYLE),
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
    asset!("/favicon.svg", "favicon.svg", "image/svg+xml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_has_no_inline_code_and_calls_nobody() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes <= 300 * 1_024, "{bytes} bytes");
        for Asset { path, text, .. } in &ASSETS {
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
        assert!(!ASSETS[0].text.contains("<script>") && !ASSETS[0].text.contains("<style"));
    }
}
