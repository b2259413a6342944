//! What the proxy uses that is measured.

use serde::Serialize;
use tap_load_client::processes::Family;
use tap_load_client::statistics::rounded;

/// The proxy's processes, and how much CPU time they had used when they were first looked at.
#[derive(Debug)]
pub(crate) struct Proxy {
    family: Option<Family>,
    cpu_ms_before: f64,
}

/// What a report says of the proxy; null without one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ProxyCost {
    /// The sum of the peaks of all its processes since they were started, pages that they share counted in each.
    proxy_peak_rss_kib: Option<u64>,
    /// CPU time since it was first looked at, of all its processes.
    proxy_cpu_ms: Option<f64>,
}

impl Proxy {
    /// From now on its CPU time counts.
    pub(crate) fn look(pid: Option<u32>) -> Self {
        // No server is among its processes, and no orphan belongs to it.
        let family = pid.map(|pid| Family::new(pid, "", "none".to_owned()));
        let cpu_ms_before = family.as_ref().map_or(0.0, |family| family.tap_usage().all.cpu_ms);
        Self { family, cpu_ms_before }
    }

    /// What it used until now.
    pub(crate) fn cost(&self) -> ProxyCost {
        let usage = self.family.as_ref().map(|family| family.tap_usage().all);
        ProxyCost {
            proxy_peak_rss_kib: usage.map(|usage| usage.peak_resident_kib),
            proxy_cpu_ms: usage.map(|usage| rounded(usage.cpu_ms - self.cpu_ms_before)),
        }
    }
}

impl ProxyCost {
    /// CPU time by this number of calls, microseconds.
    pub(crate) fn cpu_us_per_call(&self, n_calls: usize) -> Option<f64> {
        self.proxy_cpu_ms.map(|cpu_ms| rounded(cpu_ms * 1e3 / n_calls as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_proxy_there_is_no_cost() {
        let nothing = ProxyCost { proxy_peak_rss_kib: None, proxy_cpu_ms: None };
        assert_eq!(Proxy::look(None).cost(), nothing);
        assert_eq!(nothing.cpu_us_per_call(10), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_has_memory_and_its_time_counts_from_the_first_look() {
        let cost = Proxy::look(Some(std::process::id())).cost();
        assert!(cost.proxy_peak_rss_kib.is_some_and(|kib| kib > 0));
        assert!(cost.proxy_cpu_ms.is_some_and(|cpu_ms| cpu_ms < 1_000.0));
        let cost = ProxyCost { proxy_cpu_ms: Some(30.0), ..cost };
        assert_eq!(cost.cpu_us_per_call(1_000), Some(30.0));
    }
}
