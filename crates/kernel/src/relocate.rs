//! CO-RE: a program that was compiled against some kernel's records is fitted to the [target](crate::target)'s (the kernel's
//! Documentation/bpf/llvm_reloc.rst, "CO-RE Relocations"; docs.kernel.org/bpf/libbpf, "libbpf Overview").

use crate::btf::{Btf, Id, Type, TypeKind, word};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// The kinds of relocation (`enum bpf_core_relo_kind`).
mod kind {
    pub const FIELD_BYTE_OFFSET: u32 = 0;
    pub const FIELD_BYTE_SIZE: u32 = 1;
    pub const FIELD_EXISTS: u32 = 2;
    pub const FIELD_SIGNED: u32 = 3;
    pub const FIELD_LSHIFT_U64: u32 = 4;
    pub const FIELD_RSHIFT_U64: u32 = 5;
    pub const TYPE_ID_LOCAL: u32 = 6;
    pub const TYPE_ID_TARGET: u32 = 7;
    pub const TYPE_EXISTS: u32 = 8;
    pub const TYPE_SIZE: u32 = 9;
    pub const ENUMVAL_EXISTS: u32 = 10;
    pub const ENUMVAL_VALUE: u32 = 11;
    pub const TYPE_MATCHES: u32 = 12;
}

/// How deep anonymous members may be nested.
const DEEPEST: u32 = 16;

/// Changes of the instruction at each offset (in bytes) of each section.
pub type Fixes = HashMap<String, Vec<(u32, Fix)>>;

/// Change of an instruction.
#[derive(Clone, Debug)]
pub enum Fix {
    /// New value, and the size of its load or store in bytes, where that differs from the compiled size.
    Value(u64, Option<u32>),
    /// It needs this, which the target lacks.
    Missing(String),
}

/// Reads the relocations of `.BTF.ext` and works out each.
pub fn fixes(ext: &[u8], local: &Btf, target: &Btf) -> Result<Fixes> {
    let short = || Error::new(".BTF.ext is truncated");
    let word = |at: usize| word(ext, at).ok_or_else(short);
    if word(0)? & 0xff_ffff != 0x01_eb9f {
        return Err(Error::new(".BTF.ext must be little-endian version 1"));
    }
    let header = word(4)? as usize;
    if header < 32 {
        return Ok(Fixes::new());
    }
    let (mut at, length) = (header.saturating_add(word(24)? as usize), word(28)? as usize);
    let end = at.saturating_add(length);
    let mut fixes = Fixes::new();
    if length == 0 {
        return Ok(fixes);
    }
    let record = word(at)? as usize;
    if record < 16 {
        return Err(Error::new("relocations in .BTF.ext must have at least 16 bytes"));
    }
    at += 4;
    while at < end {
        let section = local.string(word(at)?).ok_or_else(short)?.to_owned();
        let count = word(at + 4)?;
        at += 8;
        let listed = fixes.entry(section).or_default();
        for _ in 0..count {
            let relocation = Relocation {
                of: word(at + 4)?,
                path: local.string(word(at + 8)?).ok_or_else(short)?,
                kind: word(at + 12)?,
            };
            listed.push((word(at)?, relocation.worked_out(local, target)?));
            at += record;
        }
    }
    Ok(fixes)
}

/// Applies a fix to the instruction of 8 bytes (16 for a wide immediate) at `at`.
pub fn apply(code: &mut [u8], at: usize, value: u64, size: Option<u32>) -> Result<()> {
    let wrong = || Error::new("relocations in .BTF.ext must be of instructions with an immediate or an offset");
    let instruction = at.checked_add(8).and_then(|end| code.get_mut(at..end)).ok_or_else(wrong)?;
    let opcode = instruction[0];
    match opcode & 7 {
        // Loads and stores with an offset.
        1..=3 => {
            let offset = i16::try_from(value).map_err(|_| wrong())?;
            instruction[2..4].copy_from_slice(&offset.to_le_bytes());
            if let Some(size) = size {
                let bits = match size {
                    1 => 0x10,
                    2 => 0x08,
                    4 => 0x00,
                    8 => 0x18,
                    _ => return Err(wrong()),
                };
                instruction[0] = opcode & !0x18 | bits;
            }
        }
        0 if opcode == 0x18 => {
            let both = code.get_mut(at..at + 16).ok_or_else(wrong)?;
            both[4..8].copy_from_slice(&(value as u32).to_le_bytes());
            both[12..16].copy_from_slice(&((value >> 32) as u32).to_le_bytes());
        }
        // Arithmetic with an immediate.
        4 | 7 if opcode & 8 == 0 => {
            let value = i32::try_from(value as i64).map_err(|_| wrong())?;
            instruction[4..8].copy_from_slice(&value.to_le_bytes());
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

struct Relocation<'a> {
    of: Id,
    path: &'a str,
    kind: u32,
}

/// Where a field lies.
#[derive(Clone, Copy)]
struct Place {
    bit: u64,
    /// Of a bit field; 0 for others.
    bits: u32,
    of: Id,
}

impl Relocation<'_> {
    fn worked_out(&self, local: &Btf, target: &Btf) -> Result<Fix> {
        match self.kind {
            kind::FIELD_BYTE_OFFSET..=kind::FIELD_RSHIFT_U64 => self.field(local, target),
            kind::TYPE_ID_LOCAL => Ok(Fix::Value(u64::from(self.of), None)),
            kind::TYPE_ID_TARGET | kind::TYPE_EXISTS | kind::TYPE_SIZE | kind::TYPE_MATCHES => {
                let Some(found) = counterpart(local, self.of, target)? else { return Ok(Fix::Value(0, None)) };
                let value = match self.kind {
                    kind::TYPE_ID_TARGET => found,
                    kind::TYPE_SIZE => target.size(found)?,
                    _ => 1,
                };
                Ok(Fix::Value(u64::from(value), None))
            }
            kind::ENUMVAL_EXISTS | kind::ENUMVAL_VALUE => self.enumerator(local, target),
            other => Err(Error::new(format!("unknown kind {other} of a relocation in .BTF.ext"))),
        }
    }

    fn indices(&self) -> Result<Vec<u32>> {
        let wrong = |_| Error::new(format!("unknown path {:?} of a relocation in .BTF.ext", self.path));
        self.path.split(':').map(str::parse).collect::<Result<_, _>>().map_err(wrong)
    }

    fn field(&self, local: &Btf, target: &Btf) -> Result<Fix> {
        let (here, steps) = self.path_in(local)?;
        let root = local.plain(self.of)?.1;
        let there = match target.record(essential(&root.name)) {
            Some(record) => followed(target, record, &steps)?,
            None => None,
        };
        let there = match there {
            Some(there) if compatible(local, here.of, target, there.of, DEEPEST)? => there,
            _ if self.kind == kind::FIELD_EXISTS => return Ok(Fix::Value(0, None)),
            _ => return Ok(Fix::Missing(spelled(root, &steps))),
        };
        let size = target.size(there.of)?;
        let (byte, bytes) =
            unit(there, size).ok_or_else(|| Error::new("a bit field in the BTF must have at most 64 bits"))?;
        let value = match self.kind {
            kind::FIELD_BYTE_OFFSET => byte,
            kind::FIELD_BYTE_SIZE => u64::from(bytes),
            kind::FIELD_EXISTS => 1,
            kind::FIELD_SIGNED => u64::from(signed(target, there.of)?),
            kind::FIELD_LSHIFT_U64 => (byte * 8).wrapping_sub(there.bit).wrapping_sub(width(there, bytes)) & 63,
            _ => 0u64.wrapping_sub(width(there, bytes)) & 63,
        };
        let moved = (here.bits == 0 && there.bits == 0 && local.size(here.of)? != size).then_some(size);
        Ok(Fix::Value(value, moved.filter(|_| self.kind == kind::FIELD_BYTE_OFFSET)))
    }

    /// The field in the program's own records, and how it is got to by name.
    fn path_in<'a>(&self, local: &'a Btf) -> Result<(Place, Vec<Step<'a>>)> {
        let indices = self.indices()?;
        let (&first, rest) = indices.split_first().ok_or_else(|| Error::new("a path in .BTF.ext must not be empty"))?;
        let mut place = Place { bit: bit_of(first, local.size(self.of)?), bits: 0, of: self.of };
        let mut steps = vec![Step::Index(first)];
        for &index in rest {
            let beyond = || Error::new(format!("unknown path {:?} in .BTF.ext", self.path));
            match &local.plain(place.of)?.1.kind {
                TypeKind::Record { members, .. } => {
                    let member = members.get(index as usize).ok_or_else(beyond)?;
                    place =
                        Place { bit: place.bit.wrapping_add(u64::from(member.bit)), bits: member.bits, of: member.of };
                    if !member.name.is_empty() {
                        steps.push(Step::Member(&member.name));
                    }
                }
                TypeKind::Array { element, .. } => {
                    let bit = place.bit.wrapping_add(bit_of(index, local.size(*element)?));
                    place = Place { bit, bits: 0, of: *element };
                    steps.push(Step::Index(index));
                }
                _ => return Err(beyond()),
            }
        }
        Ok((place, steps))
    }

    fn enumerator(&self, local: &Btf, target: &Btf) -> Result<Fix> {
        let (_, Type { name, kind: TypeKind::Enum { values, .. } }) = local.plain(self.of)? else {
            return Err(Error::new("an enumerator in .BTF.ext requires an enumeration"));
        };
        let wanted = self.indices()?.first().and_then(|&index| values.get(index as usize));
        let (wanted, _) = wanted.ok_or_else(|| Error::new("an enumerator in .BTF.ext must be in the BTF"))?;
        let found = match target.named(essential(name), |kind| matches!(kind, TypeKind::Enum { .. })) {
            Some(id) => match &target.get(id)?.kind {
                TypeKind::Enum { values, .. } => values.iter().find(|(name, _)| name == essential(wanted)),
                _ => None,
            },
            None => None,
        };
        Ok(match (found, self.kind) {
            (found, kind::ENUMVAL_EXISTS) => Fix::Value(u64::from(found.is_some()), None),
            (Some(&(_, value)), _) => Fix::Value(value as u64, None),
            (None, _) => Fix::Missing(wanted.clone()),
        })
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Index(u32),
}

/// Name without its suffix after three underscores.
fn essential(name: &str) -> &str {
    match name.rfind("___") {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

fn spelled(root: &Type, steps: &[Step]) -> String {
    let mut text = essential(&root.name).to_owned();
    for step in &steps[1..] {
        match step {
            Step::Member(name) => text += &format!(".{name}"),
            Step::Index(index) => text += &format!("[{index}]"),
        }
    }
    text
}

/// The type of the target that has the name and is of the kind of the program's.
fn counterpart(local: &Btf, of: Id, target: &Btf) -> Result<Option<Id>> {
    let wanted = local.get(of)?;
    let same = |kind: &TypeKind| std::mem::discriminant(kind) == std::mem::discriminant(&wanted.kind);
    Ok(target.named(essential(&wanted.name), same).filter(|_| !wanted.name.is_empty()))
}

/// The field that lies in the target's record behind these steps; `None` if there is none.
fn followed(target: &Btf, record: Id, steps: &[Step]) -> Result<Option<Place>> {
    let mut place = Place { bit: 0, bits: 0, of: record };
    for (i, step) in steps.iter().enumerate() {
        match (*step, &target.plain(place.of)?.1.kind) {
            (Step::Index(index), _) if i == 0 => place.bit = bit_of(index, target.size(record)?),
            (Step::Index(index), TypeKind::Array { element, count }) if index < *count => {
                let bit = place.bit.wrapping_add(bit_of(index, target.size(*element)?));
                place = Place { bit, bits: 0, of: *element };
            }
            (Step::Member(name), TypeKind::Record { .. }) => match member(target, place.of, name, DEEPEST)? {
                Some(found) => place = Place { bit: place.bit.wrapping_add(found.bit), ..found },
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(Some(place))
}

/// The member of a name, also within members that have none.
fn member(target: &Btf, record: Id, name: &str, depth: u32) -> Result<Option<Place>> {
    for member in target.members(record)? {
        let place = Place { bit: u64::from(member.bit), bits: member.bits, of: member.of };
        if member.name == name {
            return Ok(Some(place));
        }
        if member.name.is_empty() && depth > 0 {
            if let Some(within) = self::member(target, member.of, name, depth - 1)? {
                return Ok(Some(Place { bit: place.bit.wrapping_add(within.bit), ..within }));
            }
        }
    }
    Ok(None)
}

/// Whether a field of the one type can be read as the other.
fn compatible(local: &Btf, ours: Id, target: &Btf, theirs: Id, depth: u32) -> Result<bool> {
    Ok(match (&local.plain(ours)?.1.kind, &target.plain(theirs)?.1.kind) {
        (TypeKind::Array { element: a, .. }, TypeKind::Array { element: b, .. }) => {
            depth > 0 && compatible(local, *a, target, *b, depth - 1)?
        }
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    })
}

fn signed(target: &Btf, of: Id) -> Result<bool> {
    Ok(matches!(target.plain(of)?.1.kind, TypeKind::Int { signed: true, .. } | TypeKind::Enum { signed: true, .. }))
}

/// The bytes to load for a field: where they begin and how many; `None` if no load takes them all.
fn unit(place: Place, size: u32) -> Option<(u64, u32)> {
    if place.bits == 0 {
        return Some((place.bit / 8, size));
    }
    let mut bytes = size;
    loop {
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return None;
        }
        let byte = place.bit / 8 / u64::from(bytes) * u64::from(bytes);
        if place.bit % (8 * u64::from(bytes)) + u64::from(place.bits) <= 8 * u64::from(bytes) {
            return Some((byte, bytes));
        }
        bytes *= 2;
    }
}

/// Where an element of an array begins.
fn bit_of(index: u32, size: u32) -> u64 {
    u64::from(index).wrapping_mul(u64::from(size)).wrapping_mul(8)
}

/// Bits of a field.
fn width(place: Place, bytes: u32) -> u64 {
    if place.bits == 0 { 8 * u64::from(bytes) } else { u64::from(place.bits) }
}
