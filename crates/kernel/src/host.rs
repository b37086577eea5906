//! Functions that programs may call: helpers by number, functions of the kernel by name. All others are refused by name when an object is
//! loaded.

use crate::names::HELPERS;

/// A function that the machine has for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    MapLookup,
    MapUpdate,
    Now,
    Jiffies,
    Random,
    Zero,
    ProbeRead,
    StorageGet,
    StorageDelete,
    SendAck,
    SetOption,
    AskOption,
    RenoSsthresh,
    RenoUndo,
    RenoAvoid,
    SlowStart,
    AvoidAdditive,
    Identity,
    CopyMemory,
    SetMemory,
}

/// Helpers (bpf-helpers(7)).
const KNOWN_HELPERS: &[(&str, Host)] = &[
    ("map_lookup_elem", Host::MapLookup),
    ("map_update_elem", Host::MapUpdate),
    ("ktime_get_ns", Host::Now),
    ("ktime_get_boot_ns", Host::Now),
    ("ktime_get_coarse_ns", Host::Now),
    ("ktime_get_tai_ns", Host::Now),
    ("jiffies64", Host::Jiffies),
    ("get_prandom_u32", Host::Random),
    ("get_smp_processor_id", Host::Zero),
    ("trace_printk", Host::Zero),
    ("trace_vprintk", Host::Zero),
    ("probe_read_kernel", Host::ProbeRead),
    ("sk_storage_get", Host::StorageGet),
    ("sk_storage_delete", Host::StorageDelete),
    ("tcp_send_ack", Host::SendAck),
    ("setsockopt", Host::SetOption),
    ("getsockopt", Host::AskOption),
];

/// Functions of the kernel (kfuncs) that it has for congestion control.
const KNOWN_FUNCTIONS: &[(&str, Host)] = &[
    ("tcp_reno_ssthresh", Host::RenoSsthresh),
    ("tcp_reno_undo_cwnd", Host::RenoUndo),
    ("tcp_reno_cong_avoid", Host::RenoAvoid),
    ("tcp_slow_start", Host::SlowStart),
    ("tcp_cong_avoid_ai", Host::AvoidAdditive),
    ("bpf_rdonly_cast", Host::Identity),
    ("memcpy", Host::CopyMemory),
    ("memset", Host::SetMemory),
];

impl Host {
    /// The helper of a number, or why there is none.
    pub fn helper(number: i64) -> Result<Host, String> {
        let name = usize::try_from(number).ok().and_then(|number| HELPERS.get(number.checked_sub(1)?));
        let Some(name) = name else { return Err(format!("the unknown helper {number}")) };
        let known = KNOWN_HELPERS.iter().find(|(known, _)| known == name);
        known.map(|&(_, host)| host).ok_or_else(|| format!("the helper bpf_{name}, which the simulator does not have"))
    }

    /// The kernel's function of a name, or why there is none.
    pub fn function(name: &str) -> Result<Host, String> {
        let known = KNOWN_FUNCTIONS.iter().find(|(known, _)| *known == name);
        known
            .map(|&(_, host)| host)
            .ok_or_else(|| format!("the kernel's function {name}, which the simulator does not have"))
    }

    /// As an immediate.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The function of an immediate that [`Host::number`] has made.
    pub fn of(number: i64) -> Host {
        const ALL: &[Host] = &[
            Host::MapLookup,
            Host::MapUpdate,
            Host::Now,
            Host::Jiffies,
            Host::Random,
            Host::Zero,
            Host::ProbeRead,
            Host::StorageGet,
            Host::StorageDelete,
            Host::SendAck,
            Host::SetOption,
            Host::AskOption,
            Host::RenoSsthresh,
            Host::RenoUndo,
            Host::RenoAvoid,
            Host::SlowStart,
            Host::AvoidAdditive,
            Host::Identity,
            Host::CopyMemory,
            Host::SetMemory,
        ];
        ALL[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{Host, KNOWN_FUNCTIONS, KNOWN_HELPERS};

    #[test]
    fn numbers_come_back() {
        for &(_, host) in KNOWN_HELPERS.iter().chain(KNOWN_FUNCTIONS) {
            assert_eq!(Host::of(host.number()), host);
        }
    }

    /// bpf-helpers(7), `enum bpf_func_id`: 5 is ktime_get_ns, 118 jiffies64; 4 is probe_read, which reads any address.
    #[test]
    fn helpers_are_known_by_number() {
        assert_eq!(Host::helper(5), Ok(Host::Now));
        assert_eq!(Host::helper(118), Ok(Host::Jiffies));
        assert_eq!(Host::helper(4).unwrap_err(), "the helper bpf_probe_read, which the simulator does not have");
        assert_eq!(Host::helper(0).unwrap_err(), "the unknown helper 0");
        assert_eq!(Host::helper(9999).unwrap_err(), "the unknown helper 9999");
    }
}
