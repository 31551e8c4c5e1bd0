//! A receiver on this machine: it answers as it is told and keeps what it gets.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, Metric, NumberDataPoint, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Receiver {
    pub(crate) address: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    /// Answers each request with the status that `answer` gives for its path; 0 is no answer at all.
    pub(crate) fn new(answer: impl Fn(&str) -> u16 + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (got, answer) = (Arc::<Mutex<Vec<Got>>>::default(), Arc::new(answer));
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(socket.try_clone().unwrap());
                    let mut socket = socket;
                    while let Some(request) = read(&mut reader) {
                        let status = answer(&request.path);
                        kept.lock().unwrap().push(request);
                        if status == 0 {
                            std::thread::sleep(std::time::Duration::from_secs(3));
                            return;
                        }
                        let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                        if socket.write_all(reply.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, got }
    }

    pub(crate) fn got(&self, path: &str) -> Vec<Got> {
        self.got.lock().unwrap().iter().filter(|got| got.path == path).cloned().collect()
    }

    /// All bytes of all requests, to look for what must not be in them.
    pub(crate) fn all_bytes(&self) -> String {
        self.got.lock().unwrap().iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let decode = |got: &Got| ExportTraceServiceRequest::decode(got.body.as_slice()).unwrap();
        let requests: Vec<_> = self.got("/v1/traces").iter().map(decode).collect();
        let scopes = requests.into_iter().flat_map(|request| request.resource_spans).flat_map(|all| all.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The metrics of the last request.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let last = self.got("/v1/metrics").pop().unwrap();
        let request = ExportMetricsServiceRequest::decode(last.body.as_slice()).unwrap();
        let scopes = request.resource_metrics.into_iter().flat_map(|all| all.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }
}

fn read(reader: &mut impl BufRead) -> Option<Got> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head.get(before..)? == "\r\n" {
            break;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split_whitespace().nth(1)?.to_owned();
    Some(Got { path, head, body })
}

/// Attributes as texts.
pub(crate) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let value = |pair: &KeyValue| {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref()).unwrap();
        if let any_value::Value::StringValue(text) = value {
            text.clone()
        } else if let any_value::Value::IntValue(number) = value {
            number.to_string()
        } else if let any_value::Value::BoolValue(flag) = value {
            flag.to_string()
        } else {
            format!("{value:?}")
        }
    };
    attributes.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

/// A metric's points as attributes, count and sum.
pub(crate) fn points(metric: &Metric) -> Vec<(BTreeMap<String, String>, u64, f64)> {
    let data = metric.data.as_ref().unwrap();
    if let metric::Data::Histogram(histogram) = data {
        let point = |point: &HistogramDataPoint| {
            assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
            assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
            (texts(&point.attributes), point.count, point.sum.unwrap())
        };
        return histogram.data_points.iter().map(point).collect();
    }
    let metric::Data::Sum(sum) = data else { return Vec::new() };
    assert!(sum.is_monotonic);
    let value = |point: &NumberDataPoint| match point.value.unwrap() {
        number_data_point::Value::AsInt(number) => number as f64,
        number_data_point::Value::AsDouble(number) => number,
    };
    sum.data_points.iter().map(|point| (texts(&point.attributes), 1, value(point))).collect()
}
