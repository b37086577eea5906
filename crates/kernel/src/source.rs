//! Object files in scenarios: `algorithm = { object = "my.bpf.o", struct_ops = "name", params = { beta = 0.9 } }`.

use crate::base64;
use crate::control::Control;
use crate::load::{Parameter, Program};
use crate::run::Machine;
use fullpipe_cc::params::{Group, Info, Kind, Params};
use fullpipe_cc::{CongestionControl, Start};
use fullpipe_sim::catalogue::{self, Begin, Definition, Source};
use fullpipe_sim::scenario::{Table, Value};
use std::path::Path;
use std::sync::Arc;

/// The key that names the file; in a scenario in memory a table of its name and its content.
const OBJECT: &str = "object";
/// The variable of the section `.struct_ops` that is meant, where there are several.
const STRUCT_OPS: &str = "struct_ops";
const NAME: &str = "name";
const CONTENT: &str = "base64";

/// The larger files are none of a program for BPF.
const LARGEST: u64 = 16 << 20;

/// Algorithms that scenarios name by `object`. An algorithm is called `x.bpf` after its variable `x`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects;

/// The key at fault, and what is wrong.
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
        let wrong = |what: String| (OBJECT.to_owned(), format!("{name:?} can't be read: {what}"));
        let path = folder.join(name);
        let size = path.metadata().map_err(|error| wrong(error.kind().to_string()))?.len();
        if size > LARGEST {
            return Err(wrong("more than 16 MiB".to_owned()));
        }
        let content = std::fs::read(&path).map_err(|error| wrong(error.kind().to_string()))?;
        let embedded = [(NAME, name.clone()), (CONTENT, base64::encoded(&content))];
        let embedded = embedded.map(|(key, text)| (key.to_owned(), Value::String(text)));
        table.insert(OBJECT.to_owned(), Value::Table(embedded.into_iter().collect()));
        Ok(())
    }

    fn find(&self, table: &Table) -> Result<(&'static Info, Box<Begin>), Wrong> {
        let wrong = |key: &str, what: String| (key.to_owned(), what);
        let (name, content) = embedded(table).map_err(|what| wrong(OBJECT, what))?;
        let operations = match table.get(STRUCT_OPS) {
            None => None,
            Some(Value::String(name)) => Some(name.as_str()),
            Some(_) => return Err(wrong(STRUCT_OPS, "expected the name of a variable, e.g. \"aimd\"".to_owned())),
        };
        let names = Program::names(&content).map_err(|error| wrong(OBJECT, format!("{name}: {error}")))?;
        if let Some(operations) = operations.filter(|operations| !names.iter().any(|name| name == operations)) {
            let allowed = names.join(", ");
            return Err(wrong(STRUCT_OPS, format!("{name} has no {operations:?} (allowed: {allowed})")));
        }
        let program = Program::load(&content, operations).map_err(|error| wrong(OBJECT, format!("{name}: {error}")))?;
        let info = definition(&program, &name).kept();
        let program = Arc::new(program);
        let begin = move |params: &Params, start: Start| -> Box<dyn CongestionControl + Send> {
            Box::new(begun(&program, params, start))
        };
        Ok((info, Box::new(begin)))
    }
}

/// The file's name and content.
fn embedded(table: &Table) -> Result<(String, Vec<u8>), String> {
    let file = table.get(OBJECT).and_then(Value::as_table);
    let text = |key| file.and_then(|file| file.get(key)).and_then(Value::as_str);
    let (Some(name), Some(content)) = (text(NAME), text(CONTENT)) else {
        return Err("expected the name of a file, e.g. \"my.bpf.o\"".to_owned());
    };
    let content = base64::decoded(content).ok_or_else(|| format!("{name}: its content is not base64"))?;
    Ok((name.to_owned(), content))
}

fn definition(program: &Program, file: &str) -> Definition {
    let rules = program.rules();
    Definition {
        name: format!("{}.bpf", program.name()),
        paper: format!("the object file {file}"),
        group: if rules { Group::Model } else { Group::Loss },
        recovery: "sack".to_owned(),
        own_slow_start: true,
        ecn: None,
        params: program.parameters().iter().map(parameter).collect(),
    }
}

fn parameter(parameter: &Parameter) -> catalogue::Parameter {
    let Parameter { ref name, default, least, most, flag, .. } = *parameter;
    let kind = match flag {
        true => Kind::Flag { default: default != 0.0 },
        false => Kind::Number { default, min: least, max: most },
    };
    catalogue::Parameter {
        name: name.clone(),
        unit: "1".to_owned(),
        kind,
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
