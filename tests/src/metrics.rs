//! Figures of a server's page of metrics.

use crate::http;
use crate::server::Server;

/// The sum of a metric's samples that have this label, such as `reason="closed"`; all of them where it is empty.
///
/// # Panics
/// When the page is not there or a sample is no number.
pub fn sum(server: &Server, name: &str, label: &str) -> f64 {
    let answer = http::get(&server.url("/metrics"));
    assert_eq!(answer.status, 200, "{}", answer.start());
    sum_of(&answer.text(), name, label)
}

fn sum_of(page: &str, name: &str, label: &str) -> f64 {
    let rest = page.lines().filter_map(|line| line.strip_prefix(name));
    let samples = rest.filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(label));
    samples.map(|sample| sample.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a number")).sum()
}

#[cfg(test)]
mod tests {
    use super::sum_of;

    #[test]
    fn samples_of_one_name_and_label_are_added() {
        let page = "# TYPE a counter\na{m=\"x\",r=\"closed\"} 2\na{m=\"y\",r=\"closed\"} 3\na{m=\"x\",r=\"error\"} 5\na_b{r=\"closed\"} 7\nc 1.5\n";
        assert_eq!((sum_of(page, "a", "r=\"closed\""), sum_of(page, "a", ""), sum_of(page, "c", "")), (5.0, 10.0, 1.5));
    }
}
