//! Tools of databases and of frameworks whose command says by its first words alone that tables are lost.

use crate::rules::verbs::VerbLine;

const DROPS: &str = "it drops a database or every table";
const RESETS: &str = "it resets a database";
const EMPTIES: &str = "it empties a database";
const BACK: &str = "it takes back every migration";

/// Tools for which a test is no different.
pub(super) const TOOLS: &[VerbLine] = &[
    ("pg_dropcluster pg_resetwal", "", "!-n --dry-run", "it destroys a cluster of databases"),
    ("influx", "bucket|org delete", "", DROPS),
    ("influx", "delete", "!-p --predicate", EMPTIES),
    ("neo4j-admin", "database delete", "", DROPS),
    ("atlas", "schema clean", "", DROPS),
    ("wp", "db reset|drop|clean", "", DROPS),
    ("wp", "site empty|delete", "", EMPTIES),
    ("drush", "sql:drop|sql-drop|site:install|site-install|si", "", DROPS),
];

/// Migrations and tasks, which a database for tests may lose.
pub(super) const TASKS: &[VerbLine] = &[
    ("flask", "db downgrade base", "", BACK),
    ("manage.py django-admin", "flush|reset_db", "", EMPTIES),
    ("manage.py django-admin", "migrate * zero", "", BACK),
    ("console", "doctrine:database:drop|doctrine:schema:drop|d:d:d|d:s:d", "--force -f", DROPS),
    ("console", "doctrine:mongodb:schema:drop", "", DROPS),
    ("console", "doctrine:fixtures:load|d:f:l", "!--append --dump-sql", EMPTIES),
    ("console", "doctrine:migrations:migrate first", "", BACK),
    ("ace", "migration:fresh|migration:reset|migration:refresh|db:wipe|db:truncate", "", DROPS),
    ("typeorm-ts-node-commonjs typeorm-ts-node-esm typeorm-extension", "schema:drop|db:drop", "", DROPS),
    ("drizzle-kit", "push|push:*", "--force", RESETS),
    ("mikro-orm mikro-orm-esm", "schema:drop", "--run -r", DROPS),
    ("mikro-orm mikro-orm-esm", "schema:fresh|migration:fresh", "", DROPS),
    ("payload", "migrate:fresh|migrate:reset|migrate:refresh", "", DROPS),
    ("sea-orm-cli", "migrate fresh|reset|refresh", "", DROPS),
    ("loco", "db reset|drop|truncate", "", DROPS),
    ("hanami", "db drop|clean", "", DROPS),
    ("mix", "ecto.rollback", "--all", BACK),
    ("migrate", "drop", "", DROPS),
    ("migrate", "down", "-all --all", BACK),
    ("goose", "reset", "", BACK),
    ("goose", "* * reset", "", BACK),
    ("goose", "down-to 0", "", BACK),
    ("goose", "* * down-to 0", "", BACK),
    ("dotnet", "ef database update 0", "", BACK),
    ("dotnet-ef", "database update 0", "", BACK),
];
