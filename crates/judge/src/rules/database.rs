//! Databases: statements and tools that delete tables, databases or all keys.

mod sql;
mod tools;

use super::code::literal::{Language, Skeleton};
use super::verbs;
use crate::findings::{Findings, Run};
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, rest_of};
use crate::line::command;
use crate::line::field::Field;
use crate::line::stream::Stream;
use crate::losses;
use crate::site::Site;
use crate::world::{Spot, Zone};

/// Clients that speak SQL: their options that carry statements, and those that name files of statements.
const CLIENTS: [(&str, &[&str], &[&str]); 25] = [
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
    ("ysqlsh", &["-c", "--command"], &["-f", "--file"]),
    ("sqlplus", &[], &[]),
    ("mssql-cli", &["-Q", "-q"], &["-i"]),
    ("snow", &["-q", "--query"], &["-f", "--filename"]),
    ("trino", &["--execute"], &["-f", "--file"]),
    ("presto", &["--execute"], &["-f", "--file"]),
    ("hive", &["-e"], &["-f"]),
    ("beeline", &["-e"], &["-f"]),
    ("spark-sql", &["-e"], &["-f"]),
    ("impala-shell", &["-q", "--query"], &["-f", "--query_file"]),
];

/// Judges a call of a database's client, and finds the commands that its statements run.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    let name = call.name();
    match CLIENTS.iter().find(|(own, ..)| *own == name) {
        Some((client, statements, files)) => client_call(site, call, client, (statements, files)),
        None => judge_tool(site, call),
    }
}

/// Judges a call of another tool for databases.
pub(super) fn judge_tool(site: &Site<'_>, call: &Call) -> Findings {
    if call.has_any(&["--help", "-?"]) || command::asks_for_help(call) {
        return Findings::default();
    }
    let words = command::words(call);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(findings) = hosted(site, call, &words) {
        return findings;
    }
    let (tool, command) = subject(call, &words);
    let reason =
        dropped(call, &tool, command).or_else(|| migrated(call, &tool, command).filter(|_| !is_test(site, call)));
    let reason = reason.filter(|_| !has_throwaway_address(site, call));
    reason.map(|reason| Hold::plain(GuardRule::Database, reason)).into()
}

/// The tool that a command is about, and its words: a script that an interpreter runs counts as itself.
fn subject<'w, 't>(call: &Call, words: &'w [&'t str]) -> (String, &'w [&'t str]) {
    let name = call.name();
    let scripts: &[&str] = match name.as_str() {
        "php" | "symfony" | "sail" => &["artisan", "console"],
        "node" | "bun" | "tsx" | "ts-node" => &["ace", "ace.js", "ace.ts"],
        "ruby" => &["rails", "rake"],
        "cargo" => &["sqlx", "loco"],
        python if python.starts_with("python") && call.has_any(&["-m"]) => &["alembic", "flask", "django"],
        python if python.starts_with("python") => &["manage.py"],
        _ => &[],
    };
    let found = scripts.iter().find_map(|script| Some((*script, behind(words, script)?)));
    match found {
        Some(("ace.js" | "ace.ts", rest)) => ("ace".to_owned(), rest),
        Some(("django", rest)) => ("django-admin".to_owned(), rest),
        Some((script, rest)) => (script.to_owned(), rest),
        None => (name, words),
    }
}

/// Tools of databases, for which a test is no different.
fn dropped(call: &Call, tool: &str, words: &[&str]) -> Option<&'static str> {
    Some(match (tool, words) {
        ("dropdb" | "dropuser", _) | ("mysqladmin", ["drop", ..]) => "it drops a database",
        ("redis-cli" | "valkey-cli" | "keydb-cli", words) if keys(call, words) => "it deletes every key of a database",
        ("mongosh" | "mongo", _) if mongo(call) => "it drops a database or a collection",
        ("mongorestore", _) if call.has_any(&["--drop"]) && !call.is_dry_run() => "it drops collections",
        ("pg_restore", _) if restores_over(call) => "it drops tables before it restores them",
        ("prisma", ["migrate", "reset", ..]) => "it resets a database",
        ("prisma", ["db", "push", ..]) if call.has_any(&["--force-reset", "--accept-data-loss"]) => {
            "it resets a database"
        }
        ("typeorm", ["schema:drop", ..]) => "it drops every table",
        ("dotnet" | "dotnet-ef", ["ef", "database", "drop", ..] | ["database", "drop", ..]) => "it drops a database",
        ("supabase", ["db", "reset", ..]) => "it resets a database",
        ("diesel" | "sqlx", ["database", "reset" | "drop", ..]) | ("dbmate", ["drop", ..]) => "it drops a database",
        ("sqlx", ["migrate", "revert", ..])
            if call.option(&["--target-version"]).is_some_and(|to| to.text() == "0") =>
        {
            "it takes back every migration"
        }
        // It runs every command that it is given.
        ("flyway", words) if words.contains(&"clean") => "it drops every table",
        ("liquibase", words) if words.iter().any(|word| matches!(*word, "drop-all" | "dropAll" | "dropall")) => {
            "it drops every table"
        }
        ("cypher-shell", words) if words.iter().any(|code| empties_graph(code)) => {
            "it deletes every node of a database"
        }
        (tool, words) => return verbs::reason(tools::TOOLS, tool, words, call),
    })
}

/// Whether a text deletes all that a model holds: `User.delete_all`, `User.objects.all().delete()`.
fn empties_model(code: &str) -> bool {
    let of_model = |call: &str| {
        code.match_indices(call).any(|(at, _)| {
            let before = code.get(..at).unwrap_or_default();
            let name = before.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            name.is_some_and(|name| name.starts_with(char::is_uppercase))
        })
    };
    of_model(".objects.all().delete()") || of_model(".delete_all") || of_model(".destroy_all")
}

/// Whether a text deletes every node: nothing is said about which.
fn empties_graph(code: &str) -> bool {
    let upper = code.to_uppercase();
    upper.contains("DELETE")
        && upper.contains("MATCH (")
        && !upper.contains("WHERE")
        && !upper.contains('{')
        && !upper.contains(':')
}

/// Whether `pg_restore` drops what it restores, in a database and not into a file.
fn restores_over(call: &Call) -> bool {
    let cleans = call.has_any(&["--clean"]) || call.has_short(&['c']);
    cleans && call.option(&["-d", "--dbname"]).is_some() && !call.has_any(&["-l", "--list"])
}

/// Migrations and tasks of frameworks, which a database for tests may lose.
fn migrated(call: &Call, tool: &str, words: &[&str]) -> Option<&'static str> {
    let tasks =
        ["db:drop", "db:reset", "db:purge", "db:schema:load", "db:migrate:reset", "db:truncate_all", "db:seed:replant"];
    let drops = |word: &&str| tasks.iter().any(|task| word.starts_with(task));
    let first = words.contains(&"db:migrate") && words.contains(&"VERSION=0");
    let ends = |word: &&str| word.rsplit(':').next().is_some_and(|task| matches!(task, "flywayClean" | "dropAll"));
    Some(match (tool, words) {
        // They run every task that they are given.
        ("rails" | "rake", words) if (first || words.iter().any(drops)) && !lists_tasks(call) => {
            "it drops or resets a database"
        }
        ("rails", ["runner" | "r", code, ..]) if empties_model(code) => "it deletes every row of a table",
        ("manage.py" | "django-admin", ["shell" | "shell_plus", ..])
            if call.option(&["-c", "--command"]).is_some_and(|code| empties_model(&code.text())) =>
        {
            "it deletes every row of a table"
        }
        ("sequelize" | "sequelize-cli", ["db:drop" | "db:migrate:undo:all", ..]) => "it drops a database",
        ("knex", ["migrate:rollback", ..]) if call.has_any(&["--all"]) => "it takes back every migration",
        ("alembic", ["downgrade", "base", ..]) => "it takes back every migration",
        ("artisan", ["migrate:fresh" | "migrate:reset" | "migrate:refresh" | "db:wipe", ..]) => "it drops every table",
        ("mix", ["ecto.drop" | "ecto.reset", ..]) => "it drops a database",
        ("mix", ["do", words @ ..])
            if words.iter().any(|word| matches!(word.trim_end_matches(','), "ecto.drop" | "ecto.reset")) =>
        {
            "it drops a database"
        }
        ("gradle" | "gradlew", words) if words.iter().any(ends) => "it drops every table",
        ("mvn" | "mvnw", words) if words.iter().any(|word| matches!(*word, "flyway:clean" | "liquibase:dropAll")) => {
            "it drops every table"
        }
        (tool, words) => return verbs::reason(tools::TASKS, tool, words, call),
    })
}

/// What stands behind a script; options of its interpreter and their values may stand before it.
fn behind<'s, 't>(words: &'s [&'t str], script: &str) -> Option<&'s [&'t str]> {
    let at = words.iter().position(|word| word.rsplit('/').next() == Some(script))?;
    words.get(at + 1..)
}

/// Whether `rake` only shows its tasks, or what they would do.
pub(super) fn lists_tasks(call: &Call) -> bool {
    call.has_any(&["-n", "-T", "-P", "-D", "-W", "--tasks", "--prereqs", "--describe", "--where"]) || call.is_dry_run()
}

/// Whether a command is for a database of tests: `RAILS_ENV=test`, before it or among its words, or `--env testing`.
fn is_test(site: &Site<'_>, call: &Call) -> bool {
    let is_name = |value: &str| matches!(value, "test" | "testing");
    let settings =
        call.variable("DJANGO_SETTINGS_MODULE").or_else(|| site.state.variable("DJANGO_SETTINGS_MODULE").known());
    if settings.is_some_and(|module| module.rsplit('.').next().is_some_and(is_name)) {
        return true;
    }
    let variables = ["RAILS_ENV", "RACK_ENV", "NODE_ENV", "MIX_ENV", "APP_ENV", "DJANGO_ENV"];
    let set = variables.iter().filter_map(|name| call.variable(name).or_else(|| site.state.variable(name).known()));
    let given = call.options(&["--env", "--environment"]).into_iter().filter_map(|field| field.known());
    let among = call.words().into_iter().filter_map(|word| {
        word.split_once('=').filter(|(name, _)| variables.contains(name)).map(|(_, value)| value.to_owned())
    });
    set.chain(given).chain(among).any(|value| is_name(&value))
}

/// Tools that take the address of their database from `DATABASE_URL`.
const BY_ADDRESS: [&str; 7] = ["alembic", "dbmate", "diesel", "prisma", "rails", "rake", "sqlx"];

/// Whether the address that a tool takes from its environment is that of a database in memory or below the temporary folder.
fn has_throwaway_address(site: &Site<'_>, call: &Call) -> bool {
    if !BY_ADDRESS.contains(&call.name().as_str()) {
        return false;
    }
    let named = call.variable("DATABASE_URL").or_else(|| site.state.variable("DATABASE_URL").known());
    named.is_some_and(|address| {
        let (scheme, place) = address.split_once(':').unwrap_or_default();
        let path = place.trim_start_matches('/');
        matches!(scheme, "file" | "sqlite" | "sqlite3")
            && (path == ":memory:" || path.is_empty() || (place.starts_with('/') && path.starts_with("tmp/")))
    })
}

/// Clients of services that speak SQL to a database somewhere else.
fn hosted(site: &Site<'_>, call: &Call, words: &[&str]) -> Option<Findings> {
    let options: (&[&str], &[&str]) = match (call.name().as_str(), words) {
        ("heroku", ["pg:psql", ..]) => (&["-c", "--command"], &["-f", "--file"]),
        ("wrangler", ["d1", "execute", ..]) if !call.has_any(&["--local"]) => (&["--command"], &["--file"]),
        ("turso", ["db", "shell", ..]) => (&[], &[]),
        ("prisma", ["db", "execute", ..]) => (&[], &["--file"]),
        ("wp", ["db", "query" | "cli", ..]) | ("drush", ["sql:query" | "sql-query" | "sqlq" | "sql:cli", ..]) => {
            (&[], &["--file"])
        }
        (name, [.., "dbshell"]) if name.starts_with("python") || name == "manage.py" => (&[], &[]),
        ("rails", ["dbconsole" | "db", ..]) => (&[], &[]),
        _ => return None,
    };
    Some(client_call(site, call, &call.name(), options))
}

/// The destructive statement in a text that is given to a database, if there is one.
pub(super) fn destructive(text: &str) -> Option<String> {
    sql::destructive(text, sql::Dialect::Other)
}

/// The statements that the output of a client would be: `select 'drop table ' || name …`.
pub(crate) fn generated(call: &Call) -> Option<String> {
    let (_, statements, _) = CLIENTS.iter().find(|(own, ..)| *own == call.name())?;
    let texts = call.options(statements).iter().map(Field::to_code).collect::<Vec<_>>().join(";");
    sql::generated(&texts)
}

fn client_call(site: &Site<'_>, call: &Call, client: &str, options: (&[&str], &[&str])) -> Findings {
    if call.has_any(&["--help", "--version"]) {
        return Findings::default();
    }
    let (statements, files) = options;
    let dialect =
        if matches!(client, "mysql" | "mariadb" | "mycli") { sql::Dialect::MySql } else { sql::Dialect::Other };
    let mut texts: Vec<String> = call.options(statements).iter().map(Field::to_code).collect();
    let mut throwaway = false;
    match client {
        "sqlite3" | "duckdb" => {
            let values = ["-c", "-s", "-cmd", "-init", "-separator", "-newline", "-nullvalue", "-vfs", "-maxsize"];
            let (_, operands) = rest_of(call.args.get(1..).unwrap_or_default(), &values, 0);
            throwaway = operands.first().is_none_or(|file| is_throwaway(site, file));
            texts.extend(operands.iter().skip(1).map(Field::to_code));
        }
        "bq" | "turso" | "wp" | "drush" => texts.extend(call.operands().iter().map(|field| field.text())),
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
    let found = texts.iter().find_map(|text| sql::destructive(text, dialect)).filter(|_| !throwaway);
    let hold = found.map(|found| Hold::plain(GuardRule::Database, &format!("it runs `{found}` through `{client}`")));
    let own = texts.iter().flat_map(|text| sql::client_commands(text, client));
    let own = own.map(|text| Run::code_without_input(text, call));
    let server = call.with_args(Vec::new());
    let server = Call { place: Place::Remote, ..server };
    let programs = texts.iter().flat_map(|text| sql::server_programs(text, dialect));
    let runs = own.chain(programs.map(|text| Run::code_without_input(text, &server))).collect();
    Findings { runs, hold, ..Findings::default() }
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

/// A database in memory, below the temporary folder or in a folder that a build makes. Of one that is not there nobody knows where it is: it may be
/// made by a program that the line starts first.
fn is_throwaway(site: &Site<'_>, file: &Field) -> bool {
    if file.known().is_some_and(|name| matches!(name.as_str(), ":memory:" | "" | "file::memory:")) {
        return true;
    }
    site.world.spots(file, site.state.cwd()).iter().all(|spot| match spot {
        Spot::Path(path) => site.world.zone(path) == Zone::Temporary || losses::is_product(site.world, path),
        Spot::Contents(_) | Spot::Unknown(..) => false,
    })
}

/// Whether the command for the server, or one on the input, empties a database; a key of that name is only a key.
fn keys(call: &Call, words: &[&str]) -> bool {
    let flushes = |words: &[&str]| {
        let plain: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        match plain.as_slice() {
            ["flushall" | "flushdb", ..] | ["del" | "unlink", "*"] => true,
            ["shutdown", "nosave", ..] => true,
            ["eval", code @ ..] => code.iter().any(|word| word.contains("flushall") || word.contains("flushdb")),
            _ => false,
        }
    };
    let command: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let piped = match &call.stdin {
        Stream::Known(text) => text.lines().any(|line| flushes(&line.split_whitespace().collect::<Vec<_>>())),
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
    let written = format!("{code}\n{piped}");
    let code = Skeleton::of(&written, Language::JavaScript).code;
    let code: String = code.into_iter().filter(|letter| !letter.is_whitespace()).collect();
    let calls = [".dropDatabase(", ".drop(", ".deleteMany({})", ".deleteMany()", ".remove({})", ".dropCollection("];
    // The name of the command may stand in quotes: `runCommand({"dropDatabase": 1})`.
    let asks = code.contains("Command({");
    let plain: String =
        written.chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\'')).collect();
    calls.iter().any(|call| code.contains(call))
        || asks && ["Command({dropDatabase:", "Command({drop:"].iter().any(|command| plain.contains(command))
}
