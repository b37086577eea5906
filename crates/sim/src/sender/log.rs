//! The series of all flows, one log: written in sequence, however many flows there are, and sorted by flow in the end.

use fullpipe_cc::{CongestionControl, Controller, Nanos, time::seconds};

use crate::report::Series;

/// The columns every flow has.
const COMMON_COLUMNS: [&str; 4] = ["cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets"];

/// Samples at multiples of an interval.
#[derive(Debug, Default)]
pub struct SampleLog {
    interval: Nanos,
    rows: Vec<Row>,
    /// Row by row: the common values, then the algorithm's internals.
    values: Vec<f64>,
    /// Of each flow, the names of its algorithm's internals: which of `sets`.
    internals: Vec<usize>,
    sets: Vec<Vec<&'static str>>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    flow: u32,
    /// Intervals since the beginning.
    interval: u32,
    /// Where its values begin.
    values: usize,
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
        self.rows.push(Row { flow, interval: (at / self.interval) as u32, values: self.values.len() });
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
        // Of each set, where in a row the value of each column stands.
        let place = |set: &[&str], name| COMMON_COLUMNS.iter().chain(set).position(|known| *known == name);
        let places: Vec<Vec<Option<usize>>> =
            self.sets.iter().map(|set| names.iter().map(|name| place(set, *name)).collect()).collect();
        let mut series = Series::with_columns(names.iter().copied(), self.rows.len());
        for index in self.by_flow() {
            let row = &self.rows[index as usize];
            series.t_s.push(seconds(u64::from(row.interval) * self.interval));
            series.entity.push(row.flow);
            for ((_, column), place) in series.columns.iter_mut().zip(&places[self.internals[row.flow as usize]]) {
                column.push(place.map_or(f64::NAN, |place| self.values[row.values + place]));
            }
        }
        series
    }

    /// The rows' numbers, by flow, in time within a flow.
    fn by_flow(&self) -> Vec<u32> {
        let mut next = self.first_rows();
        let mut order = vec![0; self.rows.len()];
        for (index, row) in (0..).zip(&self.rows) {
            order[next[row.flow as usize]] = index;
            next[row.flow as usize] += 1;
        }
        order
    }

    /// Where the rows of each flow begin, sorted.
    fn first_rows(&self) -> Vec<usize> {
        let mut first = vec![0; self.internals.len()];
        for row in &self.rows {
            first[row.flow as usize] += 1;
        }
        let mut before = 0;
        for rows in &mut first {
            before += std::mem::replace(rows, before);
        }
        first
    }
}
