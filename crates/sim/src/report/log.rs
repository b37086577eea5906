//! The series of all flows: samples are logged as they come, and filed by flow some thousands at a time.

use crate::memory;
use crate::prefetch::prefetch;
use crate::report::Series;
use fullpipe_cc::{CongestionControl, Nanos, time::seconds};
use std::ops::Range;

/// The columns every flow has.
const COMMON_COLUMNS: [&str; 5] = ["cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets", "goodput_bps"];

/// Which of them is logged as segments that have arrived so far.
const GOODPUT: usize = 4;

/// How many words a row has but for the internals: flow and length, then the values of [`COMMON_COLUMNS`].
const COMMON_WORDS: usize = 1 + COMMON_COLUMNS.len();

/// Rows per flow, and rows of all flows, after which rows are moved to columns. Eight values fill a cache line.
const ROWS_OF_EACH: usize = 8;
const ROWS_OF_ALL: usize = 512;

/// Prefetch distance in rows where the log is read by flow, at scattered addresses.
const AHEAD: usize = 16;

/// Samples at multiples of an interval.
#[derive(Debug, Default)]
pub struct SampleLog {
    interval: Nanos,
    /// Bytes of a segment on the wire.
    packet_size: u32,
    /// Rows not yet filed, one after another: flow and length, the bits of the common values, those of the algorithm's
    /// internals.
    words: Vec<u64>,
    /// How many words the longest row has.
    longest: usize,
    /// By written number once there is room.
    flows: Vec<Shelf>,
    /// Written number of each flow; empty where that is its own.
    numbers: Vec<u32>,
    sets: Vec<Vec<&'static str>>,
    /// How many rows all flows may have.
    room: usize,
    filed: Columns,
    order: Order,
}

/// Where the rows of a flow go.
#[derive(Clone, Copy, Debug)]
struct Shelf {
    /// Which of the log's sets of names its algorithm's internals have.
    set: usize,
    /// How many intervals pass before its first sample.
    first: u64,
    /// Where its rows begin in the columns, and where those filed end.
    begin: usize,
    end: usize,
    /// How many rows there may be.
    room: usize,
}

/// Rows by flow, in time within a flow. Every flow has its room.
#[derive(Debug, Default)]
struct Columns {
    names: Vec<&'static str>,
    /// A column for each name.
    values: Vec<Vec<f64>>,
    /// Place in a row of the value of each column, for each set of internals, counted from the first common one.
    places: Vec<Vec<Option<usize>>>,
}

/// Where the rows in the log begin.
#[derive(Debug, Default)]
struct Order {
    /// The places in the log where rows begin, by flow and in time within a flow.
    rows: Vec<usize>,
    /// For each flow, how many rows it and all flows before it have.
    ends: Vec<usize>,
}

impl SampleLog {
    /// An empty log, for samples every `interval`, if any, of flows whose segments have `packet_size` bytes.
    pub fn new(interval: Option<Nanos>, packet_size: u32) -> SampleLog {
        SampleLog { interval: interval.unwrap_or(0), packet_size, ..SampleLog::default() }
    }

    /// Announces the next flow, its algorithm, and from when to when there may be samples of it; flows count from 0.
    pub fn add_flow(&mut self, cc: &impl CongestionControl, from: Nanos, to: Nanos) {
        if self.interval == 0 {
            return;
        }
        let mut names = Vec::new();
        cc.inspect(&mut |name, _| names.push(name));
        let set = self.sets.iter().position(|set| *set == names).unwrap_or_else(|| {
            self.sets.push(names);
            self.sets.len() - 1
        });
        let first = from.div_ceil(self.interval).max(1);
        let room = (to / self.interval + 1).saturating_sub(first) as usize;
        self.flows.push(Shelf { set, first, begin: 0, end: 0, room });
    }

    /// Makes room for the rows of all flows announced, each of which has one of the written `numbers`, or its own if there are none.
    /// The series has them in that order. Call once, before the first row.
    pub fn make_room(&mut self, numbers: &[u32]) {
        if !self.flows.is_empty() {
            self.arrange(numbers);
        }
        let rows = (ROWS_OF_EACH * self.flows.len()).max(ROWS_OF_ALL);
        self.longest = COMMON_WORDS + self.sets.iter().map(Vec::len).max().unwrap_or(0);
        self.words = memory::with_room(rows * self.longest);
        self.order.rows = memory::with_room(rows * self.longest / COMMON_WORDS);
        self.filed = Columns::new(&self.sets, self.room);
    }

    /// Puts the flows, and the names of their internals, in the written order, and gives each flow its rows.
    fn arrange(&mut self, numbers: &[u32]) {
        self.numbers = numbers.to_vec();
        let announced = self.flows.clone();
        numbers.iter().zip(announced).for_each(|(&number, shelf)| self.flows[number as usize] = shelf);
        let mut sets: Vec<usize> = Vec::new();
        for shelf in &mut self.flows {
            let announced = shelf.set;
            shelf.set = sets.iter().position(|&set| set == announced).unwrap_or_else(|| {
                sets.push(announced);
                sets.len() - 1
            });
            (shelf.begin, shelf.end) = (self.room, self.room);
            self.room += shelf.room;
        }
        self.sets = sets.into_iter().map(|set| std::mem::take(&mut self.sets[set])).collect();
    }

    /// Adds a row: cwnd, ssthresh, RTT (zero if unknown), segments thought to be in flight and known to have arrived so far, and what
    /// `cc` shows. Between a flow's rows passes one interval.
    pub fn add(&mut self, flow: u32, rtt: Nanos, in_flight: u64, arrived: u64, cc: &impl CongestionControl) {
        let flow = self.numbers.get(flow as usize).copied().unwrap_or(flow);
        let begin = self.words.len();
        let ssthresh = if cc.ssthresh().is_finite() { cc.ssthresh() } else { f64::NAN };
        let rtt = if rtt == 0 { f64::NAN } else { seconds(rtt) };
        let values = [cc.cwnd(), ssthresh, rtt, in_flight as f64, arrived as f64];
        let [cwnd, ssthresh, rtt, in_flight, arrived] = values.map(f64::to_bits);
        self.words.extend_from_slice(&[header(flow, COMMON_WORDS), cwnd, ssthresh, rtt, in_flight, arrived]);
        cc.inspect(&mut |_, value| self.words.push(value.to_bits()));
        self.words[begin] = header(flow, self.words.len() - begin);
        if self.words.capacity() - self.words.len() < self.longest {
            self.file();
        }
    }

    /// All rows, sorted by flow and time; a column that a flow does not have is NaN. The log is empty then.
    pub fn series(&mut self) -> Series {
        self.file();
        let Columns { names, values, .. } = std::mem::take(&mut self.filed);
        let close_gaps = |mut column: Vec<f64>| {
            let mut end = 0;
            for rows in self.flows.iter().map(Shelf::rows) {
                column.copy_within(rows.clone(), end);
                end += rows.len();
            }
            column.truncate(end);
            column
        };
        let mut series = Series::with_columns([], self.flows.iter().map(|shelf| shelf.rows().len()).sum());
        for (flow, shelf) in (0..).zip(&self.flows) {
            let rows = shelf.rows().len();
            series.t_s.extend((shelf.first..).take(rows).map(|k| seconds(k * self.interval)));
            series.entity.extend(std::iter::repeat_n(flow, rows));
        }
        series.columns = names.into_iter().map(str::to_owned).zip(values.into_iter().map(close_gaps)).collect();
        if let Some((_, arrived)) = series.columns.get_mut(GOODPUT) {
            self.to_rates(arrived);
        }
        series
    }

    /// Segments that have arrived so far, flow by flow, become bits per second since the row before. Where an ACK of old data makes known
    /// less than was known, nothing has arrived.
    fn to_rates(&self, arrived: &mut [f64]) {
        let bits = f64::from(self.packet_size) * 8.0;
        let mut rest = arrived;
        for shelf in &self.flows {
            let (rows, behind) = rest.split_at_mut(shelf.rows().len());
            let mut before = 0.0;
            for value in rows {
                let now = value.max(before);
                *value = (now - before) * bits / seconds(self.interval);
                before = now;
            }
            rest = behind;
        }
    }

    /// Empties the log into the columns.
    #[inline(never)]
    fn file(&mut self) {
        self.order.find(&self.words, self.flows.len());
        let (words, order) = (&self.words, &self.order.rows);
        let mut begin = 0;
        for (shelf, &end) in self.flows.iter_mut().zip(&self.order.ends) {
            let rows = &order[begin..end];
            for &row in order.iter().skip(begin + AHEAD).take(rows.len()) {
                prefetch(&words[row], size_of::<u64>());
                prefetch(&words[row + COMMON_WORDS - 1], size_of::<u64>());
            }
            let slots = shelf.end..shelf.end + rows.len();
            for (column, place) in self.filed.values.iter_mut().zip(&self.filed.places[shelf.set]) {
                let slots = &mut column[slots.clone()];
                match place {
                    Some(place) => slots.iter_mut().zip(rows).for_each(|(slot, row)| {
                        *slot = f64::from_bits(words[row + 1 + place]);
                    }),
                    None => slots.fill(f64::NAN),
                }
            }
            shelf.end = slots.end;
            begin = end;
        }
        self.words.clear();
    }
}

impl Shelf {
    fn rows(&self) -> Range<usize> {
        self.begin..self.end
    }
}

impl Columns {
    /// Room for `room` rows of flows whose algorithms show these sets of internals; memory that is not touched yet.
    fn new(sets: &[Vec<&'static str>], room: usize) -> Columns {
        let mut names = COMMON_COLUMNS.to_vec();
        for name in sets.iter().flatten() {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let place = |set: &[&str], name| COMMON_COLUMNS.iter().chain(set).position(|known| *known == name);
        let places = sets.iter().map(|set| names.iter().map(|name| place(set, *name)).collect()).collect();
        let values = names.iter().map(|_| memory::zeros(room)).collect();
        Columns { names, values, places }
    }
}

impl Order {
    fn find(&mut self, words: &[u64], flows: usize) {
        let rows = || {
            let mut next = 0;
            std::iter::from_fn(move || {
                let (row, &header) = (next, words.get(next)?);
                next += length_in(header);
                Some((flow_in(header), row))
            })
        };
        self.ends.clear();
        self.ends.resize(flows, 0);
        rows().for_each(|(flow, _)| self.ends[flow] += 1);
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        self.rows.clear();
        self.rows.resize(before, 0);
        for (flow, row) in rows() {
            self.rows[self.ends[flow]] = row;
            self.ends[flow] += 1;
        }
    }
}

/// A row's first word: the flow, and how many words the row has.
fn header(flow: u32, length: usize) -> u64 {
    u64::from(flow) << 32 | length as u64
}

fn flow_in(header: u64) -> usize {
    (header >> 32) as usize
}

fn length_in(header: u64) -> usize {
    (header & u64::from(u32::MAX)) as usize
}
