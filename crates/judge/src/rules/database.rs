//! Databases: statements and tools that delete tables, databases or all keys.

mod sql;

use super::code::literal::{Language, Skeleton};
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, rest_of};
use crate::line::field::Field;
use crate::line::stream::Stream;
use crate::site::Site;
use crate::world::{Spot, Zone};

/// Clients that speak SQL: their options that carry statements, and those that name files of statements.
const CLIENTS: [(&str, &[&str], &[&str]); 15] = [
    ("usql", &["-c", "--command"], &["-f", "--file"]),
    ("psql", &["-c", "--command"], &["-f", "--file"]),
    ("pgcli", &["-c"], &[]),
    ("mysql", &["-e", "--execute"], &[]),
    ("mariadb", &["-e", "--execute"], &[]),
    ("mycli", &["-e", "--execute"], &[]),
    ("sqlite3", &["-cmd"], &["-init"]),
    ("duckdb", &["-c", "-cmd"], &["-init"]),
    ("clickhouse-client", &["-q", "--query"], &["--queries-file"]),
    ("clickhouse", &["-q", "--query"], &["--queries-file"]),
    ("cockroach", &["-e", "--execute"], &["-f", "--file"]),
    ("sqlcmd", &["-Q", "-q"], &["-i"]),
    ("snowsql", &["-q", "--query"], &["-f"]),
    ("cqlsh", &["-e", "--execute"], &["-f", "--file"]),
    ("bq", &[], &[]),
];

/// Judges a call of a database's client.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let name = call.name();
    if let Some((client, statements, files)) = CLIENTS.iter().find(|(own, ..)| *own == name) {
        return client_call(site, call, client, (statements, files));
    }
    if call.has_any(&["--help", "-?", "--version"]) {
        return None;
    }
    let words = call.words();
    if let Some(hold) = hosted(site, call, &words) {
        return Some(hold);
    }
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let says = |wanted: &[&str]| lower.iter().any(|word| wanted.contains(&word.as_str()));
    let test = ["RAILS_ENV", "RACK_ENV", "NODE_ENV", "MIX_ENV", "APP_ENV", "DJANGO_ENV"].iter().any(|variable| {
        call.variable(variable).or_else(|| site.state.variable(variable).known()).is_some_and(|value| value == "test")
    }) || says(&["--env=test", "--env=testing"]);
    let reason = match name.as_str() {
        "dropdb" | "dropuser" => "it drops a database",
        "mysqladmin" if says(&["drop"]) => "it drops a database",
        "redis-cli" | "valkey-cli" if keys(call) => "it deletes every key of a database",
        "mongosh" | "mongo" if mongo(call) => "it drops a database or a collection",
        "prisma" if says(&["reset"]) || says(&["--force-reset", "--accept-data-loss"]) => "it resets a database",
        "rails" | "rake" | "bin/rails"
            if !test
                && lower.iter().any(|word| {
                    ["db:drop", "db:reset", "db:purge", "db:schema:load", "db:migrate:reset"]
                        .iter()
                        .any(|task| word.starts_with(task))
                }) =>
        {
            "it drops or resets a database"
        }
        "python" | "python3" | "manage.py" | "django-admin"
            if lower.iter().any(|word| word.ends_with("manage.py"))
                || name.ends_with("manage.py")
                || name == "django-admin" =>
        {
            if !says(&["flush", "reset_db", "sqlflush"]) {
                return None;
            }
            "it empties a database"
        }
        "sequelize" | "sequelize-cli" if !test && says(&["db:drop", "db:migrate:undo:all"]) => "it drops a database",
        "typeorm" if says(&["schema:drop"]) => "it drops every table",
        "knex" if says(&["migrate:rollback"]) && says(&["--all"]) => "it takes back every migration",
        "alembic" if says(&["downgrade"]) && says(&["base"]) => "it takes back every migration",
        "php" | "artisan" if !test && says(&["migrate:fresh", "migrate:reset", "migrate:refresh", "db:wipe"]) => {
            "it drops every table"
        }
        "mix" if !test && says(&["ecto.drop", "ecto.reset"]) => "it drops a database",
        "supabase" if says(&["db"]) && says(&["reset"]) => "it resets a database",
        "diesel" | "sqlx" if says(&["database"]) && says(&["reset", "drop"]) => "it drops a database",
        "flyway" | "liquibase" if says(&["clean", "drop-all", "dropall"]) => "it drops every table",
        _ => return None,
    };
    Some(Hold::plain(GuardRule::Database, reason))
}

/// Clients of services that speak SQL to a database somewhere else.
fn hosted(site: &Site<'_>, call: &Call, words: &[String]) -> Option<Hold> {
    let says = |wanted: &str| words.iter().any(|word| word == wanted);
    match call.name().as_str() {
        "heroku" if says("pg:psql") => client_call(site, call, "heroku", (&["-c", "--command"], &["-f", "--file"])),
        "wrangler" if says("d1") && says("execute") && !says("--local") => {
            client_call(site, call, "wrangler", (&["--command"], &["--file"]))
        }
        "turso" if says("db") && says("shell") => client_call(site, call, "turso", (&[], &[])),
        _ => None,
    }
}

/// The statements that the output of a client would be: `select 'drop table ' || name …`.
pub(crate) fn generated(call: &Call) -> Option<String> {
    let (_, statements, _) = CLIENTS.iter().find(|(own, ..)| *own == call.name())?;
    let texts = call.options(statements).iter().map(Field::to_code).collect::<Vec<_>>().join(";");
    sql::generated(&texts)
}

fn client_call(site: &Site<'_>, call: &Call, client: &str, options: (&[&str], &[&str])) -> Option<Hold> {
    if call.has_any(&["--help", "--version"]) {
        return None;
    }
    let (statements, files) = options;
    let dialect =
        if matches!(client, "mysql" | "mariadb" | "mycli") { sql::Dialect::MySql } else { sql::Dialect::Other };
    let mut texts: Vec<String> = call.options(statements).iter().map(Field::to_code).collect();
    let operands = call.operands();
    match client {
        "sqlite3" | "duckdb" => {
            let values = ["-c", "-s", "-cmd", "-init", "-separator", "-newline", "-nullvalue", "-vfs", "-maxsize"];
            let (_, operands) = rest_of(call.args.get(1..).unwrap_or_default(), &values, 0);
            if operands.first().is_none_or(|file| is_throwaway(site, file)) {
                return None;
            }
            texts.extend(operands.iter().skip(1).map(Field::to_code));
        }
        "bq" | "turso" => texts.extend(operands.iter().map(|field| field.text())),
        _ => {}
    }
    let named = call.options(files).into_iter().filter_map(|field| field.known());
    for path in named.filter_map(|name| site.state.absolute(&name)) {
        if let Stream::Known(text) = site.contents(&path) {
            texts.push(text);
        }
    }
    if let Stream::Known(text) = &call.stdin {
        texts.push(text.clone());
    }
    let read: Vec<String> = texts.iter().flat_map(|text| included(site, text)).collect();
    texts.extend(read);
    let found = texts.iter().find_map(|text| sql::destructive(text, dialect))?;
    Some(Hold::plain(GuardRule::Database, &format!("it runs `{found}` through `{client}`")))
}

/// The files that a text reads in by a client's own command: `.read FILE`, `\i FILE`, `source FILE`.
fn included(site: &Site<'_>, text: &str) -> Vec<String> {
    let name = |line: &str| {
        let (command, name) = line.trim().split_once(char::is_whitespace)?;
        let reads = matches!(command.to_lowercase().as_str(), ".read" | "\\i" | "\\ir" | "source" | "\\.");
        reads.then(|| name.trim().trim_end_matches(';').trim_matches(['\'', '"']).to_owned())
    };
    let paths = text.lines().filter_map(name).filter_map(|name| site.state.absolute(&name));
    paths.filter_map(|path| site.contents(&path).text().map(str::to_owned)).collect()
}

/// A database in memory or below the temporary folder. Of one that is not there nobody knows where it is: it may be
/// made by a program that the line starts first.
fn is_throwaway(site: &Site<'_>, file: &Field) -> bool {
    if file.known().is_some_and(|name| matches!(name.as_str(), ":memory:" | "")) {
        return true;
    }
    site.world.spots(file, site.state.cwd()).iter().all(|spot| match spot {
        Spot::Path(path) => site.world.zone(path) == Zone::Temporary,
        Spot::Contents(_) | Spot::Unknown(..) => false,
    })
}

/// Whether the command for the server, or one on the input, empties a database; a key of that name is only a key.
fn keys(call: &Call) -> bool {
    let flushes = |words: &[String]| {
        let plain: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        match plain.as_slice() {
            ["flushall" | "flushdb", ..] | ["del" | "unlink", "*"] => true,
            ["eval", code, ..] => code.contains("flushall") || code.contains("flushdb"),
            _ => false,
        }
    };
    let values = ["-h", "-p", "-s", "-a", "-u", "-n", "-r", "-i", "-d", "-D", "-X", "--user", "--pass"];
    let (_, command) = rest_of(call.args.get(1..).unwrap_or_default(), &values, 0);
    let command: Vec<String> = command
        .iter()
        .flat_map(|field| field.text().split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let piped = match &call.stdin {
        Stream::Known(text) => {
            text.lines().any(|line| flushes(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()))
        }
        Stream::Closed
        | Stream::Name(_)
        | Stream::Paths(_)
        | Stream::Changes(_)
        | Stream::Downloaded
        | Stream::Decoded
        | Stream::Unknown => false,
    };
    piped || flushes(&command)
}

fn mongo(call: &Call) -> bool {
    let code = call.option(&["--eval"]).map(|field| field.text()).unwrap_or_default();
    let piped = match &call.stdin {
        Stream::Known(text) => text.clone(),
        Stream::Closed
        | Stream::Name(_)
        | Stream::Paths(_)
        | Stream::Changes(_)
        | Stream::Downloaded
        | Stream::Decoded
        | Stream::Unknown => String::new(),
    };
    let code = Skeleton::of(&format!("{code}\n{piped}"), Language::JavaScript).code;
    let code: String = code.into_iter().filter(|letter| !letter.is_whitespace()).collect();
    [".dropDatabase(", ".drop(", ".deleteMany({})", ".remove({})", ".dropCollection("]
        .iter()
        .any(|call| code.contains(call))
}
