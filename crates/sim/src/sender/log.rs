//! The series of all flows, one log: written in sequence, however many flows there are, and sorted by flow in the end.

use fullpipe_cc::{CongestionControl, Controller, Nanos, time::seconds};

use crate::report::Series;

/// The columns every flow has.
const COMMON_COLUMNS: [&str; 4] = ["cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets"];

/// Samples at multiples of an interval.
#[derive(Debug, Default)]
pub struct SampleLog {
    interval: Nanos,
    /// Row by row: which flow, and how many intervals since the beginning.
    rows: Vec<(u32, u32)>,
    /// Row by row: the common values, then the algorithm's internals.
    values: Vec<f64>,
    /// Of each flow, the names of its algorithm's internals: which of `sets`.
    internals: Vec<usize>,
    sets: Vec<Vec<&'static str>>,
}

impl SampleLog {
    /// An empty log, for samples every `interval`, if any.
    pub fn new(interval: Option<Nanos>) -> SampleLog {
        SampleLog { interval: interval.unwrap_or(0), ..SampleLog::default() }
    }

    /// Announces the next flow and its algorithm; flows count from 0. There will be so many rows of it at most.
    pub fn add_flow(&mut self, cc: &Controller, rows: usize) {
        if self.interval == 0 {
            return;
        }
        let mut names = Vec::new();
        cc.inspect(&mut |name, _| names.push(name));
        self.rows.reserve(rows);
        self.values.reserve(rows * (COMMON_COLUMNS.len() + names.len()));
        let set = self.sets.iter().position(|set| *set == names).unwrap_or_else(|| {
            self.sets.push(names);
            self.sets.len() - 1
        });
        self.internals.push(set);
    }

    /// Adds a row: cwnd, ssthresh, RTT (zero if unknown), segments thought to be in flight, and what `cc` shows.
    pub fn add(&mut self, flow: u32, at: Nanos, rtt: Nanos, in_flight: u64, cc: &Controller) {
        let ssthresh = if cc.ssthresh().is_finite() { cc.ssthresh() } else { f64::NAN };
        let rtt = if rtt == 0 { f64::NAN } else { seconds(rtt) };
        self.rows.push((flow, (at / self.interval) as u32));
        self.values.extend([cc.cwnd(), ssthresh, rtt, in_flight as f64]);
        cc.inspect(&mut |_, value| self.values.push(value));
    }

    /// The rows, sorted by flow and time; a column that a flow does not have is NaN.
    pub fn series(&self) -> Series {
        let mut names = COMMON_COLUMNS.to_vec();
        for name in self.internals.iter().flat_map(|&set| &self.sets[set]) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let position = |name: &&str| names.iter().position(|known| known == name).expect("gathered above");
        let columns: Vec<Vec<usize>> =
            self.sets.iter().map(|set| COMMON_COLUMNS.iter().chain(set).map(position).collect()).collect();
        let mut series = Series::filled(names.iter().copied(), self.rows.len());
        let mut next = self.first_rows();
        let mut values = self.values.iter();
        for &(flow, interval) in &self.rows {
            let row = next[flow as usize];
            next[flow as usize] += 1;
            series.t_s[row] = seconds(u64::from(interval) * self.interval);
            series.entity[row] = flow;
            for (&column, &value) in columns[self.internals[flow as usize]].iter().zip(&mut values) {
                series.columns[column].1[row] = value;
            }
        }
        series
    }

    /// Where the rows of each flow begin, sorted.
    fn first_rows(&self) -> Vec<usize> {
        let mut first = vec![0; self.internals.len()];
        for &(flow, _) in &self.rows {
            first[flow as usize] += 1;
        }
        let mut before = 0;
        for rows in &mut first {
            before += std::mem::replace(rows, before);
        }
        first
    }
}
