//! What must stay readable.

use crate::redactor;

#[test]
fn secret_1_what_only_looks_like_a_secret_stays() {
    let redactor = redactor();
    for text in [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "\"integrity\": \"sha512-Q2h5ZTJmbXY1c2ZkNnM4ZDdmNnNkNXM2ZDVmNnM1ZDZmNXM2ZDVmNnM1ZA==\"",
        "checksum = \"0c4b4d0bd25bd0b74681c0ad21497610ce1b7c91b1022cd21c80c6fbdd9476b0\"",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "stripe.api_key = \"sk_test_4eC39HqLyjWDarjtT1zdp7dc\"",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password: string;",
        "token = self.tokens[0]",
        "let token = lexer.next_token();",
        "api_key = config.get(\"api_key\")",
        "API_KEY=${API_KEY}",
        "export TOKEN=$(cat token.txt)",
        "PASSWORD=changeme123",
        "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "Authorization: Bearer <your-token>",
        "Authorization: Bearer $TOKEN",
        "\"input_tokens\": 12345678, \"max_tokens\": 4096",
        "key: \"primary\"",
        "primary_key=user_id_and_name_1",
        "if password == \"hunter2hunter2\":",
        "https://user@example.org/a.git",
        "http://localhost:8080/path@2",
        "npm install left-pad@1.3.0",
        "sk-button sk-learn sk-toggleable__content",
        "pat-catalogue as-is key-value api-reference",
        "the secret: be kind",
        "nextToken=abc",
        "def test_password_is_checked_twice_for_user_1():",
        "src/auth/token_2_refresh.rs:12:34",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "curl -u root http://x",
        "docker run -u 1000:1000 image",
        "time 12:34:56 and ratio 3:AA",
        "rust-1.95.0-x86_64-unknown-linux-gnu",
        "s3://bucket/AKIA/readme",
    ] {
        let redacted = redactor.redact(text);
        assert_eq!(redacted, text);
    }
}
