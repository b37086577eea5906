//! Variation of a link: `loss`, `drop`, `schedule`, `jitter`, `reorder`, `aggregation`, `limit`, `ecn_field`, `policer`; read and written.

use super::keys::{self, Key};
use super::problem::{Problem, unknown};
use super::reader::{Reader, kind};
use super::units::{DATA, PACKETS, RATE, TIME};
use super::{Change, EcnField, Jitter, JitterModel, Link, Loss, Policer, Reorder, Schedule, Table, Value, limits};
use fullpipe_cc::Nanos;

/// Varying parts of one direction. Missing keys are those of `other`; `"off"` is none.
pub fn read(reader: &Reader, link: Link, other: Option<&Link>) -> Result<Link, Problem> {
    let inherited = other.map_or_else(Schedule::default, |other| inherited(reader, &other.schedule));
    let schedule = schedule(reader)?.unwrap_or(inherited);
    if let (Some(_), Some(place)) = (&link.trace, schedule.changes.iter().position(|change| change.rate_bps.is_some()))
    {
        let key = format!("schedule[{place}].rate");
        return Err(Problem::new(format!("{}.{key}", reader.place()), "conflicts with trace, which sets the rate"));
    }
    for (place, change) in schedule.changes.iter().enumerate() {
        let both = [
            ("delay", change.delay.is_some() && link.delay_trace.is_some()),
            ("loss", change.loss.is_some() && link.loss_trace.is_some()),
        ];
        if let Some((key, _)) = both.iter().find(|(_, both)| *both) {
            let place = format!("{}.schedule[{place}].{key}", reader.place());
            return Err(Problem::new(place, format!("conflicts with {key}_trace")));
        }
    }
    let link_aggregation = unless_off(reader, "aggregation", other.and_then(|link| link.aggregation), aggregation)?;
    Ok(Link {
        schedule,
        jitter: unless_off(reader, "jitter", other.and_then(|link| link.jitter), jitter)?,
        reorder: unless_off(reader, "reorder", other.and_then(|link| link.reorder), reorder)?,
        aggregation: link_aggregation,
        phase: phase(reader, link_aggregation, other)?,
        limit: limit(reader, other)?,
        ecn_field: reader
            .one_of("ecn_field", "ECN field", &EcnField::NAMES)?
            .or(other.map(|link| link.ecn_field))
            .unwrap_or_default(),
        policer: unless_off(reader, "policer", other.and_then(|link| link.policer), policer)?,
        ..link
    })
}

/// The losses asked for; all packets only where that may be.
pub fn loss(reader: &Reader, certain: bool) -> Result<Option<Loss>, Problem> {
    if let Some(Value::Table(table)) = reader.value("loss") {
        return gilbert_elliott(&Reader::new(table, reader.at("loss"), keys::names(&[keys::CHANNEL]))?).map(Some);
    }
    let (allowed, words): (fn(f64) -> bool, _) = match certain {
        true => (|p| (0.0..=1.0).contains(&p), "[0, 1]"),
        false => (|p| (0.0..1.0).contains(&p), "[0, 1)"),
    };
    Ok(reader.number("loss", allowed, words)?.map(Loss::Independent))
}

/// Numbers of the packets to drop, in their order.
pub fn drop(reader: &Reader) -> Result<Option<Vec<u64>>, Problem> {
    let Some(value) = reader.value("drop") else { return Ok(None) };
    let wrong = || reader.wrong_type("drop", "a list of whole numbers", "[3, 17]", value);
    let list = value.as_array().ok_or_else(wrong)?;
    if list.len() > limits::MOST_DROPPED {
        let what = format!("must have at most {} packets, got {}", limits::MOST_DROPPED, list.len());
        return Err(reader.problem("drop", what));
    }
    let number = |value: &Value| {
        let found = value.as_integer().ok_or_else(|| {
            reader.problem("drop", format!("must be packet numbers from 1, e.g. [3, 17], got {}", kind(value)))
        })?;
        u64::try_from(found).ok().filter(|number| limits::PACKETS.contains(number)).ok_or_else(|| {
            let (least, most) = (limits::PACKETS.start(), limits::PACKETS.end());
            reader.problem("drop", format!("must be in [{least}, {most}], got {found}"))
        })
    };
    let mut numbers = list.iter().map(number).collect::<Result<Vec<u64>, Problem>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(Some(numbers))
}

/// The losses as a scenario writes them.
pub fn write_loss(loss: Loss) -> Value {
    match loss {
        Loss::Independent(p) => p.into(),
        Loss::GilbertElliott { p, r, h, k } => table([
            ("model", "gilbert-elliott".into()),
            ("p", p.into()),
            ("r", r.into()),
            ("h", h.into()),
            ("k", k.into()),
        ]),
    }
}

/// Keys of a direction. For the reverse direction, which inherits from `forward`, also the parts that are off.
pub fn write(link: &Link, forward: Option<&Link>) -> Vec<(&'static str, Value)> {
    let off = |on: fn(&Link) -> bool| forward.filter(|forward| on(forward)).map(|_| Value::from("off"));
    let mut pairs = Vec::new();
    if !link.schedule.changes.is_empty() || forward.is_some_and(|forward| !forward.schedule.changes.is_empty()) {
        pairs.push(("schedule", Value::Array(link.schedule.changes.iter().map(write_change).collect())));
    }
    if !link.drop.is_empty() || forward.is_some_and(|forward| !forward.drop.is_empty()) {
        let number = |&number: &u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        pairs.push(("drop", Value::Array(link.drop.iter().map(number).collect())));
    }
    pairs.extend(link.schedule.repeat.map(|repeat| ("repeat", TIME.format(repeat).into())));
    let jitter = link.jitter.map(write_jitter).or_else(|| off(|link| link.jitter.is_some()));
    let reorder = link.reorder.map(|Reorder { probability, delay }| {
        table([("probability", probability.into()), ("delay", TIME.format(delay).into())])
    });
    let reorder = reorder.or_else(|| off(|link| link.reorder.is_some()));
    let aggregation = link.aggregation.map(|every| TIME.format(every).into());
    let aggregation = aggregation.or_else(|| off(|link| link.aggregation.is_some()));
    let policer = link.policer.map(|Policer { rate_bps, burst }| {
        table([("rate", RATE.format(rate_bps).into()), ("burst", DATA.format(burst).into())])
    });
    let policer = policer.or_else(|| off(|link| link.policer.is_some()));
    let phase = link.phase.map(|phase| TIME.format(phase).into());
    let limit = link.limit.map(|packets| Value::from(PACKETS.format(packets)));
    let limit = limit.or_else(|| forward.filter(|forward| forward.limit.is_some()).map(|_| Value::from("unlimited")));
    let changes_ecn = |link: &Link| link.ecn_field != EcnField::Keep;
    let ecn_field = changes_ecn(link) || forward.is_some_and(changes_ecn);
    let ecn_field = ecn_field.then(|| link.ecn_field.name().into());
    let parts = [
        ("jitter", jitter),
        ("reorder", reorder),
        ("aggregation", aggregation),
        ("phase", phase),
        ("limit", limit),
        ("ecn_field", ecn_field),
        ("policer", policer),
    ];
    pairs.extend(parts.into_iter().filter_map(|(key, value)| value.map(|value| (key, value))));
    pairs
}

/// The value of `key`, or as the other direction has it.
fn unless_off<T>(
    reader: &Reader,
    key: &str,
    other: Option<T>,
    read: impl Fn(&Reader) -> Result<T, Problem>,
) -> Result<Option<T>, Problem> {
    match reader.value(key) {
        None => Ok(other),
        Some(Value::String(text)) if text == "off" => Ok(None),
        Some(_) => read(reader).map(Some),
    }
}

/// The table that `key` is.
fn part<'a>(reader: &Reader<'a>, key: &str, example: &str, keys: &'static [Key]) -> Result<Reader<'a>, Problem> {
    let value = reader.required(key, example)?;
    let table = value.as_table().ok_or_else(|| reader.wrong_type(key, "a table or \"off\"", example, value))?;
    Reader::new(table, reader.at(key), keys::names(&[keys]))
}

fn gilbert_elliott(reader: &Reader) -> Result<Loss, Problem> {
    let model = reader.one_of("model", "model", &[("gilbert-elliott", ())])?;
    model.ok_or_else(|| reader.missing("model", "\"gilbert-elliott\""))?;
    let number = |key| reader.number(key, |p| (0.0..=1.0).contains(&p), "[0, 1]");
    let p = number("p")?.ok_or_else(|| reader.missing("p", "0.01"))?;
    let r = number("r")?.ok_or_else(|| reader.missing("r", "0.25"))?;
    Ok(Loss::GilbertElliott { p, r, h: number("h")?.unwrap_or(0.0), k: number("k")?.unwrap_or(1.0) })
}

/// Schedule of the other direction, without the rate, delay, and losses that `reader` has itself.
fn inherited(reader: &Reader, schedule: &Schedule) -> Schedule {
    let own = |key: &str| reader.value(key).is_some();
    let (rate, delay, loss) =
        (own("rate") || own("trace"), own("delay") || own("delay_trace"), own("loss") || own("loss_trace"));
    let left = |change: &Change| Change {
        at: change.at,
        rate_bps: change.rate_bps.filter(|_| !rate),
        delay: change.delay.filter(|_| !delay),
        loss: change.loss.filter(|_| !loss),
    };
    let changes: Vec<Change> = schedule.changes.iter().map(left).filter(changes_something).collect();
    let repeat = schedule.repeat.filter(|_| !changes.is_empty());
    Schedule { changes, repeat }
}

fn changes_something(change: &Change) -> bool {
    change.rate_bps.is_some() || change.delay.is_some() || change.loss.is_some()
}

fn schedule(reader: &Reader) -> Result<Option<Schedule>, Problem> {
    let repeat = reader.quantity("repeat", &TIME, limits::SPAN)?;
    let Some(list) = reader.value("schedule") else {
        return match repeat {
            None => Ok(None),
            Some(_) => Err(reader.problem("repeat", "requires schedule")),
        };
    };
    let example = "[{ at = \"5 s\", rate = \"10 Mbit/s\" }]";
    let list = list.as_array().ok_or_else(|| reader.wrong_type("schedule", "a list of tables", example, list))?;
    if list.len() > limits::MOST_CHANGES {
        let what = format!("must have at most {} changes, got {}", limits::MOST_CHANGES, list.len());
        return Err(reader.problem("schedule", what));
    }
    let mut changes: Vec<Change> = Vec::new();
    for (place, value) in list.iter().enumerate() {
        let place = format!("{}[{place}]", reader.at("schedule"));
        let table =
            value.as_table().ok_or_else(|| reader.wrong_type("schedule", "a list of tables", example, value))?;
        changes.push(change(&Reader::new(table, place, keys::names(&[keys::CHANGE]))?, changes.last())?);
    }
    if let (Some(repeat), Some(last)) = (repeat, changes.last()) {
        if repeat <= last.at {
            let (repeat, last) = (TIME.format(repeat), TIME.format(last.at));
            return Err(
                reader.problem("repeat", format!("must be above the time of the last change, {last}, got {repeat}"))
            );
        }
    }
    let repeat = repeat.filter(|_| !changes.is_empty());
    Ok(Some(Schedule { changes, repeat }))
}

fn change(reader: &Reader, before: Option<&Change>) -> Result<Change, Problem> {
    let at = reader.quantity("at", &TIME, limits::MOMENT)?.ok_or_else(|| reader.missing("at", "\"5 s\""))?;
    if let Some(before) = before.filter(|before| at <= before.at) {
        let what = format!(
            "must be above the time of the previous change, {1}, got {0}",
            TIME.format(at),
            TIME.format(before.at)
        );
        return Err(reader.problem("at", what));
    }
    let change = Change {
        at,
        rate_bps: reader.quantity("rate", &RATE, limits::CHANGED_RATE)?,
        delay: reader.quantity("delay", &TIME, limits::DELAY)?,
        loss: loss(reader, true)?,
    };
    match changes_something(&change) {
        true => Ok(change),
        false => Err(reader.problem("at", "requires rate, delay, or loss")),
    }
}

fn write_change(change: &Change) -> Value {
    let mut pairs = vec![("at", Value::from(TIME.format(change.at)))];
    pairs.extend(change.rate_bps.map(|rate| ("rate", RATE.format(rate).into())));
    pairs.extend(change.delay.map(|delay| ("delay", TIME.format(delay).into())));
    pairs.extend(change.loss.map(|loss| ("loss", write_loss(loss))));
    table(pairs)
}

fn jitter(reader: &Reader) -> Result<Jitter, Problem> {
    let reader = part(reader, "jitter", "{ model = \"wifi\", mean = \"7 ms\" }", keys::JITTER)?;
    let model = reader.text("model", "\"wifi\"")?.unwrap_or("uniform");
    let mean = |range| reader.quantity("mean", &TIME, range)?.ok_or_else(|| reader.missing("mean", "\"7 ms\""));
    let spread = |range| reader.quantity("spread", &TIME, range);
    let scale = || spread(limits::DELAY)?.ok_or_else(|| reader.missing("spread", "\"2 ms\""));
    let (model, mean) = match model {
        "uniform" => {
            let mean: Nanos = mean(limits::DELAY)?;
            (JitterModel::Uniform { spread: spread(0..=mean)?.unwrap_or(mean) }, mean)
        }
        "normal" => (JitterModel::Normal { spread: scale()? }, mean(limits::DELAY)?),
        "pareto" => (JitterModel::Pareto { spread: scale()? }, mean(limits::DELAY)?),
        "paretonormal" => (JitterModel::ParetoNormal { spread: scale()? }, mean(limits::DELAY)?),
        "wifi" => {
            if reader.value("spread").is_some() {
                return Err(reader.problem("spread", "conflicts with model \"wifi\", which has only a mean"));
            }
            if reader.value("correlation").is_some() {
                return Err(reader.problem("correlation", "conflicts with model \"wifi\"; leave it out"));
            }
            (JitterModel::Wifi, mean(limits::WIFI_MEAN)?)
        }
        _ => return Err(reader.problem("model", unknown("model", model, &keys::JITTER_MODELS))),
    };
    let correlation = reader.number("correlation", |x| (0.0..1.0).contains(&x), "[0, 1)")?;
    Ok(Jitter { model, mean, correlation: correlation.unwrap_or(0.0), reorder: reader.flag("reorder", false)? })
}

fn write_jitter(Jitter { model, mean, correlation, reorder }: Jitter) -> Value {
    let (name, spread) = match model {
        JitterModel::Uniform { spread } => ("uniform", Some(spread)),
        JitterModel::Normal { spread } => ("normal", Some(spread)),
        JitterModel::Pareto { spread } => ("pareto", Some(spread)),
        JitterModel::ParetoNormal { spread } => ("paretonormal", Some(spread)),
        JitterModel::Wifi => ("wifi", None),
    };
    let mut pairs = vec![("model", name.into()), ("mean", Value::from(TIME.format(mean)))];
    pairs.extend(spread.map(|spread| ("spread", TIME.format(spread).into())));
    pairs.extend((correlation > 0.0).then(|| ("correlation", correlation.into())));
    pairs.extend(reorder.then(|| ("reorder", true.into())));
    table(pairs)
}

fn reorder(reader: &Reader) -> Result<Reorder, Problem> {
    let reader = part(reader, "reorder", "{ probability = 0.01, delay = \"20 ms\" }", keys::REORDER)?;
    let probability = reader.number("probability", |p| (0.0..=1.0).contains(&p), "[0, 1]")?;
    let delay = reader.quantity("delay", &TIME, limits::WAIT)?;
    Ok(Reorder {
        probability: probability.ok_or_else(|| reader.missing("probability", "0.01"))?,
        delay: delay.ok_or_else(|| reader.missing("delay", "\"20 ms\""))?,
    })
}

fn aggregation(reader: &Reader) -> Result<Nanos, Problem> {
    let every = reader.quantity("aggregation", &TIME, limits::WAIT)?;
    every.ok_or_else(|| reader.missing("aggregation", "\"4 ms\""))
}

/// First time at which packets leave that wait for multiples of `every`. A direction with its own `aggregation` does not inherit the
/// phase of the other one.
fn phase(reader: &Reader, every: Option<Nanos>, other: Option<&Link>) -> Result<Option<Nanos>, Problem> {
    let Some(phase) = reader.quantity("phase", &TIME, limits::PHASE)? else {
        return Ok(other.filter(|_| reader.value("aggregation").is_none()).and_then(|link| link.phase));
    };
    match every {
        None => Err(reader.problem("phase", "requires aggregation")),
        Some(every) if phase >= every => {
            let (phase, every) = (TIME.format(phase), TIME.format(every));
            Err(reader.problem("phase", format!("must be in [0, aggregation), that is below {every}, got {phase}")))
        }
        Some(_) => Ok(Some(phase)),
    }
}

/// Packets that travel at most, as a number or a text such as `1000 packets`.
fn limit(reader: &Reader, other: Option<&Link>) -> Result<Option<u64>, Problem> {
    match reader.value("limit") {
        None => Ok(other.and_then(|link| link.limit)),
        Some(Value::String(text)) if text == "unlimited" => Ok(None),
        Some(Value::String(_)) => reader.quantity("limit", &PACKETS, limits::PACKETS),
        Some(_) => reader.whole("limit", limits::PACKETS),
    }
}

fn policer(reader: &Reader) -> Result<Policer, Problem> {
    let reader = part(reader, "policer", "{ rate = \"10 Mbit/s\", burst = \"250 kB\" }", keys::POLICER)?;
    let rate = reader.quantity("rate", &RATE, limits::RATE)?;
    let burst = reader.quantity("burst", &DATA, limits::BYTES)?;
    Ok(Policer {
        rate_bps: rate.ok_or_else(|| reader.missing("rate", "\"10 Mbit/s\""))?,
        burst: burst.ok_or_else(|| reader.missing("burst", "\"250 kB\""))?,
    })
}

/// Table of these keys and values.
pub fn table(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Table>())
}
