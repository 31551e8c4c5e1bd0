//! The table of key formats: who gives them out, how they begin, what follows. Formats are facts from the providers'
//! documentation; a new one is a line here and a line in the corpus of the tests.

use crate::shape::Letters::{Alnum, AnyHex, Base64, Digits, Dotted, Hex, Lower, Token, Upper, Url, Uuid, Word};
use crate::shape::Piece::{Run, Text};
use crate::shape::Shape;

/// A run without an end of its own.
const OPEN: usize = usize::MAX;

const fn shape(kind: &'static str, start: &'static str, rest: &'static [crate::shape::Piece]) -> Shape {
    Shape { kind, start, rest }
}

/// All formats, in the order of their first bytes.
pub const SHAPES: &[Shape] = &[
    shape("asana", "1/", &[Run(Digits, 14, 18), Text(":"), Run(Hex, 32, 32)]),
    shape("google", "1//0", &[Run(Url, 60, OPEN)]),
    shape("clickhouse", "4b1d", &[Run(Alnum, 38, 38)]),
    shape("aws", "ABIA", &[Run(Upper, 16, 16)]),
    shape("aws-bedrock", "ABSK", &[Run(Base64, 100, OPEN)]),
    shape("aws", "ACCA", &[Run(Upper, 16, 16)]),
    shape("age", "AGE-SECRET-KEY-1", &[Run(Upper, 58, 58)]),
    shape("google", "AIza", &[Run(Url, 35, 35)]),
    shape("artifactory", "AKC", &[Run(Alnum, 40, 90)]),
    shape("aws", "AKIA", &[Run(Upper, 16, 16)]),
    shape("tencent", "AKID", &[Run(Alnum, 32, 32)]),
    shape("octopus", "API-", &[Run(Upper, 25, 30)]),
    shape("yandex", "AQVN", &[Run(Url, 35, 38)]),
    shape("aws", "ASIA", &[Run(Upper, 16, 16)]),
    shape("atlassian", "ATATT3", &[Run(Token, 60, OPEN)]),
    shape("bitbucket", "ATBB", &[Run(Alnum, 28, 40)]),
    shape("atlassian", "ATCTT3", &[Run(Token, 60, OPEN)]),
    shape("atlassian", "BBDC-", &[Run(Base64, 40, 60)]),
    shape("circleci", "CCIPAT_", &[Run(Alnum, 20, 30), Text("_"), Run(Hex, 40, 40)]),
    shape("circleci", "CCIPRJ_", &[Run(Alnum, 20, 30), Text("_"), Run(Hex, 40, 40)]),
    shape("contentful", "CFPAT-", &[Run(Url, 43, 43)]),
    shape("clojars", "CLOJARS_", &[Run(Lower, 60, 60)]),
    shape("square", "EAAA", &[Run(Url, 60, 60)]),
    shape("facebook", "EAAB", &[Run(Alnum, 100, OPEN)]),
    shape("facebook", "EAACEdEose0cBA", &[Run(Alnum, 20, OPEN)]),
    shape("facebook", "EAAG", &[Run(Alnum, 100, OPEN)]),
    shape("easypost", "EZAK", &[Run(Alnum, 54, 54)]),
    shape("easypost", "EZTK", &[Run(Alnum, 54, 54)]),
    shape("flutterwave", "FLWSECK-", &[Run(Alnum, 12, 40)]),
    shape("flutterwave", "FLWSECK_TEST-", &[Run(Alnum, 12, 40)]),
    shape("google", "GOCSPX-", &[Run(Url, 28, 28)]),
    shape("gitlab", "GR1348941", &[Run(Url, 20, 20)]),
    shape("heroku", "HRKU-", &[Run(Url, 36, 70)]),
    shape("alibaba", "LTAI", &[Run(Alnum, 12, 20)]),
    shape("newrelic", "NRAA-", &[Run(Hex, 27, 27)]),
    shape("newrelic", "NRAK-", &[Run(Upper, 27, 27)]),
    shape("newrelic", "NRII-", &[Run(Url, 32, 32)]),
    shape("newrelic", "NRJS-", &[Run(Hex, 19, 19)]),
    shape("postman", "PMAK-", &[Run(Hex, 24, 24), Text("-"), Run(Hex, 34, 34)]),
    shape("sendgrid", "SG.", &[Run(Url, 22, 22), Text("."), Run(Url, 43, 43)]),
    shape("twilio", "SK", &[Run(Hex, 32, 32)]),
    shape("plaid", "access-development-", &[Run(Uuid, 36, 36)]),
    shape("plaid", "access-production-", &[Run(Uuid, 36, 36)]),
    shape("plaid", "access-sandbox-", &[Run(Uuid, 36, 36)]),
    shape("paypal", "access_token$production$", &[Run(Lower, 16, 16), Text("$"), Run(Hex, 32, 32)]),
    shape("paypal", "access_token$sandbox$", &[Run(Lower, 16, 16), Text("$"), Run(Hex, 32, 32)]),
    shape("adafruit", "aio_", &[Run(Alnum, 28, 28)]),
    shape("modal", "ak-", &[Run(Alnum, 22, 22)]),
    shape("launchdarkly", "api-", &[Run(Uuid, 36, 36)]),
    shape("huggingface", "api_org_", &[Run(Alnum, 34, 34)]),
    shape("apify", "apify_api_", &[Run(Alnum, 30, 50)]),
    shape("modal", "as-", &[Run(Alnum, 22, 22)]),
    shape("aws-bedrock", "bedrock-api-key-", &[Run(Base64, 40, OPEN)]),
    shape("buildkite", "bkct_", &[Run(Url, 40, OPEN)]),
    shape("buildkite", "bkua_", &[Run(Hex, 40, 40)]),
    shape("crates-io", "cio", &[Run(Alnum, 32, 32)]),
    shape("artifactory", "cmVmdGtu", &[Run(Alnum, 40, 90)]),
    shape("cerebras", "csk-", &[Run(Lower, 40, 60)]),
    shape("coreweave", "cw-secret-", &[Run(Alnum, 20, OPEN)]),
    shape("databricks", "dapi", &[Run(Hex, 32, 32)]),
    shape("docker", "dckr_oat_", &[Run(Url, 20, 40)]),
    shape("docker", "dckr_pat_", &[Run(Url, 27, 27)]),
    shape("digitalocean", "doo_v1_", &[Run(Hex, 64, 64)]),
    shape("digitalocean", "dop_v1_", &[Run(Hex, 64, 64)]),
    shape("digitalocean", "dor_v1_", &[Run(Hex, 64, 64)]),
    shape("databricks", "dose", &[Run(Hex, 32, 32)]),
    shape("doppler", "dp.audit.", &[Run(Alnum, 40, 44)]),
    shape("doppler", "dp.ct.", &[Run(Alnum, 40, 44)]),
    shape("doppler", "dp.pt.", &[Run(Alnum, 40, 44)]),
    shape("doppler", "dp.sa.", &[Run(Alnum, 40, 44)]),
    shape("doppler", "dp.scim.", &[Run(Alnum, 40, 44)]),
    shape("doppler", "dp.st.", &[Run(Token, 40, 60)]),
    shape("dynatrace", "dt0c01.", &[Run(Upper, 24, 24), Text("."), Run(Upper, 64, 64)]),
    shape("dynatrace", "dt0s01.", &[Run(Upper, 8, 24), Text("."), Run(Upper, 64, 64)]),
    shape("duffel", "duffel_live_", &[Run(Url, 43, 43)]),
    shape("duffel", "duffel_test_", &[Run(Url, 43, 43)]),
    shape("e2b", "e2b_", &[Run(Hex, 40, 40)]),
    shape("elastic", "essu_", &[Run(Base64, 40, OPEN)]),
    shape("grafana", "eyJrIjoi", &[Run(Base64, 60, OPEN)]),
    shape("firecrawl", "fc-", &[Run(Hex, 32, 32)]),
    shape("figma", "figd_", &[Run(Url, 38, 50)]),
    shape("figma", "figo_", &[Run(Url, 38, 50)]),
    shape("frameio", "fio-u-", &[Run(Url, 64, 64)]),
    shape("fly", "fm1r_", &[Run(Base64, 60, OPEN)]),
    shape("fly", "fm2_", &[Run(Base64, 60, OPEN)]),
    shape("fly", "fo1_", &[Run(Url, 40, 50)]),
    shape("fireworks", "fw_", &[Run(Alnum, 22, 40)]),
    shape("github", "gho_", &[Run(Alnum, 36, OPEN)]),
    shape("github", "ghp_", &[Run(Alnum, 36, OPEN)]),
    shape("github", "ghr_", &[Run(Alnum, 36, OPEN)]),
    shape("github", "ghs_", &[Run(Alnum, 36, OPEN)]),
    shape("github", "ghu_", &[Run(Alnum, 36, OPEN)]),
    shape("github", "github_pat_", &[Run(Word, 22, OPEN)]),
    shape("gitlab", "glagent-", &[Run(Url, 40, OPEN)]),
    shape("grafana", "glc_", &[Run(Base64, 32, OPEN)]),
    shape("gitlab", "glcbt-", &[Run(Url, 20, OPEN)]),
    shape("gitlab", "gldt-", &[Run(Url, 20, OPEN)]),
    shape("gitlab", "glffct-", &[Run(Url, 20, OPEN)]),
    shape("gitlab", "glft-", &[Run(Url, 20, OPEN)]),
    shape("gitlab", "glimt-", &[Run(Url, 25, 25)]),
    shape("gitlab", "gloas-", &[Run(Hex, 64, 64)]),
    shape("gitlab", "glpat-", &[Run(Dotted, 20, OPEN)]),
    shape("gitlab", "glptt-", &[Run(Hex, 40, 40)]),
    shape("gitlab", "glrt-", &[Run(Dotted, 20, OPEN)]),
    shape("grafana", "glsa_", &[Run(Alnum, 32, 32), Text("_"), Run(Hex, 8, 8)]),
    shape("gitlab", "glsoat-", &[Run(Url, 20, OPEN)]),
    shape("groq", "gsk_", &[Run(Alnum, 52, 52)]),
    shape("huggingface", "hf_", &[Run(Alnum, 30, 40)]),
    shape("vault", "hvb.", &[Run(Url, 24, OPEN)]),
    shape("vault", "hvr.", &[Run(Url, 24, OPEN)]),
    shape("vault", "hvs.", &[Run(Url, 24, OPEN)]),
    shape("jina", "jina_", &[Run(Url, 50, OPEN)]),
    shape("mailgun", "key-", &[Run(Hex, 32, 32)]),
    shape("cursor", "key_", &[Run(Hex, 64, 64)]),
    shape("linear", "lin_api_", &[Run(Alnum, 40, 40)]),
    shape("linear", "lin_oauth_", &[Run(Hex, 64, 64)]),
    shape("lob", "live_", &[Run(Hex, 35, 35)]),
    shape("langsmith", "lsv2_pt_", &[Run(Hex, 32, 32), Text("_"), Run(Hex, 10, 10)]),
    shape("langsmith", "lsv2_sk_", &[Run(Hex, 32, 32), Text("_"), Run(Hex, 10, 10)]),
    shape("mongodb", "mdb_sa_sk_", &[Run(Url, 30, OPEN)]),
    shape("neon", "napi_", &[Run(Alnum, 60, 70)]),
    shape("netlify", "nfc_", &[Run(Alnum, 36, 36)]),
    shape("netlify", "nfo_", &[Run(Alnum, 36, 36)]),
    shape("netlify", "nfp_", &[Run(Alnum, 36, 36)]),
    shape("npm", "npm_", &[Run(Alnum, 36, 36)]),
    shape("notion", "ntn_", &[Run(Alnum, 40, 50)]),
    shape("nvidia", "nvapi-", &[Run(Url, 60, 70)]),
    shape("1password", "ops_eyJ", &[Run(Base64, 100, OPEN)]),
    shape("nuget", "oy2", &[Run(Lower, 43, 43)]),
    shape("voyage", "pa-", &[Run(Url, 43, 43)]),
    shape("airtable", "pat", &[Run(Alnum, 14, 14), Text("."), Run(AnyHex, 64, 64)]),
    shape("hubspot", "pat-eu1-", &[Run(Uuid, 36, 36)]),
    shape("hubspot", "pat-na1-", &[Run(Uuid, 36, 36)]),
    shape("harness", "pat.", &[Run(Url, 22, 22), Text("."), Run(Hex, 24, 24), Text("."), Run(Alnum, 20, 20)]),
    shape("pinecone", "pcsk_", &[Run(Word, 50, 80)]),
    shape("posthog", "phx_", &[Run(Alnum, 40, OPEN)]),
    shape("prefect", "pnb_", &[Run(Alnum, 36, 36)]),
    shape("prefect", "pnu_", &[Run(Alnum, 36, 36)]),
    shape("polar", "polar_oat_", &[Run(Alnum, 40, OPEN)]),
    shape("polar", "polar_pat_", &[Run(Alnum, 40, OPEN)]),
    shape("perplexity", "pplx-", &[Run(Alnum, 48, 48)]),
    shape("planetscale", "pscale_oauth_", &[Run(Dotted, 32, OPEN)]),
    shape("planetscale", "pscale_pw_", &[Run(Dotted, 32, OPEN)]),
    shape("planetscale", "pscale_tkn_", &[Run(Dotted, 32, OPEN)]),
    shape("mailgun", "pubkey-", &[Run(Hex, 32, 32)]),
    shape("pulumi", "pul-", &[Run(Hex, 40, 40)]),
    shape("pypi", "pypi-AgEIcHlwaS5vcmc", &[Run(Url, 50, OPEN)]),
    shape("pypi", "pypi-AgENdGVzdC5weXBpLm9yZw", &[Run(Url, 50, OPEN)]),
    shape("replicate", "r8_", &[Run(Alnum, 37, 37)]),
    shape("readme", "rdme_", &[Run(Lower, 70, 70)]),
    shape("resend", "re_", &[Run(Alnum, 8, 8), Text("_"), Run(Alnum, 24, 24)]),
    shape("stripe", "rk_live_", &[Run(Alnum, 16, OPEN)]),
    shape("stripe", "rk_test_", &[Run(Alnum, 16, OPEN)]),
    shape("render", "rnd_", &[Run(Alnum, 28, 40)]),
    shape("rubygems", "rubygems_", &[Run(Hex, 48, 48)]),
    shape("razorpay", "rzp_live_", &[Run(Alnum, 14, 24)]),
    shape("intra42", "s-s4t2af-", &[Run(Hex, 64, 64)]),
    shape("intra42", "s-s4t2ud-", &[Run(Hex, 64, 64)]),
    shape("supabase", "sb_secret_", &[Run(Url, 30, OPEN)]),
    shape("supabase", "sbp_", &[Run(Hex, 40, 40)]),
    shape("launchdarkly", "sdk-", &[Run(Uuid, 36, 36)]),
    shape("stytch", "secret-live-", &[Run(Token, 36, 36)]),
    shape("stytch", "secret-test-", &[Run(Token, 36, 36)]),
    shape("notion", "secret_", &[Run(Alnum, 43, 43)]),
    shape("segment", "sgp_", &[Run(Alnum, 64, 64)]),
    shape("sourcegraph", "sgp_", &[Run(Hex, 40, 40)]),
    shape("openshift", "sha256~", &[Run(Url, 43, 43)]),
    shape("shippo", "shippo_live_", &[Run(Hex, 40, 40)]),
    shape("shippo", "shippo_test_", &[Run(Hex, 40, 40)]),
    shape("shopify", "shpat_", &[Run(AnyHex, 32, 32)]),
    shape("shopify", "shpca_", &[Run(AnyHex, 32, 32)]),
    shape("shopify", "shppa_", &[Run(AnyHex, 32, 32)]),
    shape("shopify", "shpss_", &[Run(AnyHex, 32, 32)]),
    shape("inngest", "signkey-prod-", &[Run(Hex, 32, OPEN)]),
    shape("inngest", "signkey-test-", &[Run(Hex, 32, OPEN)]),
    shape("openai", "sk-", &[Run(Alnum, 32, 64)]),
    shape("openai", "sk-None-", &[Run(Url, 40, OPEN)]),
    shape("openai", "sk-admin-", &[Run(Url, 40, OPEN)]),
    shape("anthropic", "sk-ant-", &[Run(Lower, 2, 10), Text("-"), Run(Url, 20, OPEN)]),
    shape("langfuse", "sk-lf-", &[Run(Uuid, 36, 36)]),
    shape("openrouter", "sk-or-v1-", &[Run(Hex, 64, 64)]),
    shape("openai", "sk-proj-", &[Run(Url, 40, OPEN)]),
    shape("openai", "sk-svcacct-", &[Run(Url, 40, OPEN)]),
    shape("mapbox", "sk.eyJ", &[Run(Dotted, 40, OPEN)]),
    shape("elevenlabs", "sk_", &[Run(Hex, 48, 48)]),
    shape("workos", "sk_a", &[Run(Base64, 60, OPEN)]),
    shape("stripe", "sk_live_", &[Run(Alnum, 16, OPEN)]),
    shape("stripe", "sk_test_", &[Run(Alnum, 16, OPEN)]),
    shape("dropbox", "sl.", &[Run(Url, 120, OPEN)]),
    shape("sourcegraph", "slk_", &[Run(Hex, 64, 64)]),
    shape("sentry", "sntrys_eyJ", &[Run(Base64, 60, OPEN)]),
    shape("sentry", "sntryu_", &[Run(Hex, 64, 64)]),
    shape("square", "sq0atp-", &[Run(Url, 22, 22)]),
    shape("square", "sq0csp-", &[Run(Url, 43, 43)]),
    shape("sonarqube", "sqa_", &[Run(Hex, 40, 40)]),
    shape("sonarqube", "sqp_", &[Run(Hex, 40, 40)]),
    shape("sonarqube", "squ_", &[Run(Hex, 40, 40)]),
    shape("yandex", "t1.", &[Run(Url, 30, OPEN), Text("."), Run(Url, 80, OPEN)]),
    shape("typeform", "tfp_", &[Run(Dotted, 40, 60)]),
    shape("scalingo", "tk-us-", &[Run(Url, 48, 48)]),
    shape("tailscale", "tskey-api-", &[Run(Url, 20, OPEN)]),
    shape("tailscale", "tskey-auth-", &[Run(Url, 20, OPEN)]),
    shape("tailscale", "tskey-client-", &[Run(Url, 20, OPEN)]),
    shape("tailscale", "tskey-scim-", &[Run(Url, 20, OPEN)]),
    shape("tavily", "tvly-", &[Run(Url, 30, OPEN)]),
    shape("cloudflare", "v1.0-", &[Run(Hex, 24, 24), Text("-"), Run(Hex, 146, 146)]),
    shape("vercel", "vck_", &[Run(Alnum, 40, 60)]),
    shape("vercel", "vcp_", &[Run(Alnum, 40, 60)]),
    shape("vercel", "vercel_blob_rw_", &[Run(Word, 30, OPEN)]),
    shape("stripe", "whsec_", &[Run(Base64, 32, OPEN)]),
    shape("xai", "xai-", &[Run(Alnum, 80, 80)]),
    shape("slack", "xapp-", &[Run(Url, 40, OPEN)]),
    shape("brevo", "xkeysib-", &[Run(Hex, 64, 64), Text("-"), Run(Alnum, 16, 16)]),
    shape("slack", "xoxa-", &[Run(Url, 20, OPEN)]),
    shape("slack", "xoxb-", &[Run(Url, 20, OPEN)]),
    shape("slack", "xoxc-", &[Run(Url, 20, OPEN)]),
    shape("slack", "xoxd-", &[Run(Token, 20, OPEN)]),
    shape("slack", "xoxe-", &[Run(Url, 40, OPEN)]),
    shape("slack", "xoxe.xoxb-", &[Run(Url, 40, OPEN)]),
    shape("slack", "xoxe.xoxp-", &[Run(Url, 40, OPEN)]),
    shape("slack", "xoxp-", &[Run(Url, 20, OPEN)]),
    shape("slack", "xoxr-", &[Run(Url, 20, OPEN)]),
    shape("slack", "xoxs-", &[Run(Url, 20, OPEN)]),
    shape("brevo", "xsmtpsib-", &[Run(Hex, 64, 64), Text("-"), Run(Alnum, 16, 16)]),
    shape("yandex", "y0_", &[Run(Url, 50, 60)]),
    shape("google", "ya29.", &[Run(Url, 40, OPEN)]),
    shape("zuplo", "zpka_", &[Run(Alnum, 30, 60)]),
];

/// The formats that begin with this byte.
pub(crate) fn starting_with(byte: u8) -> &'static [Shape] {
    let range = RANGES[byte as usize];
    SHAPES.get(range.0..range.1).unwrap_or_default()
}

/// Whether a format begins with this byte.
pub(crate) const fn has_first(byte: u8) -> bool {
    RANGES[byte as usize].1 > 0
}

/// Whether a key may begin with these three bytes; now and then it says so of others too.
#[inline]
pub(crate) fn is_beginning(bytes: [u8; 3]) -> bool {
    has(&BEGINNINGS, bytes)
}

/// A beginning so long means a key even in the middle of a word.
pub(crate) const UNMISTAKABLE: usize = 6;

/// The same within a word.
#[inline]
pub(crate) fn is_unmistakable_beginning(bytes: [u8; 3]) -> bool {
    has(&UNMISTAKABLE_BEGINNINGS, bytes)
}

/// One bit for each of the places that three bytes may be put to.
type Beginnings = [u64; 1_024];

static BEGINNINGS: Beginnings = beginnings(2);
static UNMISTAKABLE_BEGINNINGS: Beginnings = beginnings(UNMISTAKABLE);

#[inline]
const fn has(beginnings: &Beginnings, bytes: [u8; 3]) -> bool {
    let place = place(bytes);
    beginnings[(place >> 6) as usize] >> (place & 63) & 1 == 1
}

#[inline]
const fn place([first, second, third]: [u8; 3]) -> u16 {
    (((first as u32) << 10) ^ ((second as u32) << 5) ^ (third as u32)) as u16
}

const fn beginnings(length_min: usize) -> Beginnings {
    let mut beginnings = [0; 1_024];
    let mut at = 0;
    while at < SHAPES.len() {
        let start = SHAPES[at].start.as_bytes();
        // A beginning of two bytes goes on with any third.
        let (mut third, last) = if start.len() > 2 { (start[2], start[2]) } else { (0, 255) };
        while start.len() >= length_min {
            let place = place([start[0], start[1], third]);
            beginnings[(place >> 6) as usize] |= 1 << (place & 63);
            if third == last {
                break;
            }
            third += 1;
        }
        at += 1;
    }
    beginnings
}

/// For each byte the part of the table that begins with it, counted once when the program is compiled.
const RANGES: [(usize, usize); 256] = ranges();

const fn ranges() -> [(usize, usize); 256] {
    let mut ranges = [(0, 0); 256];
    let mut at = 0;
    while at < SHAPES.len() {
        let first = SHAPES[at].start.as_bytes()[0] as usize;
        if ranges[first].1 == 0 {
            ranges[first].0 = at;
        }
        ranges[first].1 = at + 1;
        at += 1;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_first_bytes_and_no_line_is_there_twice() {
        let firsts = || SHAPES.iter().map(|shape| shape.start.as_bytes()[0]);
        assert!(firsts().zip(firsts().skip(1)).all(|(one, next)| one <= next));
        for (at, shape) in SHAPES.iter().enumerate() {
            assert!(!SHAPES[at + 1..].contains(shape), "{shape:?}");
            assert!(starting_with(shape.start.as_bytes()[0]).contains(shape), "{shape:?}");
        }
    }
}
