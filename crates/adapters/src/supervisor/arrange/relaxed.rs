//! JSON as people write it in settings files: with comments and trailing commas, which the clients accept.

use serde_json::{Map, Value};

/// The object in a settings file; an empty file is an empty object.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    let plain = plain(text);
    if plain.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(&plain).map_err(|error| error.to_string())? {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("it is not an object".to_owned())
        }
    }
}

/// The text without comments and without commas before a closing bracket; what stands in strings is untouched.
fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => {
                out.push('"');
                copy_string(&mut letters, &mut out);
            }
            ('/', Some('/')) => while letters.next_if(|letter| *letter != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut before = ' ';
                letters.next();
                for letter in letters.by_ref() {
                    if before == '*' && letter == '/' {
                        break;
                    }
                    before = letter;
                }
                out.push(' ');
            }
            ('}' | ']', _) => {
                let kept = out.trim_end().strip_suffix(',').map(str::len);
                if let Some(length) = kept {
                    out.truncate(length);
                }
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

/// Copies the rest of a string up to its closing quote.
fn copy_string(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(letter) = letters.next() {
        out.push(letter);
        match letter {
            '\\' => out.extend(letters.next()),
            '"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_and_strings_are_untouched() {
        let text = "\u{feff}{ // first\n \"a\": \"/* no */ // no ,]\", /* x */ \"b\": [1, 2, ], \"c\": \"\\\"\", }";
        let object = object(text).unwrap();
        assert_eq!(object["a"], "/* no */ // no ,]");
        assert_eq!(object["b"], serde_json::json!([1, 2]));
        assert_eq!(object["c"], "\"");
        assert!(super::object(" // nothing\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "{", "{\"a\":}", "1", "{\"a\":1} x"] {
            assert!(object(text).is_err(), "{text}");
        }
    }
}
