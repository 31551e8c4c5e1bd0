//! Values from the environment and from files, and the way back.

use crate::redactor;
use tripwire_secrets::{KnownSecret, Vault, is_env_file, is_secret_name, of_env_file};

#[test]
fn a_variable_is_a_secret_by_its_name() {
    for name in
        ["API_KEY", "GITHUB_TOKEN", "db.password", "clientSecret", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AUTH"]
    {
        assert!(is_secret_name(name), "{name}");
    }
    for name in
        ["PATH", "MAX_TOKENS", "tokenizer", "PUBLIC_KEY", "nextPageToken", "SSH_ASKPASS", "KEYBOARD", "primary_key"]
    {
        assert!(!is_secret_name(name), "{name}");
    }
    assert!(KnownSecret::of_variable("API_KEY", "correcthorse").is_some());
    for value in ["short", "/run/secrets/key", "$OTHER", "1234567890", "your-key-here"] {
        assert!(KnownSecret::of_variable("API_KEY", value).is_none(), "{value}");
    }
}

#[test]
fn secret_1_the_folder_of_a_shell_is_no_secret_and_a_password_of_that_name_is() {
    for name in ["PWD", "OLDPWD"] {
        assert!(KnownSecret::of_variable(name, "/srv/r14-x9/ws2b").is_none(), "{name}");
    }
    assert!(KnownSecret::of_variable("DB_PWD", "/srv/r14-x9/ws2b").is_some());
    assert!(KnownSecret::of_variable("PWD", "x9Kd83mQpz71").is_some());
}

#[test]
fn a_file_of_variables_is_known_by_its_name() {
    for name in [".env", ".env.local", ".envrc", ".env.production"] {
        assert!(is_env_file(name), "{name}");
    }
    for name in [".env.example", ".env.sample", ".environment", "env", "src.env.rs"] {
        assert!(!is_env_file(name), "{name}");
    }
}

#[test]
fn a_file_of_variables_gives_its_secrets() {
    let text = "# DB_PASSWORD=commented-out-1\nexport DB_PASSWORD='correct horse'\nAPI_KEY=correcthorse # ours\nHOST=example\n\
        SESSION=\"q8Zt3LmX0pRb7Vny\"\nSORT_BY_PASS='two or three words'\nEMPTY=\nno line of it";
    let names: Vec<String> =
        of_env_file(text).into_iter().map(|secret| format!("{}={}", secret.name, secret.value)).collect();
    assert_eq!(names, ["DB_PASSWORD=correct horse", "API_KEY=correcthorse", "SESSION=q8Zt3LmX0pRb7Vny"]);
}

#[test]
fn secret_2_the_real_values_come_back_from_memory_only() {
    let redactor = redactor();
    let mut vault = Vault::default();
    let text = format!("push with ghp_{} and go", "a1B2c3D4e5f6".repeat(3));
    let redacted = redactor.redact_into(&text, &mut vault).into_owned();
    assert_eq!(vault.restore(&redacted).unwrap(), text);
    assert_eq!(vault.restore("nothing here").unwrap(), "nothing here");
    let lost = Vault::default().restore(&redacted).unwrap_err();
    assert!(lost.to_string().contains("secret:github:"), "{lost}");
    assert_eq!(format!("{vault:?}"), "Vault(1 values)", "no value is ever printed");
}
