//! Resolution of calls and addresses, and the finished program.

use super::{
    Algorithm, Loader, MEMBERS, MODULE_BEGINS, NOT_CALLED, Program, R_BPF_64_32, R_BPF_64_64, R_BPF_64_ABS64, WRITABLE,
};
use crate::btf::{Id, TypeKind};
use crate::code::{Instruction, op};
use crate::elf::{Section, Symbol};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::target::Field;
use crate::{memory, reach};
use std::collections::HashMap;

/// Table of operations of an algorithm.
#[derive(Default)]
struct Operations {
    /// First instruction of each operation.
    entries: [Option<usize>; MEMBERS.len()],
    kernel_name: String,
    /// `cong_control` takes four arguments.
    control_takes_four: bool,
}

impl Loader<'_> {
    /// Resolves each call and each address.
    pub(super) fn calls(&mut self, index: usize) -> Result<()> {
        let elf = self.elf;
        let section = &elf.sections[index];
        let first = self.firsts[&index];
        let mut relocated = HashMap::new();
        for relocation in &section.relocations {
            let symbol = elf.symbol(relocation)?;
            let at = usize::try_from(relocation.at / 8).ok().filter(|&at| at < section.data.len() / 8);
            let at =
                first + at.ok_or_else(|| Error::new(format!("relocations must be inside section {}", section.name)))?;
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
                (op::WIDE_IMMEDIATE, _) => self.trap(at, "loads an unknown kind of address".into()),
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
        Ok(map.ok_or_else(|| format!("takes the address of {}, which is not data", self.elf.sections[section].name)))
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
            let to = inside.then_some(to).ok_or_else(|| Error::new("a called function must be inside the code"))?;
            Ok(Ok(Instruction { opcode: op::LOCAL_CALL, offset: to as i32, ..*call }))
        };
        match relocation {
            Some((R_BPF_64_32, symbol)) => match symbol.section {
                None => Ok(Host::function(&symbol.name).map(host)),
                Some(other) => match self.firsts.get(&other) {
                    None => Ok(Err(format!("{}, which is not code", symbol.name))),
                    // The immediate counts from the symbol, less one.
                    Some(&first) => to(first as i64
                        + (symbol.value / 8) as i64
                        + if symbol.function { 0 } else { call.immediate + 1 }),
                },
            },
            Some(_) => Ok(Err("a function by an unknown kind of relocation".into())),
            None => match call.src {
                0 => Ok(Host::helper(call.immediate).map(host)),
                1 if self.firsts.contains_key(&section) => to(at as i64 + 1 + call.immediate),
                _ => Ok(Err("an unnamed function of the kernel".into())),
            },
        }
    }

    /// Fills in the operations, and refuses reachable calls that the simulator lacks.
    pub(super) fn program(mut self, algorithm: &Algorithm) -> Result<Program> {
        let Operations { entries, kernel_name, control_takes_four } = self.operations(algorithm)?;
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

    /// Reads the table of operations.
    fn operations(&self, algorithm: &Algorithm) -> Result<Operations> {
        let section = &self.elf.sections[algorithm.section];
        let mut operations = Operations::default();
        for member in self.btf.members(algorithm.of)? {
            let at = algorithm.at + u64::from(member.bit / 8);
            let name = member.name.split("___").next().unwrap_or_default();
            if name == "name" {
                let text =
                    section.data.get(at as usize..).unwrap_or_default().iter().take(16).take_while(|&&byte| byte != 0);
                operations.kernel_name = text.map(|&byte| char::from(byte)).collect();
            }
            let Some(relocation) = section.relocations.iter().find(|r| r.at == at && r.kind == R_BPF_64_ABS64) else {
                continue;
            };
            let symbol = self.elf.symbol(relocation)?;
            if matches!(name, "get_info" | "owner") {
                continue;
            }
            let Some(index) = MEMBERS.iter().position(|known| *known == name) else {
                let what = format!("{} sets {name}, which the simulator does not call", algorithm.name);
                return Err(Error::new(what));
            };
            operations.entries[index] = Some(self.entry(name, at, section, symbol)?);
            if name == "cong_control" {
                operations.control_takes_four = self.takes_four(member.of);
            }
        }
        let set =
            |name| MEMBERS.iter().position(|known| *known == name).is_some_and(|i| operations.entries[i].is_some());
        if !set("ssthresh") || !set("undo_cwnd") || !(set("cong_avoid") || set("cong_control")) {
            let what = format!(
                "{} requires ssthresh, undo_cwnd, and cong_avoid or cong_control, as in the kernel",
                algorithm.name
            );
            return Err(Error::new(what));
        }
        Ok(operations)
    }

    /// First instruction of the operation `name`, whose pointer is at `at` in `section`.
    fn entry(&self, name: &str, at: u64, section: &Section, symbol: &Symbol) -> Result<usize> {
        let code = symbol.section.and_then(|section| self.firsts.get(&section));
        let first = *code.ok_or_else(|| Error::new(format!("{name} must be a program, got {}", symbol.name)))?;
        // A static function is named by its section; the place within it is then in the data.
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        let addend = place.checked_add(8).and_then(|end| section.data.get(place..end));
        let addend = addend.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let offset = usize::try_from(symbol.value.wrapping_add(addend) / 8).unwrap_or(usize::MAX);
        let entry = first.checked_add(offset).filter(|&at| at < self.code.len());
        if self.module.is_none() && symbol.section.is_some_and(|section| self.elf.sections[section].name == ".text") {
            return Err(Error::new(format!("{name} requires SEC(\"struct_ops/{name}\"), got a plain function")));
        }
        entry.ok_or_else(|| Error::new(format!("{name} must be inside the code")))
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
        matches!(prototype, Ok((_, crate::btf::Type { kind: TypeKind::Prototype { parameters: 4 }, .. })))
    }

    fn refuse(&mut self, entries: &[Option<usize>]) -> Result<()> {
        let begun: Vec<usize> = entries.iter().flatten().copied().collect();
        let reached = reach::explore(&mut self.code, &begun);
        for (at, instruction) in self.code.iter().enumerate().filter(|(at, _)| reached[*at]) {
            let falls_out = at + 1 == self.code.len() && !matches!(instruction.opcode, op::EXIT | op::JUMP | op::TRAP);
            let why = match instruction.opcode {
                op::TRAP => self.traps.get(instruction.immediate as usize).map_or("has no end", String::as_str),
                _ if falls_out => "has no end",
                _ => continue,
            };
            let (first, section) =
                self.sections.iter().rev().find(|(first, _)| *first <= at).expect("all code is in a section");
            return Err(Error::new(format!("{section} {why} (instruction {})", at - first)));
        }
        Ok(())
    }
}
