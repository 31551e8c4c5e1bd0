//! Markdown as far as the checks of the docs need it: fenced blocks with the comment above them, links, anchors.

/// A fenced block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// The word behind the fence, such as `console`; empty without one.
    pub tag: String,
    /// The text of an HTML comment on the line above the fence.
    pub comment: Option<String>,
    /// What stands between the fences.
    pub text: String,
}

/// A link or an image of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The line that it stands in, from 1.
    pub line: usize,
    /// Where the target begins in the page, in bytes.
    pub at: usize,
    /// The target as it is written.
    pub target: String,
}

/// The fenced blocks of a page, in order.
#[must_use]
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block, String)> = None;
    let mut above = "";
    for (number, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        match open.take() {
            Some((block, fence)) if trimmed.trim_end() == fence => blocks.push(block),
            Some((mut block, fence)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some((block, fence));
            }
            None => {
                let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
                if ticks >= 3 {
                    let (fence, tag) = trimmed.split_at(ticks);
                    let (tag, comment) = (tag.trim().to_owned(), comment(above));
                    open = Some((Block { line: number + 1, tag, comment, text: String::new() }, fence.to_owned()));
                }
            }
        }
        above = line;
    }
    // A block that is never closed reaches to the end of the page, as in every renderer.
    blocks.extend(open.map(|(block, _)| block));
    blocks
}

fn comment(line: &str) -> Option<String> {
    let text = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(text.trim().to_owned())
}

/// The links and images of a page, code left out.
#[must_use]
pub fn links(page: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (number, line, at) in prose(page) {
        let plain = without_code(line);
        let mut from = 0;
        while let Some(begin) = plain[from..].find("](").map(|found| from + found + 2) {
            let Some(length) = plain[begin..].find(')') else { break };
            let target = line[begin..begin + length].to_owned();
            found.push(Link { line: number, at: at + begin, target });
            from = begin + length;
        }
    }
    found
}

/// The anchors that the headings of a page make, as renderers of Markdown name them.
#[must_use]
pub fn anchors(page: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line, _) in prose(page) {
        let text = line.trim_start_matches('#');
        if text.len() == line.len() || !text.starts_with(' ') {
            continue;
        }
        let kept = text.trim().to_lowercase();
        let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let name: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let again = anchors.iter().filter(|known| **known == name).count();
        anchors.push(if again == 0 { name } else { format!("{name}-{again}") });
    }
    anchors
}

/// The lines outside of fenced blocks, with their number and where they begin.
fn prose(page: &str) -> Vec<(usize, &str, usize)> {
    let mut lines = Vec::new();
    let mut fence = None;
    let mut at = 0;
    for (number, line) in page.split_inclusive('\n').enumerate() {
        let trimmed = line.trim();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            Some(open) if trimmed.len() == ticks && ticks == open => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None => lines.push((number + 1, line.trim_end_matches('\n'), at)),
        }
        at += line.len();
    }
    lines
}

/// The line with the letters of inline code replaced by blanks of the same length.
fn without_code(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.find('`') {
        let ticks = rest[begin..].len() - rest[begin..].trim_start_matches('`').len();
        let inside = begin + ticks;
        let Some(length) = rest[inside..].find(&rest[begin..inside]) else { break };
        let end = inside + length + ticks;
        plain.push_str(&rest[..begin]);
        plain.push_str(&" ".repeat(end - begin));
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\nSee [one](a.md#b) and `[no](x.md)` and ![p](p.png).\n\n<!-- in: folder -->\n```console\n$ ls\n[not](a-link)\n```\n\n## A page\n\n````text\n```\nin it\n```\n````\n";

    #[test]
    fn blocks_come_with_tag_comment_and_line() {
        let found = blocks(PAGE);
        assert_eq!(found.len(), 2, "{found:?}");
        let first = Block {
            line: 6,
            tag: "console".into(),
            comment: Some("in: folder".into()),
            text: "$ ls\n[not](a-link)\n".into(),
        };
        assert_eq!(found[0], first);
        assert_eq!((found[1].tag.as_str(), found[1].text.as_str()), ("text", "```\nin it\n```\n"));
        assert_eq!(found[1].comment, None);
    }

    #[test]
    fn links_in_code_are_none_and_the_others_say_where_they_stand() {
        let found = links(PAGE);
        let targets: Vec<&str> = found.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["a.md#b", "p.png"]);
        assert!(found.iter().all(|link| link.line == 3 && PAGE[link.at..].starts_with(&link.target)));
    }

    #[test]
    fn headings_make_anchors_and_a_second_one_is_numbered() {
        assert_eq!(anchors(PAGE), ["a-page", "a-page-1"]);
        assert_eq!(anchors("## What `run` does, and why\n"), ["what-run-does-and-why"]);
    }
}
