//! Keys of every format in the table, and of those that have no fixed beginning, planted where agents meet them.

use crate::redactor;
use tripwire_secrets::{Letters, SHAPES};
use tripwire_testing::keys::{RandomLetters, key_of};

/// Keys without a fixed beginning: known by what stands around them.
fn framed(random: &mut RandomLetters) -> Vec<(String, String)> {
    let mut framed = Vec::new();
    let names = [
        "DATADOG_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HEROKU_API_KEY",
        "CLOUDFLARE_API_TOKEN",
        "AZURE_CLIENT_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_ROOT_PASSWORD",
        "JWT_SECRET",
        "DJANGO_SECRET_KEY",
        "ALGOLIA_ADMIN_API_KEY",
        "TRAVIS_TOKEN",
        "CODECOV_TOKEN",
        "SNYK_TOKEN",
        "NGROK_AUTHTOKEN",
        "TWITTER_CLIENT_SECRET",
        "LINODE_TOKEN",
        "HCLOUD_TOKEN",
        "WANDB_API_KEY",
        "COHERE_API_KEY",
        "MISTRAL_API_KEY",
        "TOGETHER_API_KEY",
        "DEEPGRAM_API_KEY",
        "ASSEMBLYAI_API_KEY",
        "OKTA_CLIENT_SECRET",
        "AUTH0_CLIENT_SECRET",
        "ZENDESK_API_TOKEN",
        "JIRA_API_TOKEN",
        "SONAR_TOKEN",
        "FASTLY_API_TOKEN",
    ];
    for name in names {
        let value = random.letters(Letters::Alnum, 40);
        framed.push((format!("{name}={value}"), value.clone()));
        framed.push((format!("{{\"{}\": \"{value}\"}}", name.to_lowercase()), value));
    }
    let value = random.letters(Letters::Alnum, 32);
    for frame in [
        "curl -H 'Authorization: Bearer {}' http://x",
        "curl -H \"Authorization: Basic {}\" http://x",
        "Authorization: token {}",
        "mysql --password {} db",
        "gh auth login --token {}",
        "curl -u me:{} http://x",
        "postgres://app:{}@db:5432/app",
        "redis://:{}@cache:6379",
        "git clone https://oauth2:{}@example.org/a.git",
        "password: '{}'",
        "client_secret = \"{}\"",
        "AccountKey={};EndpointSuffix=core",
        "https://hooks.slack.com/services/{}",
        "https://discord.com/api/webhooks/1/{}",
    ] {
        framed.push((frame.replace("{}", &value), value.clone()));
    }
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{value}\n{value}\n-----END RSA PRIVATE KEY-----");
    framed.push((format!("cat id_rsa\n{pem}\n$"), value.clone()));
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{value}");
    framed.push((format!("cookie jwt {jwt} set"), jwt));
    let bot = format!("123456789:AA{}", random.letters(Letters::Alnum, 33));
    framed.push((format!("https://api.telegram.org/bot{bot}/getMe"), bot));
    framed
}

/// Where an agent meets a key.
const PLACES: [&str; 8] = [
    "deploy-it --key {} now",
    "export THING={}",
    "{\"value\": \"{}\"}",
    "used {}\n",
    "error: `{}` was refused (401)",
    "https://example.org/?q={}&x=1",
    "I will use {}.",
    "a,{},b",
];

#[test]
fn secret_1_no_key_of_any_known_format_is_left() {
    let redactor = redactor();
    let mut random = RandomLetters::new(1);
    let mut planted = 0;
    for shape in SHAPES {
        let key = key_of(shape, &mut random);
        for place in PLACES {
            let text = place.replace("{}", &key);
            let redacted = redactor.redact(&text);
            assert!(!redacted.contains(&key), "{} in {text}", shape.kind);
            assert!(redacted.contains("secret:"), "{text}");
        }
        planted += 1;
    }
    for (text, value) in framed(&mut random) {
        let redacted = redactor.redact(&text);
        assert!(!redacted.contains(&value), "{text}\n{redacted}");
        planted += 1;
    }
    assert!(planted >= 300, "{planted}");
}

#[test]
fn secret_2_the_same_secret_has_the_same_placeholder_and_another_has_another() {
    let redactor = redactor();
    let (one, other) = (format!("ghp_{}", "a1B2c3D4e5f6".repeat(3)), format!("ghp_{}", "a1B2c3D4e5f7".repeat(3)));
    let first = redactor.redact(&one).into_owned();
    assert_eq!(redactor.redact(&one), first);
    assert_eq!(redactor.redact(&format!("x {one} y")), format!("x {first} y"), "what stands around it does not matter");
    assert_ne!(redactor.redact(&other), first);
    let elsewhere = tripwire_secrets::Redactor::new(tripwire_secrets::RedactionKey::new([8; 32]));
    assert_ne!(elsewhere.redact(&one), first, "another key");
    assert!(first.starts_with("\u{2039}secret:github:") && tripwire_secrets::is_placeholder(&first), "{first}");
    assert_eq!(redactor.redact(&first), first, "a placeholder stays");
}
