//! Hosts and class of traffic, as an IP header has them.

use super::problem::{Problem, quoted};
use super::reader::Reader;
use super::render::Pairs;

/// Fields of the IP header that queues read: addresses and DSCP.
///
/// ```
/// use fullpipe_sim::model::{Class, Ip};
///
/// let call = Ip { sender: Some("home".to_owned()), class: Class::Voice, ..Ip::default() };
/// assert_eq!((call.receiver, call.class.name()), (None, "voice"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ip {
    /// Host that sends the data; `None` for one of each flow alone.
    pub sender: Option<String>,
    /// Host that receives the data; `None` for one of each flow alone.
    pub receiver: Option<String>,
    /// Class of data and ACKs.
    pub class: Class,
}

/// Class of traffic, from the DSCP of its packets (RFC 4594).
///
/// Example: see [`Ip`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// CS1.
    Bulk,
    /// CS0.
    #[default]
    BestEffort,
    /// AF4x.
    Video,
    /// EF.
    Voice,
}

fullpipe_cc::named! { Class { Bulk = "bulk", BestEffort = "best-effort", Video = "video", Voice = "voice" } }

/// Keys `sender`, `receiver`, and `class`.
pub fn read(reader: &Reader) -> Result<Ip, Problem> {
    let host = |key| match reader.text(key, "\"home\"")? {
        Some(text) if text.is_empty() || text.chars().any(char::is_control) => {
            let what = format!("must have printable characters only, at least one, got {}", quoted(text));
            Err(reader.problem(key, what))
        }
        name => Ok(name.map(str::to_owned)),
    };
    let class = reader.one_of("class", "class", &Class::NAMES)?.unwrap_or_default();
    Ok(Ip { sender: host("sender")?, receiver: host("receiver")?, class })
}

/// Keys of a resolved scenario.
pub(super) fn write(ip: &Ip) -> Pairs {
    let hosts = [("sender", &ip.sender), ("receiver", &ip.receiver)];
    let mut pairs: Pairs = vec![("class", ip.class.name().into())];
    pairs.extend(hosts.into_iter().filter_map(|(key, host)| Some((key, host.as_deref()?.into()))));
    pairs
}
