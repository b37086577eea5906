//! The kinds of loss recovery.

/// How a sender finds and repairs losses. An axis of its own: any algorithm runs over any of them.
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
    /// Reno's, with the fine-grained timeout check on duplicate ACKs (Brakmo and Peterson 1995, section 3.1).
    Vegas,
}

impl Recovery {
    /// Every kind, in the order of their papers.
    pub const ALL: [Recovery; 5] =
        [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Vegas];

    /// The name scenarios use.
    pub fn name(self) -> &'static str {
        match self {
            Recovery::Tahoe => "tahoe",
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Vegas => "vegas",
        }
    }

    /// The one of this name.
    pub fn find(name: &str) -> Option<Recovery> {
        Recovery::ALL.into_iter().find(|recovery| recovery.name() == name)
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
