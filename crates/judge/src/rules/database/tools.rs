//! Tools of databases and of frameworks whose command says by its first words alone that tables are lost.

use crate::rules::verbs::{VerbLine, held};

const DROPS: &str = "it drops a database or every table";
const RESETS: &str = "it resets a database";
const EMPTIES: &str = "it empties a database";
const BACK: &str = "it takes back every migration";

/// Tools for which a test is no different.
pub(super) const TOOLS: &[VerbLine] = &[
    held(&["pg_dropcluster", "pg_resetwal"], "", "it destroys a cluster of databases").without(&["-n", "--dry-run"]),
    held(&["influx"], "bucket|org delete", DROPS),
    held(&["influx"], "delete", EMPTIES).without(&["-p", "--predicate"]),
    held(&["neo4j-admin"], "database delete", DROPS),
    held(&["atlas"], "schema clean", DROPS),
    held(&["wp"], "db reset|drop|clean", DROPS),
    held(&["wp"], "site empty|delete", EMPTIES),
    held(&["drush"], "sql:drop|sql-drop|site:install|site-install|si", DROPS),
];

/// Migrations and tasks, which a database for tests may lose.
pub(super) const TASKS: &[VerbLine] = &[
    held(&["flask"], "db downgrade base", BACK),
    held(&["manage.py", "django-admin"], "flush|reset_db", EMPTIES),
    held(&["manage.py", "django-admin"], "migrate * zero", BACK),
    held(&["console"], "doctrine:database:drop|doctrine:schema:drop|d:d:d|d:s:d", DROPS).with(&["--force", "-f"]),
    held(&["console"], "doctrine:mongodb:schema:drop", DROPS),
    held(&["console"], "doctrine:fixtures:load|d:f:l", EMPTIES).without(&["--append", "--dump-sql"]),
    held(&["console"], "doctrine:migrations:migrate first", BACK),
    held(&["ace"], "migration:fresh|migration:reset|migration:refresh|db:wipe|db:truncate", DROPS),
    held(&["typeorm-ts-node-commonjs", "typeorm-ts-node-esm", "typeorm-extension"], "schema:drop|db:drop", DROPS),
    held(&["drizzle-kit"], "push|push:*", RESETS).with(&["--force"]),
    held(&["mikro-orm", "mikro-orm-esm"], "schema:drop", DROPS).with(&["--run", "-r"]),
    held(&["mikro-orm", "mikro-orm-esm"], "schema:fresh|migration:fresh", DROPS),
    held(&["payload"], "migrate:fresh|migrate:reset|migrate:refresh", DROPS),
    held(&["sea-orm-cli"], "migrate fresh|reset|refresh", DROPS),
    held(&["loco"], "db reset|drop|truncate", DROPS),
    held(&["hanami"], "db drop|clean", DROPS),
    held(&["mix"], "ecto.rollback", BACK).with(&["--all"]),
    held(&["migrate"], "drop", DROPS),
    held(&["migrate"], "down", BACK).with(&["-all", "--all"]),
    held(&["goose"], "reset", BACK),
    held(&["goose"], "* * reset", BACK),
    held(&["goose"], "down-to 0", BACK),
    held(&["goose"], "* * down-to 0", BACK),
    held(&["dotnet"], "ef database update 0", BACK),
    held(&["dotnet-ef"], "database update 0", BACK),
];

#[cfg(test)]
mod tests {
    #[test]
    fn each_line_of_the_tables_holds_what_it_is_about_and_nothing_beside_it() {
        crate::rules::verbs::check_each_line(super::TOOLS, "database");
        crate::rules::verbs::check_each_line(super::TASKS, "database");
    }
}
