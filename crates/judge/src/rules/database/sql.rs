//! SQL read as statements: comments and texts are data.

/// Whose rules the text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `/*! … */` is code, and tables are dropped outside of transactions.
    MySql,
    /// Every other dialect.
    Other,
}

/// The first statement that deletes tables, databases or all rows. One in a transaction counts unless the transaction is
/// rolled back; what stands before or behind it is not.
pub(super) fn destructive(text: &str, dialect: Dialect) -> Option<String> {
    let statements = statements(text, dialect);
    let temporary = temporary_tables(&statements);
    let own = |statement: &[String]| {
        let table = statement.iter().skip(2).find(|word| !matches!(word.as_str(), "IF" | "EXISTS"));
        statement.get(1).is_some_and(|word| word == "TABLE") && table.is_some_and(|name| temporary.contains(name))
    };
    let mut transaction = Transaction::None;
    let mut waiting: Option<&Vec<String>> = None;
    for statement in &statements {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["BEGIN", ..] | ["START", "TRANSACTION", ..] => transaction = Transaction::Open,
            ["ROLLBACK" | "ABORT", rest @ ..] if !rest.contains(&"TO") => {
                waiting = None;
                transaction = Transaction::None;
            }
            ["COMMIT" | "END", ..] if waiting.is_some() => break,
            ["COMMIT" | "END", ..] => transaction = Transaction::None,
            _ if is_destructive(&words) && !own(statement) => {
                waiting = waiting.or(Some(statement));
                if transaction == Transaction::None || dialect == Dialect::MySql {
                    break;
                }
            }
            _ => {}
        }
    }
    let is_word = |word: &&String| !matches!(word.as_str(), "(" | ")");
    waiting.map(|found| found.iter().filter(is_word).take(4).cloned().collect::<Vec<_>>().join(" "))
}

/// Whether a transaction is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    Open,
    None,
}

/// The commands that the server runs: `COPY … TO PROGRAM 'command'`.
pub(super) fn server_programs(text: &str, dialect: Dialect) -> Vec<String> {
    let program = |statement: &Vec<String>| {
        let copies = statement.first().is_some_and(|word| word == "COPY");
        let at = statement.iter().position(|word| word == "PROGRAM").filter(|_| copies)?;
        statement.get(at + 1).cloned()
    };
    statements(text, dialect).iter().filter_map(program).collect()
}

/// The commands that a client runs in a shell: `\! command`, `.shell command`, `system command`.
pub(super) fn client_commands(text: &str, client: &str) -> Vec<String> {
    let starts: &[&str] = match client {
        "psql" | "usql" | "pgcli" => &["\\!"],
        "mysql" | "mariadb" | "mycli" => &["\\!", "system "],
        "sqlite3" | "duckdb" => &[".shell ", ".system "],
        _ => &[],
    };
    let command = |line: &str| starts.iter().find_map(|start| line.trim_start().strip_prefix(start)).map(str::to_owned);
    text.lines().filter_map(command).collect()
}

/// Tables that the text itself makes, and that end with the session.
fn temporary_tables(statements: &[Vec<String>]) -> Vec<String> {
    let made = |statement: &Vec<String>| {
        let mut words = statement.iter().map(String::as_str).skip_while(|word| matches!(*word, "CREATE" | "LOCAL"));
        let temporary = statement.first().is_some_and(|word| word == "CREATE")
            && words.next().is_some_and(|word| matches!(word, "TEMP" | "TEMPORARY"))
            && words.next().is_some_and(|word| word == "TABLE");
        words.find(|word| !matches!(*word, "IF" | "NOT" | "EXISTS")).filter(|_| temporary).map(str::to_owned)
    };
    statements.iter().filter_map(made).collect()
}

/// The statement that a query writes as its result, if one of its texts begins like one that deletes.
pub(super) fn generated(text: &str) -> Option<String> {
    let texts = text.split('\'').skip(1).step_by(2);
    let deletes = |text: &str| {
        let upper = text.trim_start().to_uppercase();
        ["DROP ", "TRUNCATE ", "DELETE FROM "].iter().any(|start| upper.starts_with(start))
    };
    let found = texts.into_iter().find(|text| deletes(text))?;
    Some(format!("{} generated;\n", found.trim()))
}

/// Whether a statement deletes, whatever stands around it.
fn is_destructive(statement: &[&str]) -> bool {
    let words: Vec<&str> = statement.iter().copied().filter(|word| !matches!(*word, "(" | ")")).collect();
    match words.as_slice() {
        ["DROP", what, ..] => !is_made_again(what),
        ["TRUNCATE", _, ..] => true,
        // To measure a statement it is run.
        ["EXPLAIN", rest @ ..] if rest.iter().any(|word| matches!(*word, "ANALYZE" | "ANALYSE")) => {
            let deletes = statement.iter().position(|word| matches!(*word, "DELETE" | "WITH"));
            deletes.and_then(|at| statement.get(at..)).is_some_and(is_destructive)
        }
        // A block of code: what it runs stands in its texts too.
        ["DO", rest @ ..] => rest.windows(2).any(|pair| {
            matches!(pair, ["DROP", "TABLE" | "SCHEMA" | "DATABASE"] | ["TRUNCATE", _] | ["EXECUTE", "TRUNCATE"])
        }),
        // As ClickHouse writes a deletion.
        ["ALTER", "TABLE", _, "DELETE", rest @ ..] => holds_for_all(rest),
        ["ALTER", "TABLE", rest @ ..] => rest.windows(2).any(|pair| {
            let kept = ["CONSTRAINT", "DEFAULT", "INDEX", "KEY", "NOT", "FOREIGN", "PRIMARY", "IDENTITY"];
            matches!(pair, ["DROP", what] if !kept.contains(what))
        }),
        ["DELETE", rest @ ..] => {
            rest.contains(&"FROM") && rest.len() > 1 && (!rest.contains(&"WHERE") || holds_for_all(rest))
        }
        ["PURGE", "BINARY" | "MASTER", "LOGS", ..] | ["RESET", "MASTER", ..] => true,
        ["WITH", ..] => deletes_in_part(statement),
        _ => false,
    }
}

/// Things that hold no data: they can be created again.
fn is_made_again(what: &str) -> bool {
    matches!(what, "TEMPORARY" | "TEMP" | "INDEX" | "VIEW" | "TRIGGER" | "FUNCTION" | "PROCEDURE" | "POLICY" | "RULE")
}

/// Whether a part of `WITH name AS (DELETE FROM …) …` deletes without a condition of its own.
fn deletes_in_part(statement: &[&str]) -> bool {
    let begins = |at: &usize| matches!(statement.get(*at..*at + 2), Some(["DELETE", "FROM"]));
    (0..statement.len()).filter(begins).any(|at| {
        let mut depth = 0_usize;
        for word in statement.iter().skip(at) {
            match (*word, depth) {
                ("(", _) => depth += 1,
                (")", 0) => return true,
                (")", _) => depth -= 1,
                ("WHERE", 0) => return false,
                _ => {}
            }
        }
        true
    })
}

/// Whether a condition is true for every row: `WHERE 1=1`, `WHERE true`.
fn holds_for_all(words: &[&str]) -> bool {
    let condition: String = words.iter().skip_while(|word| **word != "WHERE").skip(1).copied().collect();
    matches!(
        condition.as_str(),
        "1" | "TRUE" | "1=1" | "1<2" | "NOTFALSE" | "2>1" | "0=0" | "TRUE=TRUE" | "1<>0" | "1!=0"
    )
}

/// The statements as words in upper case, with brackets as words of their own and without texts. Only the text behind
/// `PROGRAM` is kept: it is a command.
fn statements(text: &str, dialect: Dialect) -> Vec<Vec<String>> {
    let mut statements = vec![Vec::new()];
    let mut word = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let in_block = statements.last().and_then(|statement| statement.first()).is_some_and(|first| first == "DO");
        let text = if in_block && letter != '-' && letter != '/' {
            None
        } else {
            skipped(rest, escapes(&word, dialect), dialect)
        };
        if let Some(length) = text {
            end_word(&mut word, &mut statements);
            if letter == '"' {
                word.push_str("\"\""); // A name stays a word: `DELETE FROM "t"` names a table.
                end_word(&mut word, &mut statements);
            } else if statements.last().and_then(|words| words.last()).is_some_and(|word| word == "PROGRAM") {
                let text = rest.get(..length).unwrap_or_default();
                word.push_str(text.trim_matches(['\'', '$']));
                end_word(&mut word, &mut statements);
            }
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        if letter == ';' {
            end_word(&mut word, &mut statements);
            statements.push(Vec::new());
        } else if letter.is_whitespace() || "(),\"'$`*!/[]".contains(letter) {
            end_word(&mut word, &mut statements);
            if matches!(letter, '(' | ')') && statements.last().is_some_and(|words| !words.is_empty()) {
                word.push(letter);
                end_word(&mut word, &mut statements);
            }
        } else if letter == '\\' && word.is_empty() && statements.last().is_some_and(Vec::is_empty) {
            // A client's own command, such as `\dt`: to the end of its line.
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else {
            word.extend(letter.to_uppercase());
        }
    }
    end_word(&mut word, &mut statements);
    for statement in &mut statements {
        // `/*!50000 DROP …` begins with the version that it is for.
        if dialect == Dialect::MySql
            && statement.first().is_some_and(|word| word == "M" || word.bytes().all(|byte| byte.is_ascii_digit()))
        {
            statement.remove(0);
        }
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

fn end_word(word: &mut String, statements: &mut [Vec<String>]) {
    if !word.is_empty() {
        let done = std::mem::take(word);
        if let Some(statement) = statements.last_mut() {
            statement.push(done);
        }
    }
}

/// Whether a backslash escapes a quote in a text that begins here: in `E'…'`, and always in MySQL.
fn escapes(word: &str, dialect: Dialect) -> Escapes {
    if dialect == Dialect::MySql || word == "E" { Escapes::Backslash } else { Escapes::None }
}

/// What escapes a quote inside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Backslash,
    None,
}

/// Where a text ends that begins with this quote.
fn quoted(rest: &str, quote: char, escapes: Escapes) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' && escapes == Escapes::Backslash {
            escaped = true;
        } else if letter == quote {
            return at + quote.len_utf8();
        }
    }
    rest.len()
}

/// How many bytes at the start are a comment, a text or a quoted name.
fn skipped(rest: &str, escapes: Escapes, dialect: Dialect) -> Option<usize> {
    let line = || rest.find('\n').unwrap_or(rest.len());
    let until = |open: usize, close: &str| {
        rest.get(open..).and_then(|inside| inside.find(close)).map_or(rest.len(), |at| open + at + close.len())
    };
    if rest.starts_with("--") || (rest.starts_with('#') && dialect == Dialect::MySql) {
        return Some(line());
    }
    let runs = dialect == Dialect::MySql && (rest.starts_with("/*!") || rest.starts_with("/*M!"));
    if rest.starts_with("/*") && !runs {
        return Some(until(2, "*/"));
    }
    if let Some(quote @ ('\'' | '"')) = rest.chars().next() {
        return Some(quoted(rest, quote, escapes));
    }
    if let Some(inside) = rest.strip_prefix('$') {
        let tag = inside.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if inside.as_bytes().get(tag) == Some(&b'$') {
            let mark = rest.get(..tag + 2).unwrap_or_default();
            return Some(until(tag + 2, mark));
        }
    }
    None
}
