//! An object file made ready to run: its sections laid out, its maps, its relocations, its operations.

use crate::btf::{Btf, Id, Kind};
use crate::code::{self, Instruction, op};
use crate::elf::{Elf, Section, Symbol};
use crate::error::{Error, Result, line};
use crate::host::Host;
use crate::memory::{self, FIRST_OWN, Layout, Region};
use crate::reach;
use crate::relocate::{self, Fix};
use crate::target::{self, Field};
use std::collections::HashMap;
use std::fmt;

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
        let types = elf.section(".BTF").ok_or_else(|| Error::new("it has no BTF (clang -g makes it)"))?;
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
        let types = elf.section(".BTF").ok_or_else(|| Error::new("it has no BTF (clang -g makes it)"))?;
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
            let what = "it is a module compiled for the simulator; a kernel has its own (algorithm = { module = .. } runs both)";
            return Err(Error::new(what));
        }
        let mut file = file.to_vec();
        for &(name, value) in values {
            let parameter = self.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
                let known: Vec<_> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
                let known =
                    if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
                Error::new(format!("no parameter {name:?} ({known})"))
            })?;
            parameter.check(value)?;
            let Parameter { file_at, size, .. } = *parameter;
            let place = file.get_mut(file_at..file_at + size);
            let place = place.ok_or_else(|| Error::new("this is not the file that the program is of"))?;
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
        ([], _) => Err(Error::new("it declares no congestion control (a tcp_congestion_ops in SEC(\".struct_ops\"))")),
        ([only], None) => Ok(only.clone()),
        (_, None) => Err(Error::new(format!("it declares several algorithms: choose one by struct_ops ({})", names()))),
        (_, Some(name)) => listed
            .iter()
            .find(|a| a.name == name)
            .cloned()
            .ok_or_else(|| Error::new(format!("it has no struct_ops {name:?} (it has {})", names()))),
    }
}

/// Where a variable lies in its section.
fn place_of(elf: &Elf, section: usize, name: &str) -> Result<u64> {
    let symbol = elf.symbols.iter().find(|s| s.section == Some(section) && s.name == name);
    symbol.map(|s| s.value).ok_or_else(|| Error::new(format!("it has no symbol for its variable {name}")))
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
        _ => Err(Error::new("it was made by another fullpipe; `fullpipe linux module SOURCE_TREE NAME` makes it anew")),
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
        added.ok_or_else(|| Error::new(format!("{name} and what comes before it have more than 64 MiB")))
    }

    /// Reads the maps that the section `.maps` declares (docs.kernel.org/bpf/libbpf: "BTF-defined maps").
    fn maps(&mut self) -> Result<()> {
        if self.elf.section("maps").is_some() {
            return Err(Error::new("it declares maps in the old way; SEC(\".maps\") is understood"));
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
                return Err(Error::new(format!(
                    "its map {name} is of the kind {kind}; arrays and storage of sockets are understood"
                )));
            }
            let entries = if storage { 1 } else { map.entries };
            let bytes = u64::from(entries) * u64::from(map.value_size.next_multiple_of(8));
            if map.value_size == 0 || map.value_size > 1 << 24 || bytes == 0 || bytes > 1 << 24 {
                return Err(Error::new(format!("its map {name} has {bytes} bytes; from 1 to 16 MiB are allowed")));
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
            Kind::Array { count, .. } => Ok(count),
            _ => Err(Error::new("it declares a map with a number that is none")),
        }
    }

    fn pointed(&self, of: Id) -> Result<Id> {
        match self.btf.plain(of)?.1.kind {
            Kind::Pointer(to) => Ok(to),
            _ => Err(Error::new("it declares a map with a member that is no pointer")),
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
                        "it needs the kernel's setting {name}, which the simulator does not have"
                    )));
                }
            };
            let size = self.btf.size(variable.of)?;
            if !matches!(size, 1 | 2 | 4 | 8) {
                return Err(Error::new(format!("its extern {} is no number", variable.name)));
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
                if let Kind::Record { members, .. } = &plain.kind {
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
                Kind::Alias { volatile: true, .. } => return Ok(true),
                Kind::Alias { of: beneath, .. } => of = beneath,
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
            return Err(Error::new(format!("its variable {name} lies outside its section")));
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
                let what = format!("needs {what}, which the simulator does not have");
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

    /// Resolves each call and each address.
    fn calls(&mut self, index: usize) -> Result<()> {
        let elf = self.elf;
        let section = &elf.sections[index];
        let first = self.firsts[&index];
        let mut relocated = HashMap::new();
        for relocation in &section.relocations {
            let symbol = elf.symbol(relocation)?;
            let at = usize::try_from(relocation.at / 8).ok().filter(|&at| at < section.data.len() / 8);
            let at =
                first + at.ok_or_else(|| Error::new(format!("{} has a relocation behind its end", section.name)))?;
            relocated.insert(at, (relocation.kind, symbol));
        }
        for at in first..self.code.len() {
            let instruction = self.code[at];
            match (instruction.opcode, relocated.get(&at)) {
                (op::WIDE_IMMEDIATE, Some(&(R_BPF_64_64, symbol))) => {
                    match self.address(symbol, instruction.immediate)? {
                        Ok(address) => self.code[at].immediate = address as i64,
                        Err(why) => self.trap(at, why),
                    }
                }
                (op::WIDE_IMMEDIATE, None) if instruction.src == 0 => {}
                (op::WIDE_IMMEDIATE, _) => self.trap(at, "loads an address of a kind that is not understood".into()),
                (0x85, relocation) => match self.call(at, index, &instruction, relocation.copied())? {
                    Ok(call) => self.code[at] = call,
                    Err(why) => self.trap(at, format!("calls {why}")),
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// Address of a symbol, or the reason that there is none.
    fn address(&self, symbol: &Symbol, addend: i64) -> Result<Result<u64, String>> {
        let name = &symbol.name;
        let Some(section) = symbol.section else {
            let known = self.externs.get(name).copied();
            let unknown = format!("takes the address of {name}, which the simulator does not have");
            return Ok(known.or(symbol.weak.then_some(0)).ok_or(unknown));
        };
        if let Some(&region) = self.regions.get(&section) {
            let offset = symbol.value.wrapping_add(addend as u64) as u32;
            return Ok(Ok(memory::address(region, offset)));
        }
        let map = self.maps.iter().find(|map| map.name == *name).map(|map| memory::address(map.handle, 0));
        Ok(map.ok_or_else(|| format!("takes the address of {}, which is no data", self.elf.sections[section].name)))
    }

    /// Call, ready to run, or the name of a function that cannot be called.
    fn call(
        &self,
        at: usize,
        section: usize,
        call: &Instruction,
        relocation: Option<(u32, &Symbol)>,
    ) -> Result<Result<Instruction, String>> {
        let host = |host: Host| Instruction { opcode: op::HOST_CALL, immediate: host.number(), ..*call };
        let to = |to: i64| -> Result<Result<Instruction, String>> {
            let inside = usize::try_from(to).is_ok_and(|to| to < self.count());
            let to =
                inside.then_some(to).ok_or_else(|| Error::new("it calls a function that lies outside its code"))?;
            Ok(Ok(Instruction { opcode: op::LOCAL_CALL, offset: to as i32, ..*call }))
        };
        match relocation {
            Some((R_BPF_64_32, symbol)) => match symbol.section {
                None => Ok(Host::function(&symbol.name).map(host)),
                Some(other) => match self.firsts.get(&other) {
                    None => Ok(Err(format!("{}, which is no code", symbol.name))),
                    // The immediate counts from the symbol, less one.
                    Some(&first) => to(first as i64
                        + (symbol.value / 8) as i64
                        + if symbol.function { 0 } else { call.immediate + 1 }),
                },
            },
            Some(_) => Ok(Err("something by a relocation that is not understood".into())),
            None => match call.src {
                0 => Ok(Host::helper(call.immediate).map(host)),
                1 if self.firsts.contains_key(&section) => to(at as i64 + 1 + call.immediate),
                _ => Ok(Err("a function of the kernel without a name".into())),
            },
        }
    }

    fn count(&self) -> usize {
        self.elf.sections.iter().filter(|s| s.executable).map(|s| s.data.len() / 8).sum()
    }

    /// Fills in the operations, and refuses reachable calls that the simulator lacks.
    fn program(mut self, algorithm: &Algorithm) -> Result<Program> {
        let section = &self.elf.sections[algorithm.section];
        let mut entries = [None; MEMBERS.len()];
        let mut kernel_name = String::new();
        let mut control_takes_four = false;
        for member in self.btf.members(algorithm.of)? {
            let at = algorithm.at + u64::from(member.bit / 8);
            let name = member.name.split("___").next().unwrap_or_default();
            if name == "name" {
                let text =
                    section.data.get(at as usize..).unwrap_or_default().iter().take(16).take_while(|&&byte| byte != 0);
                kernel_name = text.map(|&byte| char::from(byte)).collect();
            }
            let Some(relocation) = section.relocations.iter().find(|r| r.at == at && r.kind == R_BPF_64_ABS64) else {
                continue;
            };
            let symbol = self.elf.symbol(relocation)?;
            let code = symbol.section.and_then(|section| self.firsts.get(&section));
            if matches!(name, "get_info" | "owner") {
                continue;
            }
            let Some(index) = MEMBERS.iter().position(|known| *known == name) else {
                let what = format!("{} sets {name}, which the simulator does not call", algorithm.name);
                return Err(Error::new(what));
            };
            let first =
                *code.ok_or_else(|| Error::new(format!("its {name} is {}, which is no program", symbol.name)))?;
            // A static function is named by its section; the place within it is then in the data.
            let place = usize::try_from(at).unwrap_or(usize::MAX);
            let addend = place.checked_add(8).and_then(|end| section.data.get(place..end));
            let addend = addend.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
            let offset = usize::try_from(symbol.value.wrapping_add(addend) / 8).unwrap_or(usize::MAX);
            let entry = first.checked_add(offset).filter(|&at| at < self.code.len());
            if self.module.is_none() && symbol.section.is_some_and(|section| self.elf.sections[section].name == ".text")
            {
                return Err(Error::new(format!(
                    "its {name} is a plain function; SEC(\"struct_ops/{name}\") makes it a program"
                )));
            }
            entries[index] = Some(entry.ok_or_else(|| Error::new(format!("its {name} lies outside its code")))?);
            if name == "cong_control" {
                control_takes_four = self.takes_four(member.of);
            }
        }
        let set = |name| MEMBERS.iter().position(|known| *known == name).is_some_and(|i| entries[i].is_some());
        if !set("ssthresh") || !set("undo_cwnd") || !(set("cong_avoid") || set("cong_control")) {
            let what = format!(
                "{} needs ssthresh, undo_cwnd, and cong_avoid or cong_control, as the kernel asks",
                algorithm.name
            );
            return Err(Error::new(what));
        }
        let module = self.module.take();
        let begins = if module.is_some() { self.function(MODULE_BEGINS) } else { None };
        let mut begun = entries.to_vec();
        // Functions without a call are not checked.
        MEMBERS
            .iter()
            .zip(&mut begun)
            .filter(|(name, _)| NOT_CALLED.contains(name))
            .for_each(|(_, entry)| *entry = None);
        begun.push(begins);
        self.refuse(&begun)?;
        let mut writable = vec![module.is_some(); self.layout.length(memory::SOCKET) as usize];
        for path in WRITABLE {
            let Field { at, size, .. } = Field::of("tcp_sock", path);
            writable[at..at + size].fill(true);
        }
        Ok(Program {
            operations: algorithm.name.clone(),
            kernel_name,
            code: self.code,
            sections: self.sections,
            traps: self.traps,
            entries,
            layout: self.layout,
            maps: self.maps,
            writable,
            module,
            begins,
            parameters: self.parameters,
            control_takes_four,
        })
    }

    /// The first instruction of a function.
    fn function(&self, name: &str) -> Option<usize> {
        let symbol = self.elf.symbols.iter().find(|symbol| symbol.name == name)?;
        let first = self.firsts.get(&symbol.section?)?;
        first.checked_add(usize::try_from(symbol.value / 8).ok()?).filter(|&at| at < self.code.len())
    }

    /// Of a pointer to a function, whether that takes four arguments. The prototype's own are in its BTF.
    fn takes_four(&self, of: Id) -> bool {
        let prototype = self.pointed(of).and_then(|to| self.btf.plain(to));
        matches!(prototype, Ok((_, crate::btf::Type { kind: Kind::Prototype { parameters: 4 }, .. })))
    }

    fn refuse(&mut self, entries: &[Option<usize>]) -> Result<()> {
        let begun: Vec<usize> = entries.iter().flatten().copied().collect();
        let reached = reach::explore(&mut self.code, &begun);
        for (at, instruction) in self.code.iter().enumerate().filter(|(at, _)| reached[*at]) {
            let falls_out = at + 1 == self.code.len() && !matches!(instruction.opcode, op::EXIT | op::JUMP | op::TRAP);
            let why = match instruction.opcode {
                op::TRAP => self.traps.get(instruction.immediate as usize).map_or("ends nowhere", String::as_str),
                _ if falls_out => "ends nowhere",
                _ => continue,
            };
            let (first, section) =
                self.sections.iter().rev().find(|(first, _)| *first <= at).expect("all code is in a section");
            return Err(Error::new(format!("{section} {why} (instruction {})", at - first)));
        }
        Ok(())
    }
}

#[derive(Default)]
struct Declared {
    kind: u32,
    entries: u32,
    value_size: u32,
}

/// A number that may be set before a program runs.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Without `_q` and its number.
    pub name: String,
    /// Content of the object.
    pub default: f64,
    /// The least that its type holds.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// It is a `bool`.
    pub flag: bool,
    pub(crate) address: u64,
    /// Where it lies in the file.
    file_at: usize,
    pub(crate) size: usize,
    signed: bool,
    float: bool,
    scale: f64,
}

impl Parameter {
    /// `None` for values that are no number.
    fn of(btf: &Btf, name: &str, of: Id) -> Result<Option<Parameter>> {
        let (signed, float, size) = match btf.plain(of)?.1.kind {
            Kind::Int { size: size @ (1 | 2 | 4 | 8), signed, .. } => (signed, false, size),
            Kind::Float { size: 8 } => (true, true, 8),
            _ => return Ok(None),
        };
        let flag = matches!(btf.plain(of)?.1.kind, Kind::Int { flag: true, .. });
        let scaled = name
            .rsplit_once("_q")
            .and_then(|(name, bits)| Some((name, bits.parse().ok().filter(|bits: &u8| *bits < 64)?)));
        let (name, scale) = scaled.map_or((name, 1.0), |(name, bits)| (name, (1u64 << bits) as f64));
        let most = if flag { 1.0 } else { 2f64.powi(8 * size as i32 - i32::from(signed)) - 1.0 };
        let least = if signed { -most - 1.0 } else { 0.0 };
        let (least, most) = if float { (f64::MIN, f64::MAX) } else { (least / scale, most / scale) };
        let name = name.to_owned();
        let parameter = Parameter {
            name,
            default: 0.0,
            least,
            most,
            flag,
            address: 0,
            file_at: 0,
            size: size as usize,
            signed,
            float,
            scale,
        };
        Ok((!parameter.name.is_empty()).then_some(parameter))
    }

    /// Value of `bytes` bytes.
    fn decoded(&self, word: u64) -> f64 {
        let unused = 64 - 8 * self.size as u32;
        match (self.float, self.signed) {
            (true, _) => f64::from_bits(word),
            (_, true) => ((word << unused) as i64 >> unused) as f64 / self.scale,
            (_, false) => word as f64 / self.scale,
        }
    }

    /// The bytes of a value, rounded where it is a whole number times its scale.
    pub(crate) fn encoded(&self, value: f64) -> u64 {
        let whole = (value * self.scale).round();
        match (self.float, whole < 0.0) {
            (true, _) => value.to_bits(),
            (_, true) => whole as i64 as u64,
            (_, false) => whole as u64,
        }
    }

    /// Refuses a value that it does not hold.
    ///
    /// # Errors
    /// Allowed values.
    pub fn check(&self, value: f64) -> Result<()> {
        let Parameter { name, least, most, .. } = self;
        match self.holds(value) {
            true => Ok(()),
            false if (*least..=*most).contains(&value) => {
                Err(Error::new(format!("parameter {name} cannot be {value}; allowed: whole numbers")))
            }
            false => {
                Err(Error::new(format!("parameter {name} cannot be {value}; allowed: numbers from {least} to {most}")))
            }
        }
    }

    /// Whether it holds this exactly, or as nearly as its scale allows.
    pub fn holds(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && (self.float || self.scale > 1.0 || value.fract() == 0.0)
    }
}
