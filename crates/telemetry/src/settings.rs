//! Where to export to: the standard variables of OpenTelemetry.

use std::fmt;
use std::time::Duration;
use tripwire_core::percent;

/// The variable that turns the export on.
pub const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const METRICS_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const DISABLED: &str = "OTEL_SDK_DISABLED";
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// The longest that one request may take, whatever the variable says.
const TIMEOUT_MAX: Duration = Duration::from_secs(10);
const TIMEOUT_USUAL: Duration = Duration::from_secs(5);
const INTERVAL_USUAL: Duration = Duration::from_secs(10);

/// Where to export to, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Where spans go.
    pub traces: Option<Endpoint>,
    /// Where metrics go.
    pub metrics: Option<Endpoint>,
    /// The name of the service, `tripwire` if nothing else is set.
    pub service: String,
    /// How long one request may take.
    pub timeout: Duration,
    /// How often metrics are sent.
    pub interval: Duration,
}

/// An address with the headers that open it, which are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub url: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.shown()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The address without a name and a password in it, and without its query.
    #[must_use]
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("http", &self.url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}/{path}")
    }
}

/// A variable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// Which.
    pub variable: &'static str,
    /// Why.
    pub problem: &'static str,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.variable, self.problem)
    }
}

impl TelemetrySettings {
    /// What the environment says; nothing where it names no receiver.
    ///
    /// # Errors
    /// When a variable has a value that cannot be used: then nothing is exported, and a person should know.
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, SettingsError> {
        let set = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        if !is_wanted(env) {
            return Ok(None);
        }
        if set(PROTOCOL).is_some_and(|protocol| protocol != "http/protobuf") {
            return Err(SettingsError { variable: PROTOCOL, problem: "may only be `http/protobuf` here" });
        }
        let headers = headers(&set(HEADERS).unwrap_or_default())?;
        let base = set(ENDPOINT);
        let endpoint = |variable: &'static str, path: &str| {
            let own = set(variable).map(|url| (variable, url));
            let found = own.or_else(|| Some((ENDPOINT, format!("{}{path}", base.as_deref()?.trim_end_matches('/')))));
            let Some((variable, url)) = found else { return Ok(None) };
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(SettingsError { variable, problem: "is not an address such as `http://127.0.0.1:4318`" });
            }
            Ok(Some(Endpoint { url, headers: headers.clone() }))
        };
        let millis = |name: &str| set(name).and_then(|text| text.parse().ok()).map(Duration::from_millis);
        Ok(Some(Self {
            traces: endpoint(TRACES_ENDPOINT, "/v1/traces")?,
            metrics: endpoint(METRICS_ENDPOINT, "/v1/metrics")?,
            service: set(SERVICE).unwrap_or_else(|| "tripwire".to_owned()),
            timeout: millis(TIMEOUT).unwrap_or(TIMEOUT_USUAL).clamp(Duration::from_millis(100), TIMEOUT_MAX),
            interval: millis(INTERVAL).unwrap_or(INTERVAL_USUAL).max(Duration::from_millis(200)),
        }))
    }
}

/// Whether the environment asks for an export at all.
fn is_wanted(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let named = [ENDPOINT, TRACES_ENDPOINT, METRICS_ENDPOINT];
    let is_off = env(DISABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    !is_off && named.iter().any(|name| env(name).is_some_and(|value| !value.trim().is_empty()))
}

/// `name=value,name=value`, with values as in a URL.
fn headers(text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let wrong = || SettingsError { variable: HEADERS, problem: "has not the form `name=value,name=value`" };
    let mut headers = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let name = name.trim().to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let value =
            percent::decoded(value.trim()).filter(|value| value.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
        let value = value.filter(|_| !name.is_empty() && name.bytes().all(plain)).ok_or_else(wrong)?;
        headers.push((name, value));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, SettingsError> {
        TelemetrySettings::from_env(&|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn gate_8_without_an_endpoint_or_when_disabled_nothing_is_exported() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[(ENDPOINT, " ")]), Ok(None));
        assert_eq!(read(&[(ENDPOINT, "http://h:4318"), (DISABLED, "true")]), Ok(None));
    }

    #[test]
    fn gate_8_the_standard_variables_say_where_to_and_the_headers_stay_hidden() {
        let found = read(&[
            (ENDPOINT, "http://user:pass@h:4318/base/?k=v"),
            (METRICS_ENDPOINT, "https://m.example/otlp"),
            (HEADERS, "authorization=Bearer%20s3cret-token, x-team = a"),
        ]);
        let found = found.unwrap().unwrap();
        assert_eq!(found.metrics.as_ref().unwrap().url, "https://m.example/otlp");
        let traces = found.traces.unwrap();
        assert_eq!(traces.headers[0], ("authorization".to_owned(), "Bearer s3cret-token".to_owned()));
        assert_eq!(traces.headers[1], ("x-team".to_owned(), "a".to_owned()));
        let shown = format!("{traces:?}");
        assert!(!shown.contains("pass") && !shown.contains("s3cret") && shown.contains("h:4318"), "{shown}");
        let only = read(&[(ENDPOINT, "http://h:4318/")]).unwrap().unwrap();
        assert_eq!(only.traces.unwrap().url, "http://h:4318/v1/traces");
        assert_eq!(only.metrics.unwrap().url, "http://h:4318/v1/metrics");
    }

    #[test]
    fn gate_8_a_variable_that_cannot_be_used_is_named() {
        for (name, value) in [
            (ENDPOINT, "h:4318"),
            (HEADERS, "no-value"),
            (HEADERS, "a=%zz"),
            (HEADERS, "a=x%0d%0ay"),
            (HEADERS, "a b=c"),
            (PROTOCOL, "grpc"),
        ] {
            let pairs = [(name, value), (ENDPOINT, "http://h")];
            assert_eq!(read(&pairs).unwrap_err().variable, name, "{value}");
        }
    }
}
