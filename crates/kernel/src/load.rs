//! An object file made ready to run: its sections laid out, its maps, its relocations, its operations.

mod parameter;
mod resolve;

use crate::btf::{Btf, Id, TypeKind};
use crate::code::{self, Instruction, op};
use crate::elf::{Elf, Section};
use crate::error::{Error, Result, line};
use crate::memory::{self, FIRST_OWN, Layout, Region};
use crate::relocate::{self, Fix};
use crate::target;
use std::collections::HashMap;
use std::fmt;

pub use parameter::Parameter;

/// The members of `tcp_congestion_ops` that are called.
pub const MEMBERS: [&str; 14] = [
    "init",
    "release",
    "ssthresh",
    "cong_avoid",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "min_tso_segs",
    "cong_control",
    "undo_cwnd",
    "sndbuf_expand",
    "tso_segs",
    "skb_marked_lost",
];

/// Fields of a socket that a program may change, as in the kernel: its own area, the windows, the pacing rate.
const WRITABLE: [&str; 10] = [
    "inet_conn.icsk_ack.pending",
    "inet_conn.icsk_ca_priv",
    "inet_conn.icsk_inet.sk.sk_pacing_rate",
    "inet_conn.icsk_inet.sk.sk_pacing_status",
    "snd_cwnd",
    "snd_cwnd_cnt",
    "snd_cwnd_stamp",
    "snd_ssthresh",
    "ecn_flags",
    "app_limited",
];

/// Those of [`MEMBERS`] that are not called.
const NOT_CALLED: [&str; 2] = ["release", "sndbuf_expand"];

/// The function by which a module begins (`shim.h`).
const MODULE_BEGINS: &str = "module_begins";
/// Prefix of the names of its parameters.
const MODULE_PARAMETER: &str = "module_param_";
/// Section with its target, and the version of the kernel's source.
const MODULE_SECTION: &str = "fullpipe";

/// Bytes of a local call's frame, and how many calls may be nested (the kernel's Documentation/bpf/verifier.rst).
pub const FRAME_BYTES: u32 = 512;
pub const MOST_FRAMES: usize = 8;

/// Bytes for the arguments of a call.
const CONTEXT_BYTES: usize = 64;

/// Kinds of map (`enum bpf_map_type`).
const ARRAY: u32 = 2;
const PER_CPU_ARRAY: u32 = 6;
const SOCKET_STORAGE: u32 = 24;

/// Kinds of relocation (Documentation/bpf/llvm_reloc.rst).
const R_BPF_64_64: u32 = 1;
const R_BPF_64_ABS64: u32 = 2;
const R_BPF_64_32: u32 = 10;

/// Program that is ready to run. Any number of connections run it, each with separate memory.
pub struct Program {
    /// The name of the variable in `.struct_ops`.
    pub(crate) operations: String,
    /// Name of the algorithm in the kernel.
    pub(crate) kernel_name: String,
    pub(crate) code: Vec<Instruction>,
    /// Where each section's instructions begin.
    sections: Vec<(usize, String)>,
    /// Why a trap must not be reached.
    pub(crate) traps: Vec<String>,
    /// The first instruction of each of [`MEMBERS`].
    pub(crate) entries: [Option<usize>; MEMBERS.len()],
    pub(crate) layout: Layout,
    pub(crate) maps: Vec<Map>,
    /// The byte of a socket may be changed.
    pub(crate) writable: Vec<bool>,
    pub(crate) parameters: Vec<Parameter>,
    /// It is a module's source compiled for the machine (`fullpipe linux module`): plain functions, which may write all of the socket. The
    /// version of the kernel whose source that is.
    pub(crate) module: Option<String>,
    /// Initialization of a module.
    pub(crate) begins: Option<usize>,
    /// `cong_control` takes the newer kernels' four arguments (6.10), not two.
    pub(crate) control_takes_four: bool,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Program").field("operations", &self.operations).finish_non_exhaustive()
    }
}

/// A map: an array, or storage of the socket.
#[derive(Debug)]
pub struct Map {
    pub(crate) name: String,
    /// Its representation in a program.
    handle: Region,
    pub(crate) values: Region,
    pub(crate) value_size: u32,
    pub(crate) entries: u32,
    pub(crate) storage: bool,
}

impl Program {
    /// Reads an object file and takes the algorithm that is declared in its section `.struct_ops` by the variable `operations`, or the
    /// only one there is.
    ///
    /// # Errors
    /// The file is no such object, or it needs something that the simulator lacks.
    pub fn load(file: &[u8], operations: Option<&str>) -> Result<Program> {
        let elf = Elf::parse(file)?;
        let types = elf.section(".BTF").ok_or_else(|| Error::new("requires BTF (clang -g)"))?;
        let btf = Btf::parse(&types.data)?;
        let mut loader = Loader::new(&elf, &btf)?;
        if loader.module.is_some() {
            loader.module_parameters()?;
        } else {
            loader.parameters()?;
        }
        let chosen = chosen(&algorithms(&elf, &btf)?, operations)?;
        loader.code()?;
        loader.program(&chosen)
    }

    /// The algorithms of an object file, as its section `.struct_ops` names them.
    ///
    /// # Errors
    /// The file is no such object.
    pub fn names(file: &[u8]) -> Result<Vec<String>> {
        let elf = Elf::parse(file)?;
        let types = elf.section(".BTF").ok_or_else(|| Error::new("requires BTF (clang -g)"))?;
        let listed = algorithms(&elf, &Btf::parse(&types.data)?)?;
        Ok(listed.into_iter().map(|algorithm| algorithm.name).collect())
    }

    /// The name of the algorithm in the object's section `.struct_ops`.
    pub fn name(&self) -> &str {
        &self.operations
    }

    /// Name of the algorithm in the kernel.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The version of the kernel whose module it is, where it is one's source compiled for the simulator.
    pub fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    /// Whether it has a member of `tcp_congestion_ops`.
    pub fn has(&self, member: usize) -> bool {
        self.entries[member].is_some()
    }

    /// Whether it rules its window and rate alone (`cong_control`).
    pub fn rules(&self) -> bool {
        MEMBERS.iter().zip(&self.entries).any(|(name, entry)| *name == "cong_control" && entry.is_some())
    }

    /// The numbers that may be set before a connection begins: its `const volatile` variables, by their names or their members' names, or
    /// those that a module declares. Of one called `x_q20` the parameter is `x`, and it holds that times 2 to the 20th.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The file that this was loaded from, with some parameters at other values, for a kernel.
    ///
    /// # Errors
    /// It has no such parameter, or that cannot have the value; or it is a module's, which no kernel takes.
    pub fn file_with(&self, file: &[u8], values: &[(&str, f64)]) -> Result<Vec<u8>> {
        if self.module.is_some() {
            let what = "the Linux engine requires algorithm = { module = .. }; this object file is a module compiled for the simulator";
            return Err(Error::new(what));
        }
        let mut file = file.to_vec();
        for &(name, value) in values {
            let parameter = self.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
                let known: Vec<_> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Error::new(format!("unknown parameter {name:?} (allowed: {known})"))
            })?;
            parameter.check(value)?;
            let Parameter { file_at, size, .. } = *parameter;
            let place = file.get_mut(file_at..file_at + size);
            let place = place.ok_or_else(|| Error::new("the file must be the one of the loaded program"))?;
            place.copy_from_slice(&parameter.encoded(value).to_le_bytes()[..size]);
        }
        Ok(file)
    }

    /// The section and number of an instruction.
    pub(crate) fn place(&self, at: usize) -> (String, usize) {
        let found = self.sections.iter().rev().find(|(first, _)| *first <= at);
        found.map_or((String::new(), at), |(first, name)| (line(name), at - first))
    }

    /// Map at an address.
    pub(crate) fn map(&self, address: u64) -> Option<usize> {
        self.maps.iter().position(|map| memory::address(map.handle, 0) == address)
    }
}

/// A variable of a section `.struct_ops`.
#[derive(Clone, Debug)]
struct Algorithm {
    name: String,
    of: Id,
    section: usize,
    at: u64,
}

fn algorithms(elf: &Elf, btf: &Btf) -> Result<Vec<Algorithm>> {
    let mut found = Vec::new();
    for (section, Section { name: section_name, .. }) in elf.sections.iter().enumerate() {
        if !matches!(section_name.as_str(), ".struct_ops" | ".struct_ops.link" | "?.struct_ops" | "?.struct_ops.link") {
            continue;
        }
        for variable in btf.variables(section_name)? {
            let (_, plain) = btf.plain(variable.of)?;
            if plain.name.split("___").next() != Some("tcp_congestion_ops") {
                continue;
            }
            let at = place_of(elf, section, variable.name)?;
            found.push(Algorithm { name: variable.name.to_owned(), of: variable.of, section, at });
        }
    }
    Ok(found)
}

fn chosen(listed: &[Algorithm], name: Option<&str>) -> Result<Algorithm> {
    let names = || listed.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
    match (listed, name) {
        ([], _) => Err(Error::new("requires a tcp_congestion_ops in SEC(\".struct_ops\")")),
        ([only], None) => Ok(only.clone()),
        (_, None) => Err(Error::new(format!("several algorithms require struct_ops (allowed: {})", names()))),
        (_, Some(name)) => listed
            .iter()
            .find(|a| a.name == name)
            .cloned()
            .ok_or_else(|| Error::new(format!("unknown struct_ops {name:?} (allowed: {})", names()))),
    }
}

/// Where a variable lies in its section.
fn place_of(elf: &Elf, section: usize, name: &str) -> Result<u64> {
    let symbol = elf.symbols.iter().find(|s| s.section == Some(section) && s.name == name);
    symbol.map(|s| s.value).ok_or_else(|| Error::new(format!("variable {name} requires a symbol")))
}

/// Of a module's object, the version of the kernel whose source it was made of.
///
/// # Errors
/// It was made for other records than these.
fn module(elf: &Elf) -> Result<Option<String>> {
    let Some(section) = elf.section(MODULE_SECTION) else { return Ok(None) };
    let text = String::from_utf8_lossy(&section.data);
    let mut said = text.split('\0');
    match (said.next(), said.next()) {
        (Some(made_for), Some(kernel)) if made_for == target::MADE_FOR.to_string() => Ok(Some(line(kernel))),
        _ => Err(Error::new(
            "the module requires the fullpipe version that compiled it; `fullpipe linux module SOURCE_TREE NAME` compiles it again",
        )),
    }
}

struct Loader<'a> {
    elf: &'a Elf,
    btf: &'a Btf,
    module: Option<String>,
    layout: Layout,
    /// The region of each section that holds data.
    regions: HashMap<usize, Region>,
    maps: Vec<Map>,
    parameters: Vec<Parameter>,
    /// Externs `__kconfig`: name and address.
    externs: HashMap<String, u64>,
    code: Vec<Instruction>,
    /// Where each section's instructions begin.
    firsts: HashMap<usize, usize>,
    sections: Vec<(usize, String)>,
    traps: Vec<String>,
}

impl<'a> Loader<'a> {
    fn new(elf: &'a Elf, btf: &'a Btf) -> Result<Loader<'a>> {
        let mut loader = Loader {
            elf,
            btf,
            module: module(elf)?,
            layout: Layout::default(),
            regions: HashMap::new(),
            maps: Vec::new(),
            parameters: Vec::new(),
            externs: HashMap::new(),
            code: Vec::new(),
            firsts: HashMap::new(),
            sections: Vec::new(),
            traps: Vec::new(),
        };
        let samples = ["rate_sample", "ack_sample", "sk_buff"].map(target::size_of);
        let sample = samples.into_iter().max().unwrap_or(0);
        let stack = vec![0; MOST_FRAMES * FRAME_BYTES as usize];
        loader.region("null", &[], false)?;
        loader.region("its arguments", &[0; CONTEXT_BYTES], false)?;
        loader.region("the socket", &vec![0; target::size_of("tcp_sock")], true)?;
        loader.region("the sample", &vec![0; sample], false)?;
        let last = loader.region("the stack", &stack, true)?;
        debug_assert_eq!(last + 1, FIRST_OWN);
        for (index, section) in elf.sections.iter().enumerate() {
            let base = section.name.trim_start_matches('.').split('.').next().unwrap_or_default();
            if section.name.starts_with('.') && matches!(base, "data" | "bss" | "rodata" | "struct_ops") {
                let region = loader.region(&section.name, &section.data, base != "rodata")?;
                loader.regions.insert(index, region);
            }
        }
        loader.maps()?;
        loader.externs()?;
        Ok(loader)
    }

    fn region(&mut self, name: &str, content: &[u8], writable: bool) -> Result<Region> {
        let added = self.layout.add(name, content, writable);
        added.ok_or_else(|| Error::new(format!("memory regions must have at most 64 MiB together, exceeded at {name}")))
    }

    /// Reads the maps that the section `.maps` declares (docs.kernel.org/bpf/libbpf: "BTF-defined maps").
    fn maps(&mut self) -> Result<()> {
        if self.elf.section("maps").is_some() {
            return Err(Error::new("maps require SEC(\".maps\"), got SEC(\"maps\")"));
        }
        for variable in self.btf.variables(".maps")? {
            let name = variable.name;
            let mut map = Declared::default();
            for member in self.btf.members(variable.of)? {
                match member.name.as_str() {
                    "type" => map.kind = self.number(member.of)?,
                    "max_entries" => map.entries = self.number(member.of)?,
                    "value_size" => map.value_size = self.number(member.of)?,
                    "value" => map.value_size = self.btf.size(self.pointed(member.of)?)?,
                    _ => {}
                }
            }
            let storage = map.kind == SOCKET_STORAGE;
            if !storage && !matches!(map.kind, ARRAY | PER_CPU_ARRAY) {
                let kind = map.kind;
                return Err(Error::new(format!("map {name} must be an array or socket storage, got kind {kind}")));
            }
            let entries = if storage { 1 } else { map.entries };
            let bytes = u64::from(entries) * u64::from(map.value_size.next_multiple_of(8));
            if map.value_size == 0 || map.value_size > 1 << 24 || bytes == 0 || bytes > 1 << 24 {
                return Err(Error::new(format!("map {name} must have a size in [1 B, 16 MiB], got {bytes} B")));
            }
            let values = self.region(&format!("the map {name}"), &vec![0; bytes as usize], true)?;
            let handle = self.region(&format!("the map {name} itself"), &[], false)?;
            self.maps.push(Map { name: name.to_owned(), handle, values, value_size: map.value_size, entries, storage });
        }
        Ok(())
    }

    /// Number in a map's declaration `int (*name)[NUMBER]`.
    fn number(&self, of: Id) -> Result<u32> {
        match self.btf.plain(self.pointed(of)?)?.1.kind {
            TypeKind::Array { count, .. } => Ok(count),
            _ => Err(Error::new("a size in a map must be a number")),
        }
    }

    fn pointed(&self, of: Id) -> Result<Id> {
        match self.btf.plain(of)?.1.kind {
            TypeKind::Pointer(to) => Ok(to),
            _ => Err(Error::new("a member of a map must be a pointer")),
        }
    }

    /// Settings of the kernel (`extern ... __kconfig`).
    fn externs(&mut self) -> Result<()> {
        for variable in self.btf.variables(".kconfig")? {
            let value = match variable.name {
                "CONFIG_HZ" => target::HZ,
                "LINUX_KERNEL_VERSION" => target::VERSION,
                name if self.elf.symbols.iter().any(|s| s.weak && s.name == name) => 0,
                name => {
                    return Err(Error::new(format!(
                        "requires the kernel setting {name}, which the simulator does not have"
                    )));
                }
            };
            let size = self.btf.size(variable.of)?;
            if !matches!(size, 1 | 2 | 4 | 8) {
                return Err(Error::new(format!("extern {} must be a number", variable.name)));
            }
            let region = self.region(variable.name, &value.to_le_bytes()[..size as usize], false)?;
            self.externs.insert(variable.name.to_owned(), memory::address(region, 0));
        }
        Ok(())
    }

    /// Finds the parameters: `const volatile` variables, and the members of those that are records.
    fn parameters(&mut self) -> Result<()> {
        for (index, section) in self.elf.sections.iter().enumerate() {
            let Some(&region) = self.regions.get(&index).filter(|_| section.name.starts_with(".rodata")) else {
                continue;
            };
            for variable in self.btf.variables(&section.name)? {
                let Ok(at) = place_of(self.elf, index, variable.name) else { continue };
                if !self.may_change(variable.of)? {
                    continue;
                }
                let (id, plain) = self.btf.plain(variable.of)?;
                if let TypeKind::Record { members, .. } = &plain.kind {
                    for member in members.iter().filter(|member| member.bits == 0) {
                        let at = at.saturating_add(u64::from(member.bit / 8));
                        self.parameter(&member.name, member.of, section, region, at)?;
                    }
                } else {
                    self.parameter(variable.name, id, section, region, at)?;
                }
            }
        }
        Ok(())
    }

    /// Finds a module's parameters: its variables that have another name as such.
    fn module_parameters(&mut self) -> Result<()> {
        let elf = self.elf;
        for symbol in &elf.symbols {
            let (Some(name), Some(index)) = (symbol.name.strip_prefix(MODULE_PARAMETER), symbol.section) else {
                continue;
            };
            let Some(&region) = self.regions.get(&index) else { continue };
            let section = &elf.sections[index];
            for variable in self.btf.variables(&section.name)? {
                if place_of(elf, index, variable.name).is_ok_and(|at| at == symbol.value) {
                    let (id, _) = self.btf.plain(variable.of)?;
                    self.parameter(name, id, section, region, symbol.value)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a variable is `volatile`, so that the compiler has not relied on its value.
    fn may_change(&self, mut of: Id) -> Result<bool> {
        for _ in 0..8 {
            match self.btf.get(of)?.kind {
                TypeKind::Alias { volatile: true, .. } => return Ok(true),
                TypeKind::Alias { of: beneath, .. } => of = beneath,
                _ => break,
            }
        }
        Ok(false)
    }

    fn parameter(&mut self, name: &str, of: Id, section: &Section, region: Region, at: u64) -> Result<()> {
        let Some(parameter) = Parameter::of(self.btf, name, of)? else { return Ok(()) };
        let Parameter { size, .. } = parameter;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let content = self.layout.content(region);
        let Some(bytes) = at.checked_add(size).and_then(|end| content.get(at..end)) else {
            return Err(Error::new(format!("variable {name} must be inside its section")));
        };
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        let default = parameter.decoded(u64::from_le_bytes(word));
        let address = memory::address(region, at as u32);
        let file_at = section.file_at as usize + at;
        self.parameters.push(Parameter { address, file_at, default, ..parameter });
        Ok(())
    }

    /// Reads every section of instructions, with its relocations applied.
    fn code(&mut self) -> Result<()> {
        let mut fixes = match self.elf.section(".BTF.ext") {
            Some(ext) => relocate::fixes(&ext.data, self.btf, target::btf())?,
            None => HashMap::new(),
        };
        let mut count = 0;
        for (index, section) in self.elf.sections.iter().enumerate().filter(|(_, s)| s.executable) {
            self.firsts.insert(index, count);
            self.sections.push((count, section.name.clone()));
            count += section.data.len() / 8;
        }
        for (index, section) in self.elf.sections.iter().enumerate().filter(|(_, s)| s.executable) {
            let mut bytes = section.data.clone();
            let mut missing = Vec::new();
            for (at, fix) in fixes.remove(&section.name).unwrap_or_default() {
                match fix {
                    Fix::Value(value, size) => relocate::apply(&mut bytes, at as usize, value, size)?,
                    Fix::Missing(what) => missing.push((at as usize / 8, what)),
                }
            }
            let first = self.firsts[&index];
            let code = code::decode(&section.name, &bytes, first)?;
            self.code.extend(code);
            self.calls(index)?;
            for (at, what) in missing {
                let what = format!("requires {what}, which the simulator does not have");
                self.trap(first + at, what);
            }
        }
        Ok(())
    }

    /// Puts a trap in the place of an instruction.
    fn trap(&mut self, at: usize, why: String) {
        if let Some(instruction) = self.code.get_mut(at) {
            *instruction =
                Instruction { opcode: op::TRAP, dst: 0, src: 0, offset: 0, immediate: self.traps.len() as i64 };
            self.traps.push(why);
        }
    }

    fn count(&self) -> usize {
        self.elf.sections.iter().filter(|s| s.executable).map(|s| s.data.len() / 8).sum()
    }
}

#[derive(Default)]
struct Declared {
    kind: u32,
    entries: u32,
    value_size: u32,
}
