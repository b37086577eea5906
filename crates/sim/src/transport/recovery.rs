//! The kinds of loss recovery.

use super::receiver::Telling;

/// Loss detection and recovery of a sender. It is independent of the algorithm: any algorithm runs with any of them.
///
/// ```
/// use fullpipe_sim::model::{Recovery, Tcp};
///
/// let recovery = Recovery::find("rack").expect("a name of scenarios");
/// assert_eq!(recovery.prr(), Some(true), "RFC 8985 recommends it");
/// assert!(Tcp::new("cubic", recovery, vec![0]).prr);
/// assert!(!Recovery::NewReno.repairs_many());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment, going back to the first hole (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery, left at the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery kept until all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgement with a pipe estimate (RFC 6675).
    Sack,
    /// By the times of sending, with tail loss probes (RFC 8985).
    Rack,
    /// Reno's, with the fine-grained timeout check on duplicate ACKs (Brakmo and Peterson 1995, section 3.1).
    Vegas,
}

fullpipe_cc::named! {
    Recovery { Tahoe = "tahoe", Reno = "reno", NewReno = "newreno", Sack = "sack", Rack = "rack", Vegas = "vegas" }
}

impl Recovery {
    /// Whether proportional rate reduction can govern its fast recovery, and whether it does so where a scenario is silent; `None`
    /// where it cannot.
    pub fn prr(self) -> Option<bool> {
        match self {
            Recovery::Sack => Some(false),
            Recovery::Rack => Some(true),
            _ => None,
        }
    }

    /// Whether it repairs several losses of a round trip in one round trip, because ACKs report them.
    pub fn repairs_many(self) -> bool {
        self.telling() != Telling::Nothing
    }

    /// Information that the receiver's ACKs carry besides the cumulative point.
    pub fn telling(self) -> Telling {
        match self {
            Recovery::Sack => Telling::Blocks,
            Recovery::Rack => Telling::Duplicates,
            _ => Telling::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Recovery;

    #[test]
    fn every_algorithm_names_one_that_there_is() {
        for info in fullpipe_cc::registry::ALL {
            assert!(Recovery::find(info.recovery).is_some(), "{}: {}", info.name, info.recovery);
        }
    }
}
