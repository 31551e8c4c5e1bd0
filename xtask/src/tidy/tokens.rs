//! Questions to the token stream, which unlike the syntax tree also shows what stands inside macro calls.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Names of test functions that really run: a `#[test]` of any framework, and no `#[ignore]`.
pub(crate) fn test_names(tokens: &TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    collect_tests(tokens.clone(), &mut names);
    names
}

/// What the attributes seen so far say about the item they stand on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    Test,
    Ignored,
}

fn collect_tests(tokens: TokenStream, names: &mut Vec<String>) {
    let mut marks = Marks::None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if let TokenTree::Group(group) = &token {
            if group.delimiter() == Delimiter::Bracket {
                marks = marks.with(attribute_name(group).as_deref());
                continue;
            }
            collect_tests(group.stream(), names);
            if group.delimiter() == Delimiter::Brace {
                marks = Marks::None;
            }
        } else if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';') {
            marks = Marks::None;
        } else if matches!(&token, TokenTree::Ident(ident) if ident == "fn")
            && let Some(TokenTree::Ident(name)) = tokens.peek()
        {
            if marks == Marks::Test {
                names.push(name.to_string());
            }
            marks = Marks::None;
        }
    }
}

impl Marks {
    fn with(self, attribute: Option<&str>) -> Self {
        match (self, attribute) {
            (Self::Ignored, _) | (_, Some("ignore")) => Self::Ignored,
            (Self::None | Self::Test, Some("test" | "rstest" | "test_case")) => Self::Test,
            (Self::None | Self::Test, _) => self,
        }
    }
}

/// The last name of the attribute's path: `test` for `#[test]` and for `#[tokio::test(…)]`.
fn attribute_name(group: &Group) -> Option<String> {
    let mut name = None;
    for token in group.stream() {
        match token {
            TokenTree::Ident(ident) => name = Some(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Literal(_) => break,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        test_names(&text.parse().unwrap())
    }

    #[test]
    fn tests_are_found_in_modules_and_in_macros() {
        let text = "mod t { #[test] fn one() {} #[tokio::test(flavor = \"x\")] async fn two() {} }
            proptest! { #![proptest_config(c())] #[test] fn three(x in 0..9) { body(x); } }";
        assert_eq!(names(text), ["one", "two", "three"]);
    }

    #[test]
    fn helpers_and_ignored_tests_are_not_tests() {
        assert!(names("fn a() {} #[inline] fn b() {} #[ignore] #[test] fn c() {}").is_empty());
        assert!(names("#[test] #[ignore = \"slow\"] fn d() {}").is_empty());
        assert_eq!(names("#[test] fn a() { fn inner() {} } fn b() {}"), ["a"]);
        assert!(names("#[cfg(test)] fn helper() {}").is_empty());
    }
}
