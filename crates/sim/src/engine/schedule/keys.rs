//! Keys of the packets in the open slice, and their order: time within the slice, stream, place.

use super::{LAST_SHIFT, StreamId};
use fullpipe_cc::Nanos;

/// Bits of a key: time within a slice, stream, place in the slice.
pub(super) const STREAM_BITS: u32 = 22;
pub(super) const PLACE_BITS: u32 = 64 - STREAM_BITS - LAST_SHIFT;
pub(super) const MOST_STREAMS: StreamId = (1 << STREAM_BITS) - MOST_PACED;
/// Flows with separate numbers, after those of streams, for wake-ups by pacers.
pub(super) const MOST_PACED: u32 = 1 << 16;
/// Maximum number of packets in a slice.
pub(super) const MOST: usize = 1 << PLACE_BITS;

/// The bits of a key below its time.
pub(super) const MOMENT: u64 = (1 << (STREAM_BITS + PLACE_BITS)) - 1;

/// Whether two keys have one time.
#[inline(always)]
pub(super) fn is_tie(a: u64, b: u64) -> bool {
    (a ^ b) <= MOMENT
}

#[inline(always)]
pub(super) fn within(key: u64) -> Nanos {
    key >> (STREAM_BITS + PLACE_BITS)
}

#[inline(always)]
pub(super) fn stream_in(key: u64) -> StreamId {
    (key >> PLACE_BITS) as StreamId & ((1 << STREAM_BITS) - 1)
}

#[inline(always)]
pub(super) fn place_in(key: u64) -> usize {
    key as usize & (MOST - 1)
}

/// Sorts the keys of a slice of width `shift`. Returns whether any tie; `None` if sorting by comparison is faster. Arrivals are spread over
/// a slice, so a bucket sort by time causes fewer branch mispredictions.
pub(super) fn spread(keys: &mut Vec<u64>, unsorted: &mut Vec<u64>, shift: u32) -> Option<bool> {
    let bits = keys.len().ilog2() + 1;
    if bits > shift || 1 << bits > BUCKETS {
        return None;
    }
    let bucket = |key: u64| (key >> (STREAM_BITS + PLACE_BITS + shift - bits)) as usize & (BUCKETS - 1);
    let mut ends = [0u16; BUCKETS];
    for &key in keys.iter() {
        ends[bucket(key)] += 1;
    }
    let (mut sum, mut most) = (0, 0);
    for end in &mut ends[..1 << bits] {
        most = most.max(*end);
        sum += std::mem::replace(end, sum);
    }
    if most > CROWD {
        return None;
    }
    std::mem::swap(keys, unsorted);
    keys.resize(unsorted.len(), 0);
    for &key in unsorted.iter() {
        let place = &mut ends[bucket(key)];
        keys[usize::from(*place)] = key;
        *place += 1;
    }
    Some(insertion_sort(keys))
}

/// Sorts the keys. Returns whether any tie.
pub(super) fn insertion_sort(keys: &mut [u64]) -> bool {
    let mut ties = false;
    for end in 1..keys.len() {
        let key = keys[end];
        if keys[end - 1] | MOMENT < key {
            continue;
        }
        let mut place = end;
        while place > 0 && keys[place - 1] > key {
            keys[place] = keys[place - 1];
            place -= 1;
        }
        keys[place] = key;
        ties |= place > 0 && is_tie(keys[place - 1], key) || place < end && is_tie(keys[place + 1], key);
    }
    ties
}

/// Most buckets of [`spread`], and most keys in one: with more, sorting by comparison is faster.
pub(super) const BUCKETS: usize = 512;
pub(super) const CROWD: u16 = 12;
