//! Object files in scenarios: `algorithm = { object = "my.bpf.o", struct_ops = "name", params = { beta = 0.9 } }`, and Linux's own modules,
//! which `fullpipe linux module` has compiled: `algorithm = { module = "illinois", kernel = "6.1", params = { theta = 3 } }`.

use crate::base64;
use crate::control::Control;
use crate::load::{Parameter, Program};
use crate::run::Machine;
use crate::shelf;
use fullpipe_cc::params::{Group, Kind, Params, Value as Setting};
use fullpipe_cc::{CongestionControl, Start};
use fullpipe_sim::catalogue::{self, Definition, Found, Source};
use fullpipe_sim::files;
use fullpipe_sim::scenario::{Table, Value};
use std::path::Path;
use std::sync::Arc;

/// The key that names the file; in a scenario in memory a table of its name and its content.
const OBJECT: &str = "object";
/// The variable of the section `.struct_ops` that is meant, where there are several.
const STRUCT_OPS: &str = "struct_ops";
/// The key that names a module; in a scenario in memory a table of its name, its kernel's version and its content.
const MODULE: &str = "module";
/// The kernel whose module is meant, where it was compiled of several.
const KERNEL: &str = "kernel";
const NAME: &str = "name";
const CONTENT: &str = "base64";

/// Larger files are no BPF programs.
const LARGEST: u64 = 16 << 20;

/// Algorithms that scenarios name by `object`. An algorithm is called `x.bpf` after its variable `x`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects;

/// Key at fault, and the fault.
type Wrong = (String, String);

impl Source for Objects {
    fn key(&self) -> &'static str {
        OBJECT
    }

    fn keys(&self) -> &'static [&'static str] {
        &[STRUCT_OPS]
    }

    fn embed(&self, table: &mut Table, folder: &Path) -> Result<(), Wrong> {
        let Some(Value::String(name)) = table.get(OBJECT) else { return Ok(()) };
        let content =
            read(&folder.join(name)).map_err(|what| wrong(OBJECT, format!("{name:?} can't be read: {what}")))?;
        let embedded = [(NAME, name.clone()), (CONTENT, base64::encoded(&content))];
        table.insert(OBJECT.to_owned(), texts(embedded));
        Ok(())
    }

    fn find(&self, table: &Table) -> Result<Found, Wrong> {
        let [name, content] = embedded(table, OBJECT, [NAME, CONTENT])
            .ok_or_else(|| wrong(OBJECT, "must be the name of a file, e.g. \"my.bpf.o\"".to_owned()))?;
        let content = decoded(name, content).map_err(|what| wrong(OBJECT, what))?;
        let operations = match table.get(STRUCT_OPS) {
            None => None,
            Some(Value::String(name)) => Some(name.as_str()),
            Some(_) => return Err(wrong(STRUCT_OPS, "must be the name of a variable, e.g. \"aimd\"".to_owned())),
        };
        let names = Program::names(&content).map_err(|error| wrong(OBJECT, format!("{name}: {error}")))?;
        if let Some(operations) = operations.filter(|operations| !names.iter().any(|name| name == operations)) {
            let allowed = names.join(", ");
            return Err(wrong(STRUCT_OPS, format!("unknown struct_ops {operations:?} of {name} (allowed: {allowed})")));
        }
        let program = Program::load(&content, operations).map_err(|error| wrong(OBJECT, format!("{name}: {error}")))?;
        Ok(ready(program, |program| format!("{}.bpf", program.name()), format!("the object file {name}")))
    }
}

/// Algorithms that scenarios name by `module`: those of Linux's own that the user has compiled by `fullpipe linux module`, which keeps them
/// in the user's cache; a scenario's name leads there and nowhere else. An algorithm is called `tcp_x` after its module `x`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modules;

impl Source for Modules {
    fn key(&self) -> &'static str {
        MODULE
    }

    fn keys(&self) -> &'static [&'static str] {
        &[KERNEL]
    }

    fn embed(&self, table: &mut Table, _: &Path) -> Result<(), Wrong> {
        let Some(Value::String(name)) = table.get(MODULE) else { return Ok(()) };
        let asked = asked(table)?;
        if !shelf::is_name(name) {
            return Err(wrong(MODULE, format!("must be the name of a module, e.g. \"illinois\", got {name:?}")));
        }
        let place = shelf::place();
        let there = place.display();
        let remedy = format!("`fullpipe linux module SOURCE_TREE {name}` compiles it");
        let kernels =
            shelf::kernels(&place, name).map_err(|error| wrong(MODULE, format!("{there}: {}", error.kind())))?;
        let known = kernels.join(", ");
        let kernel = match (asked, &kernels[..]) {
            (_, []) => return Err(wrong(MODULE, format!("module {name} is not in {there}; {remedy}"))),
            (None, [only]) => only,
            (None, _) => {
                return Err(wrong(
                    KERNEL,
                    format!("{name} is compiled for several kernels and requires kernel (allowed: {known})"),
                ));
            }
            (Some(kernel), _) => kernels.iter().find(|known| *known == kernel).ok_or_else(|| {
                wrong(KERNEL, format!("unknown kernel {kernel:?} of {name} in {there} (allowed: {known}); {remedy}"))
            })?,
        };
        let file = shelf::file(&place, kernel, name);
        let content = read(&file).map_err(|what| wrong(MODULE, format!("{} can't be read: {what}", file.display())))?;
        let program =
            Program::load(&content, None).map_err(|error| wrong(MODULE, format!("{}: {error}", file.display())))?;
        let version = program.module().unwrap_or(kernel).to_owned();
        let embedded = [(NAME, name.clone()), (KERNEL, version), (CONTENT, base64::encoded(&content))];
        table.insert(MODULE.to_owned(), texts(embedded));
        Ok(())
    }

    fn find(&self, table: &Table) -> Result<Found, Wrong> {
        asked(table)?;
        let [name, kernel, content] = embedded(table, MODULE, [NAME, KERNEL, CONTENT])
            .filter(|[name, ..]| shelf::is_name(name))
            .ok_or_else(|| wrong(MODULE, "must be the name of a module, e.g. \"illinois\"".to_owned()))?;
        let content = decoded(name, content).map_err(|what| wrong(MODULE, what))?;
        let program = Program::load(&content, None).map_err(|error| wrong(MODULE, format!("{name}: {error}")))?;
        if program.module().is_none() {
            return Err(wrong(MODULE, format!("{name}: an object file requires object = \"FILE\", not module")));
        }
        Ok(ready(program, |_| format!("tcp_{name}"), format!("net/ipv4/tcp_{name}.c of Linux {kernel}")))
    }
}

fn wrong(key: &str, what: String) -> Wrong {
    (key.to_owned(), what)
}

fn asked(table: &Table) -> Result<Option<&str>, Wrong> {
    match table.get(KERNEL) {
        None => Ok(None),
        Some(Value::String(kernel)) => Ok(Some(kernel)),
        Some(_) => Err(wrong(KERNEL, "must be a kernel version, e.g. \"6.1\"".to_owned())),
    }
}

fn texts<const N: usize>(pairs: [(&str, String); N]) -> Value {
    Value::Table(pairs.map(|(key, text)| (key.to_owned(), Value::String(text))).into_iter().collect())
}

/// Texts of the table that replaces a file's name.
fn embedded<'a, const N: usize>(table: &'a Table, of: &str, keys: [&str; N]) -> Option<[&'a str; N]> {
    let file = table.get(of)?.as_table()?;
    let mut texts = [""; N];
    for (text, key) in texts.iter_mut().zip(keys) {
        *text = file.get(key)?.as_str()?;
    }
    Some(texts)
}

fn decoded(name: &str, content: &str) -> Result<Vec<u8>, String> {
    base64::decoded(content).ok_or_else(|| format!("{name}: the content must be base64"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    files::read_regular(path, LARGEST).map_err(|why| match why {
        files::Unread::TooLarge => "it must have at most 16 MiB".to_owned(),
        other => other.to_string(),
    })
}

/// Registry entry of a program's algorithm, and its constructor.
fn ready(program: Program, named: impl Fn(&Program) -> String, paper: String) -> Found {
    let info = definition(&program, named(&program), paper).kept();
    let connection_bytes = program.layout.bytes() as u64;
    let program = Arc::new(program);
    let begin = move |params: &Params, start: Start| -> Box<dyn CongestionControl + Send> {
        Box::new(begun(&program, params, start))
    };
    Found { info, begin: Box::new(begin), connection_bytes }
}

fn definition(program: &Program, name: String, paper: String) -> Definition {
    let rules = program.rules();
    Definition {
        name,
        paper,
        group: if rules { Group::Model } else { Group::Loss },
        recovery: "sack".to_owned(),
        own_slow_start: true,
        ecn: None,
        params: program.parameters().iter().map(parameter).collect(),
    }
}

fn parameter(parameter: &Parameter) -> catalogue::Parameter {
    let Parameter { ref name, default, least, most, flag, .. } = *parameter;
    let (kind, default) = match flag {
        true => (Kind::Flag, Setting::Flag(default != 0.0)),
        false => (Kind::Number { min: least, max: most }, Setting::Number(default)),
    };
    catalogue::Parameter {
        name: name.clone(),
        unit: "1".to_owned(),
        kind,
        default,
        doc: "A variable of the object file.".to_owned(),
        source: "the object file".to_owned(),
    }
}

/// A connection with these parameters.
fn begun(program: &Arc<Program>, params: &Params, start: Start) -> Control {
    let mut machine = Machine::new(Arc::clone(program), start.seed);
    let mut refused = None;
    for parameter in program.parameters() {
        let name = &parameter.name;
        let value = if parameter.flag { f64::from(u8::from(params.flag(name))) } else { params.number(name) };
        match parameter.check(value) {
            Ok(()) => machine.set(parameter, value),
            Err(error) => refused = Some(error.to_string()),
        }
    }
    let control = Control::new(machine, start);
    match refused {
        Some(what) => control.refused(what),
        None => control,
    }
}
