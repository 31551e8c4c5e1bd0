//! Databases: statements and tools that delete tables, databases or all keys.

use super::sql;
use crate::judge::call::Call;
use crate::judge::hold::{FloorRule, Hold};
use crate::judge::stream::Stream;
use crate::judge::walk::Walker;
use crate::judge::world::{Spot, Zone};

/// Clients that speak SQL: their options that carry statements, and those that name files of statements.
const CLIENTS: [(&str, &[&str], &[&str]); 14] = [
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
pub(super) fn judge(walker: &Walker<'_>, call: &Call) -> Option<Hold> {
    let name = call.name();
    if let Some((client, statements, files)) = CLIENTS.iter().find(|(own, ..)| *own == name) {
        return client_call(walker, call, client, (statements, files));
    }
    let words = call.words();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let says = |wanted: &[&str]| lower.iter().any(|word| wanted.contains(&word.as_str()));
    let test = ["RAILS_ENV", "RACK_ENV", "NODE_ENV", "MIX_ENV", "APP_ENV", "DJANGO_ENV"].iter().any(|variable| {
        call.variable(variable).or_else(|| walker.state.variable(variable).known()).is_some_and(|value| value == "test")
    }) || says(&["--env=test", "--env=testing"]);
    let reason = match name.as_str() {
        "dropdb" | "dropuser" => "it drops a database",
        "mysqladmin" if says(&["drop"]) => "it drops a database",
        "redis-cli" | "valkey-cli" if keys(call, &lower) => "it deletes every key of a database",
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
    Some(Hold::plain(FloorRule::Database, reason))
}

fn client_call(walker: &Walker<'_>, call: &Call, client: &str, options: (&[&str], &[&str])) -> Option<Hold> {
    if call.has_any(&["--help", "--version"]) {
        return None;
    }
    let (statements, files) = options;
    let dialect =
        if matches!(client, "mysql" | "mariadb" | "mycli") { sql::Dialect::MySql } else { sql::Dialect::Other };
    let mut texts: Vec<String> = statements
        .iter()
        .filter_map(|option| call.option(&[option]))
        .map(|field| crate::judge::invoke::as_text(&field))
        .collect();
    let operands = call.operands();
    match client {
        "sqlite3" | "duckdb" => {
            if operands.first().is_none_or(|file| is_throwaway(walker, file)) {
                return None;
            }
            texts.extend(operands.iter().skip(1).map(|field| crate::judge::invoke::as_text(field)));
        }
        "bq" => texts.extend(operands.iter().map(|field| field.text())),
        _ => {}
    }
    let named = files.iter().filter_map(|option| call.option(&[option])).filter_map(|field| field.known());
    for path in named.filter_map(|name| walker.state.absolute(&name)) {
        if let Stream::Known(text) = walker.contents(&path) {
            texts.push(text);
        }
    }
    if let Stream::Known(text) = &call.stdin {
        texts.push(text.clone());
    }
    let found = texts.iter().find_map(|text| sql::destructive(text, dialect))?;
    Some(Hold::plain(FloorRule::Database, &format!("it runs `{found}` through `{client}`")))
}

/// A database in memory, below the temporary folder, or not there yet.
fn is_throwaway(walker: &Walker<'_>, file: &crate::judge::field::Field) -> bool {
    if matches!(file.text().as_str(), ":memory:" | "") {
        return true;
    }
    walker.world.spots(file, walker.state.cwd()).iter().all(|spot| match spot {
        Spot::Path(path) => walker.world.zone(path) == Zone::Temporary || !path.exists(),
        Spot::Contents(_) | Spot::Unknown(..) => false,
    })
}

fn keys(call: &Call, lower: &[String]) -> bool {
    let flush = |text: &str| text.split_whitespace().any(|word| matches!(word, "flushall" | "flushdb"));
    let piped = match &call.stdin {
        Stream::Known(text) => flush(&text.to_lowercase()),
        Stream::Closed | Stream::Paths(_) | Stream::Downloaded | Stream::Decoded | Stream::Unknown => false,
    };
    piped || lower.iter().any(|word| flush(word))
}

fn mongo(call: &Call) -> bool {
    let code = call.option(&["--eval"]).map(|field| field.text()).unwrap_or_default();
    let piped = match &call.stdin {
        Stream::Known(text) => text.clone(),
        Stream::Closed | Stream::Paths(_) | Stream::Downloaded | Stream::Decoded | Stream::Unknown => String::new(),
    };
    let code = format!("{code}\n{piped}");
    [".dropDatabase(", ".drop(", ".deleteMany({})", ".remove({})", ".dropCollection("]
        .iter()
        .any(|call| code.contains(call))
}
