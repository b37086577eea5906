//! Algorithms by name: the built-in ones, and those added to them. A scenario is read with a catalogue, and then has all that a run
//! needs.
//!
//! Three ways in:
//! - [`Catalogue::with`]: an algorithm written in Rust, with a new name. It implements [`CongestionControl`] and nothing else.
//! - [`Catalogue::add`]: an algorithm that is known at run time only, which may replace an earlier one of its name.
//! - [`Catalogue::with_source`]: algorithms that a scenario names by a table with a key of the source, such as
//!   `algorithm = { object = "my.bpf.o", struct_ops = "name", params = { beta = 0.9 } }`.

use crate::scenario::{Problem, Recovery, Table, Value as Tree};
use crate::transport::ecn::EcnMode;
use fullpipe_cc::params::{Group, Info, Kind, MadeForEcn, Param, Params, Value};
use fullpipe_cc::{CongestionControl, Start, registry};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Algorithms by name. Copies are cheap.
///
/// ```
/// use fullpipe_cc::params::Info;
/// use fullpipe_cc::algorithms::reno::Reno;
/// use fullpipe_sim::{Catalogue, Simulation};
///
/// const MINE: Info = Info::new("mine", "none yet");
/// let catalogue = Catalogue::builtin().with(&MINE, |_, start| fullpipe_cc::Classic::new(start, Reno::default()));
/// let scenario = catalogue.read_toml(
///     r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = "mine" }, { algorithm = "cubic" }]
///     "#,
/// )?;
/// let report = Simulation::new(scenario)?.report()?;
/// assert_eq!(report.flows[0].algorithm, "mine");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    foreign: Vec<Arc<Foreign>>,
    sources: Vec<Arc<dyn Source>>,
}

/// Constructor of a connection's algorithm.
pub type Begin = dyn Fn(&Params, Start) -> Box<dyn CongestionControl + Send> + Send + Sync;

/// Algorithm that is not built in: its registry entry, and its constructor.
///
/// Example: see [`Source`].
pub struct Foreign {
    info: &'static Info,
    begin: Box<Begin>,
    /// Memory of each connection's algorithm, bytes; 0 where it is not known.
    connection_bytes: u64,
    /// The table, but for parameters, by which a scenario names it; `None` for its name.
    table: Option<Table>,
}

/// Algorithms that scenarios name by a table, such as `{ object = "my.bpf.o" }`.
///
/// ```
/// use fullpipe_cc::{Classic, algorithms::reno::Reno, params::Info};
/// use fullpipe_sim::Catalogue;
/// use fullpipe_sim::catalogue::{Found, Source};
/// use fullpipe_sim::scenario::Table;
///
/// #[derive(Debug)]
/// struct Scripts;
/// static INFO: Info = Info::new("script", "none");
/// impl Source for Scripts {
///     fn key(&self) -> &'static str { "script" }
///     fn keys(&self) -> &'static [&'static str] { &[] }
///     fn embed(&self, _: &mut Table, _: &std::path::Path) -> Result<(), (String, String)> { Ok(()) }
///     fn find(&self, _: &Table) -> Result<Found, (String, String)> {
///         Ok(Found { info: &INFO, begin: Box::new(|_, start| Box::new(Classic::new(start, Reno::default()))), connection_bytes: 0 })
///     }
/// }
/// let scenario = Catalogue::builtin().with_source(Scripts).read_toml(r#"
///     duration = "5 s"
///     links = [{ name = "l", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
///     flows = [{ algorithm = { script = "x" } }]
/// "#)?;
/// let foreign = scenario.flows[0].tcp.algorithm.foreign.as_ref().expect("not built in");
/// assert_eq!(foreign.info().name, "script");
/// # Ok::<(), fullpipe_sim::scenario::Problem>(())
/// ```
pub trait Source: fmt::Debug + Send + Sync {
    /// The key by which such a table is known; no algorithm has a parameter of this name.
    fn key(&self) -> &'static str;

    /// The other keys that such a table may have, without `params`, a table of the algorithm's parameters.
    fn keys(&self) -> &'static [&'static str];

    /// Puts the content of files that the table names, which are looked for in `folder`, in the place of their names, so that a scenario
    /// in memory is whole wherever it is sent; called where a scenario's file is read, and before [`Source::find`].
    ///
    /// # Errors
    /// The key at fault, and the fault with the allowed values.
    fn embed(&self, table: &mut Table, folder: &Path) -> Result<(), (String, String)>;

    /// Registry entry and constructor of the algorithm that the table describes. For values that live as long as the
    /// process see [`Definition::kept`] and [`kept`].
    ///
    /// # Errors
    /// The key at fault, and the fault with the allowed values.
    fn find(&self, table: &Table) -> Result<Found, (String, String)>;
}

/// Algorithm that a source has found.
///
/// Example: see [`Source`].
pub struct Found {
    /// Registry entry.
    pub info: &'static Info,
    /// Begins a connection.
    pub begin: Box<Begin>,
    /// Memory of each connection's algorithm, bytes; the run's limit counts it.
    pub connection_bytes: u64,
}

impl Catalogue {
    /// The crate's own algorithms.
    pub fn builtin() -> Catalogue {
        Catalogue::default()
    }

    /// Catalogue with one more algorithm, which `begin` constructs.
    ///
    /// # Panics
    /// Where [`Catalogue::add`] gives an error.
    #[must_use]
    pub fn with<C: CongestionControl + Send + 'static>(
        mut self,
        info: &'static Info,
        begin: impl Fn(&Params, Start) -> C + Send + Sync + 'static,
    ) -> Catalogue {
        let begin = move |params: &Params, start: Start| -> Box<dyn CongestionControl + Send> {
            Box::new(begin(params, start))
        };
        self.add(info, Box::new(begin)).unwrap_or_else(|fault| panic!("{fault}"));
        self
    }

    /// Adds an algorithm, and replaces an added one of equal name.
    ///
    /// # Errors
    /// Fault of `info`: the name of a built-in algorithm, an unknown recovery or kind of ECN, a parameter whose
    /// default is not allowed.
    pub fn add(&mut self, info: &'static Info, begin: Box<Begin>) -> Result<(), String> {
        check(info)?;
        self.foreign.retain(|foreign| foreign.info.name != info.name);
        self.foreign.push(Arc::new(Foreign { info, begin, connection_bytes: 0, table: None }));
        Ok(())
    }

    /// These and those of a source.
    #[must_use]
    pub fn with_source(mut self, source: impl Source + 'static) -> Catalogue {
        self.sources.push(Arc::new(source));
        self
    }

    /// Registry entries of all algorithms that have a name: the built-in ones, then the others in the order of their addition.
    pub fn infos(&self) -> impl Iterator<Item = &'static Info> {
        registry::ALL.iter().copied().chain(self.foreign.iter().map(|foreign| foreign.info))
    }

    /// Registry entry of the algorithm of this name.
    pub fn find(&self, name: &str) -> Option<&'static Info> {
        self.infos().find(|info| info.name == name)
    }

    /// Every algorithm that has a name; added ones with their constructors.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static Info, Option<&Arc<Foreign>>)> {
        let own = registry::ALL.iter().map(|info| (*info, None));
        own.chain(self.foreign.iter().map(|foreign| (foreign.info, Some(foreign))))
    }

    /// The source whose key the table has.
    pub(crate) fn source_of(&self, table: &Table) -> Option<&dyn Source> {
        self.sources.iter().map(|source| &**source).find(|source| table.contains_key(source.key()))
    }

    /// Puts the content of all files into a scenario's tree of values that it names: traces of links, and files of sources of algorithms.
    /// The files are looked for in `folder`.
    ///
    /// # Errors
    /// Fault of a file, with the key that names it.
    pub fn embed(&self, tree: &mut Table, folder: &Path) -> Result<(), Problem> {
        crate::scenario::read_traces(tree, folder)?;
        for kind in ["flows", "web"] {
            let groups = tree.get_mut(kind).and_then(Tree::as_array_mut).into_iter().flatten();
            for (index, group) in groups.enumerate() {
                let algorithm = group.as_table_mut().and_then(|group| group.get_mut("algorithm"));
                let Some(table) = algorithm.and_then(Tree::as_table_mut) else { continue };
                let Some(source) = self.source_of(table) else { continue };
                let place = format!("{kind}[{index}].algorithm");
                source.embed(table, folder).map_err(|(key, what)| Problem::within(&place, &key, what))?;
            }
        }
        Ok(())
    }
}

impl Foreign {
    /// One that a scenario names by a table.
    pub(crate) fn of_table(found: Found, table: Table) -> Foreign {
        let Found { info, begin, connection_bytes } = found;
        Foreign { info, begin, connection_bytes, table: Some(table) }
    }

    /// Memory of each connection's algorithm, bytes.
    pub(crate) fn connection_bytes(&self) -> u64 {
        self.connection_bytes
    }

    /// Registry entry.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// The table, but for parameters, by which a scenario names it; `None` for its name.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// Begins a connection.
    pub(crate) fn begin(&self, params: &Params, start: Start) -> Box<dyn CongestionControl + Send> {
        (self.begin)(params, start)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.info.name).finish_non_exhaustive()
    }
}

/// Equality to a scenario: equal names and parameters.
impl PartialEq for Foreign {
    fn eq(&self, other: &Foreign) -> bool {
        self.info.name == other.info.name && self.info.params == other.info.params && self.table == other.table
    }
}

/// Fault of a registry entry.
pub(crate) fn check(info: &Info) -> Result<(), String> {
    let Info { name, recovery, ecn, params, .. } = *info;
    if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == ',') {
        return Err(format!("algorithm {name:?}: requires a name of printable characters without spaces and commas"));
    }
    if registry::find(name).is_some() {
        return Err(format!("algorithm {name:?}: conflicts with the built-in algorithm of this name"));
    }
    if Recovery::find(recovery).is_none() {
        let allowed = Recovery::ALL.map(Recovery::name).join(", ");
        return Err(format!("algorithm {name:?}: unknown recovery {recovery:?} (allowed: {allowed})"));
    }
    if let Some(MadeForEcn { kind, ect }) = ecn {
        if EcnMode::find(kind).is_none() || ect > 1 {
            let allowed = EcnMode::ALL.map(EcnMode::name).join(", ");
            return Err(format!(
                "algorithm {name:?}: ECN must be one of {allowed} with ECT 0 or 1, got {kind:?} with ECT({ect})"
            ));
        }
    }
    params.iter().enumerate().try_for_each(|(place, param)| {
        let Param { name: key, kind, default, .. } = *param;
        let fault = |what: &str| Err(format!("algorithm {name:?}, parameter {key:?}: {what}"));
        if key.is_empty() || key == "name" || params[..place].iter().any(|other| other.name == key) {
            return fault("requires a unique name that is not \"name\"");
        }
        let Some(default) = default else { return fault("requires a default") };
        match (kind, default) {
            (Kind::Choice([]), _) => fault("requires at least one choice"),
            (Kind::Number { min, max }, Value::Number(default)) if !(min <= default && default <= max) => {
                fault(&format!("the default must be in [{min}, {max}], got {default}"))
            }
            _ if !kind.admits(default) => fault("the default must be of the parameter's kind"),
            _ => Ok(()),
        }
    })
}

/// Registry entry of an algorithm that is known at run time only: an [`Info`] that owns its parts.
///
/// ```
/// use fullpipe_cc::params::{Group, Kind, Value};
/// use fullpipe_sim::catalogue::{Definition, Parameter};
///
/// let text = |text: &str| text.to_owned();
/// let beta = Parameter {
///     name: text("beta"), unit: text("1"), kind: Kind::Number { min: 0.1, max: 0.9 }, default: Value::Number(0.5),
///     doc: text("Part that a loss leaves."), source: text("the author"),
/// };
/// let mine = Definition {
///     name: text("mine"), paper: text("none"), group: Group::Loss, recovery: text("sack"), own_slow_start: false,
///     ecn: None, params: vec![beta],
/// };
/// assert_eq!(mine.kept().params[0].default, Some(Value::Number(0.5)));
/// assert!(std::ptr::eq(mine.kept(), mine.clone().kept()), "equal ones are kept once");
/// ```
#[derive(Clone, Debug)]
pub struct Definition {
    /// See [`Info::name`]; so are the others.
    pub name: String,
    /// Source.
    pub paper: String,
    /// Congestion signal.
    pub group: Group,
    /// The recovery it assumes.
    pub recovery: String,
    /// Whether slow start is part of the algorithm.
    pub own_slow_start: bool,
    /// The ECN it is made for: its kind, and the codepoint of its packets.
    pub ecn: Option<(String, u8)>,
    /// Its parameters.
    pub params: Vec<Parameter>,
}

/// A [`Param`] whose parts are its own.
///
/// Example: see [`Definition`].
#[derive(Clone, Debug)]
pub struct Parameter {
    /// See [`Param::name`]; so are the others.
    pub name: String,
    /// Its unit, "1" for none.
    pub unit: String,
    /// Values that are allowed.
    pub kind: Kind,
    /// Value that holds where a scenario gives none.
    pub default: Value,
    /// Meaning.
    pub doc: String,
    /// Where its default comes from.
    pub source: String,
}

impl Definition {
    /// Entry that lives as long as the process; equal ones are kept once.
    pub fn kept(&self) -> &'static Info {
        static KEPT: LazyLock<Mutex<HashMap<String, &'static Info>>> = LazyLock::new(Mutex::default);
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(format!("{self:?}")).or_insert_with(|| Box::leak(Box::new(self.leaked())))
    }

    fn leaked(&self) -> Info {
        let param = |param: &Parameter| {
            let Parameter { name, unit, kind, default, doc, source } = param;
            Param::new(kept(name), *kind, Some(*default), kept(doc)).unit(kept(unit)).source(kept(source))
        };
        let made_for = |(kind, ect): &(String, u8)| MadeForEcn { kind: kept(kind), ect: *ect };
        Info::new(kept(&self.name), kept(&self.paper))
            .group(self.group)
            .recovery(kept(&self.recovery))
            .own_slow_start(self.own_slow_start)
            .ecn(self.ecn.as_ref().map(made_for))
            .params(Box::leak(self.params.iter().map(param).collect()))
    }
}

/// Text that lives as long as the process, for names met at run time (such as those of
/// [`CongestionControl::inspect`]); equal texts are kept once.
pub fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = all.get(text) {
        return text;
    }
    let text = Box::leak(text.to_owned().into_boxed_str());
    all.insert(text);
    text
}
