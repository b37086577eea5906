//! The series of all flows, one log: written in sequence, however many flows there are, and sorted by flow in the end.

use fullpipe_cc::{CongestionControl, Controller, Nanos, time::seconds};

use crate::prefetch::prefetch;
use crate::report::Series;

/// The columns every flow has.
const COMMON_COLUMNS: [&str; 4] = ["cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets"];

/// How many words a row has but for the internals: [`header`], then the values of [`COMMON_COLUMNS`].
const COMMON_WORDS: usize = 1 + COMMON_COLUMNS.len();

/// So many rows ahead they are fetched where the log is read by flow, all over it.
const AHEAD: usize = 16;

/// Samples at multiples of an interval.
#[derive(Debug, Default)]
pub struct SampleLog {
    interval: Nanos,
    /// Row by row: flow and interval, the bits of the common values, those of the algorithm's internals.
    words: Vec<u64>,
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
        self.words.reserve(rows * (COMMON_WORDS + names.len()));
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
        let row = [header(flow, at / self.interval), cc.cwnd().to_bits(), ssthresh.to_bits(), rtt.to_bits()];
        self.words.extend(row);
        self.words.push((in_flight as f64).to_bits());
        cc.inspect(&mut |_, value| self.words.push(value.to_bits()));
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
        let (order, ends) = self.by_flow();
        let mut series = Series::with_columns(names.iter().copied(), order.len());
        let mut begin = 0;
        for (flow, (&end, &set)) in (0..).zip(ends.iter().zip(&self.internals)) {
            let rows = &order[begin..end];
            let ahead = order.iter().skip(begin + AHEAD).map(Some).chain(std::iter::repeat(None));
            series.t_s.extend(rows.iter().zip(ahead).map(|(&row, ahead)| {
                if let Some(&ahead) = ahead {
                    prefetch(&self.words[ahead], size_of::<u64>());
                    prefetch(&self.words[ahead + COMMON_WORDS - 1], size_of::<u64>());
                }
                seconds(interval_in(self.words[row]) * self.interval)
            }));
            series.entity.extend(std::iter::repeat_n(flow, rows.len()));
            for ((_, column), place) in series.columns.iter_mut().zip(&places[set]) {
                match place {
                    Some(place) => column.extend(rows.iter().map(|row| f64::from_bits(self.words[row + 1 + place]))),
                    None => column.extend(std::iter::repeat_n(f64::NAN, rows.len())),
                }
            }
            begin = end;
        }
        series
    }

    /// Where the rows begin, by flow, in time within a flow; and how many there are up to each flow, itself included.
    fn by_flow(&self) -> (Vec<usize>, Vec<usize>) {
        let mut ends = vec![0; self.internals.len()];
        let mut rows = 0;
        for (flow, _) in self.rows() {
            ends[flow] += 1;
            rows += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        let mut order = vec![0; rows];
        for (flow, row) in self.rows() {
            order[ends[flow]] = row;
            ends[flow] += 1;
        }
        (order, ends)
    }

    /// All rows as they were written: of which flow, where they begin.
    fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let (flow, row) = (flow_in(*self.words.get(next)?), next);
            next += COMMON_WORDS + self.sets[self.internals[flow]].len();
            Some((flow, row))
        })
    }
}

/// A row's first word: the flow, and how many intervals have passed since the beginning.
fn header(flow: u32, interval: u64) -> u64 {
    u64::from(flow) << 32 | interval
}

fn flow_in(header: u64) -> usize {
    (header >> 32) as usize
}

fn interval_in(header: u64) -> u64 {
    header & u64::from(u32::MAX)
}
