//! BTF, the types that an object file carries (the kernel's Documentation/bpf/btf.rst: "BPF Type Format").

use crate::error::{Error, Result};

/// The number of a type; 0 is `void`.
pub type Id = u32;

/// Largest depth of nested types; deeper nesting is a cycle.
const DEEPEST: u32 = 64;

/// The types of an object, by number.
#[derive(Debug)]
pub struct Btf {
    types: Vec<Type>,
    strings: Vec<u8>,
}

/// A type and its name; most have none.
#[derive(Debug)]
pub struct Type {
    /// The name, or nothing.
    pub name: String,
    /// Kind of type.
    pub kind: TypeKind,
}

/// Kind of a type.
#[derive(Debug)]
pub enum TypeKind {
    Void,
    Int {
        size: u32,
        signed: bool,
        flag: bool,
    },
    Float {
        size: u32,
    },
    Pointer(Id),
    Array {
        element: Id,
        count: u32,
    },
    /// A structure or, with all members at the beginning, a union.
    Record {
        size: u32,
        union: bool,
        members: Vec<Member>,
    },
    Enum {
        size: u32,
        signed: bool,
        values: Vec<(String, i64)>,
    },
    Forward,
    /// Another name for a type, or a type with a qualifier.
    Alias {
        of: Id,
        volatile: bool,
    },
    Function {
        prototype: Id,
    },
    Prototype {
        parameters: u32,
    },
    Variable {
        of: Id,
    },
    /// The variables of a section: type, offset, size.
    Section(Vec<(Id, u32, u32)>),
    Tag,
}

/// A member of a structure or union.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    pub of: Id,
    /// Where it begins, in bits.
    pub bit: u32,
    /// How many bits a bit field has; 0 for other members.
    pub bits: u32,
}

impl Btf {
    /// Reads a section `.BTF`.
    pub fn parse(data: &[u8]) -> Result<Btf> {
        let short = || Error::new("the BTF is truncated");
        let word = |at: usize| word(data, at).ok_or_else(short);
        if word(0)? & 0xff_ffff != 0x01_eb9f {
            return Err(Error::new("the BTF must be little-endian version 1"));
        }
        let header = word(4)? as usize;
        let part = |offset: usize, length: usize| {
            let begin = header.checked_add(offset)?;
            data.get(begin..begin.checked_add(length)?)
        };
        let types = part(word(8)? as usize, word(12)? as usize).ok_or_else(short)?;
        let strings = part(word(16)? as usize, word(20)? as usize).ok_or_else(short)?.to_vec();
        let mut btf = Btf { types: vec![Type { name: String::new(), kind: TypeKind::Void }], strings };
        let mut reader = Reader { data: types, at: 0 };
        while reader.at < types.len() {
            let next = btf.read(&mut reader).ok_or_else(short)??;
            btf.types.push(next);
        }
        Ok(btf)
    }

    fn read(&self, reader: &mut Reader) -> Option<Result<Type>> {
        let name = self.string(reader.next()?)?.to_owned();
        let info = reader.next()?;
        let size_or_type = reader.next()?;
        let (count, flag) = (info & 0xffff, info >> 31 == 1);
        let kind = match info >> 24 & 0x1f {
            1 => {
                let encoding = reader.next()? >> 24;
                TypeKind::Int { size: size_or_type, signed: encoding & 1 == 1, flag: encoding & 4 == 4 }
            }
            2 => TypeKind::Pointer(size_or_type),
            3 => {
                let (element, _index, count) = (reader.next()?, reader.next()?, reader.next()?);
                TypeKind::Array { element, count }
            }
            kind @ (4 | 5) => {
                let members = (0..count).map(|_| self.read_member(reader, flag)).collect::<Option<_>>()?;
                TypeKind::Record { size: size_or_type, union: kind == 5, members }
            }
            kind @ (6 | 19) => {
                let values = (0..count).map(|_| self.read_value(reader, kind == 19, flag)).collect::<Option<_>>()?;
                TypeKind::Enum { size: size_or_type, signed: flag, values }
            }
            7 => TypeKind::Forward,
            kind @ (8..=11 | 18) => TypeKind::Alias { of: size_or_type, volatile: kind == 9 },
            12 => TypeKind::Function { prototype: size_or_type },
            13 => {
                (0..2 * count).try_for_each(|_| reader.next().map(drop))?;
                TypeKind::Prototype { parameters: count }
            }
            14 => {
                reader.next()?;
                TypeKind::Variable { of: size_or_type }
            }
            15 => {
                let variable = |_| Some((reader.next()?, reader.next()?, reader.next()?));
                TypeKind::Section((0..count).map(variable).collect::<Option<_>>()?)
            }
            16 => TypeKind::Float { size: size_or_type },
            17 => {
                reader.next()?;
                TypeKind::Tag
            }
            other => return Some(Err(Error::new(format!("unknown kind {other} of a BTF type")))),
        };
        Some(Ok(Type { name, kind }))
    }

    /// Reads a member of a structure or union. With `fields`, its offset contains the size of a bit field.
    fn read_member(&self, reader: &mut Reader, fields: bool) -> Option<Member> {
        let name = self.string(reader.next()?)?.to_owned();
        let (of, offset) = (reader.next()?, reader.next()?);
        let (bit, bits) = if fields { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
        Some(Member { name, of, bit, bits })
    }

    /// Reads a value of an enumeration, of 64 bits or of 32.
    fn read_value(&self, reader: &mut Reader, wide: bool, signed: bool) -> Option<(String, i64)> {
        let name = self.string(reader.next()?)?.to_owned();
        let low = reader.next()?;
        let value = match (wide, signed) {
            (true, _) => (u64::from(reader.next()?) << 32 | u64::from(low)) as i64,
            (false, true) => i64::from(low as i32),
            (false, false) => i64::from(low),
        };
        Some((name, value))
    }

    /// The string at an offset of the string section.
    pub fn string(&self, at: u32) -> Option<&str> {
        let rest = self.strings.get(at as usize..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }

    /// Every type with its number.
    pub fn types(&self) -> impl Iterator<Item = (Id, &Type)> {
        (0..).zip(&self.types)
    }

    /// The type of a number.
    pub fn get(&self, id: Id) -> Result<&Type> {
        self.types.get(id as usize).ok_or_else(|| Error::new(format!("unknown BTF type {id}")))
    }

    /// Type beneath other names and qualifiers.
    pub fn plain(&self, mut id: Id) -> Result<(Id, &Type)> {
        for _ in 0..DEEPEST {
            match self.get(id)? {
                Type { kind: TypeKind::Alias { of, .. }, .. } => id = *of,
                plain => return Ok((id, plain)),
            }
        }
        Err(circular())
    }

    /// Bytes of a type.
    pub fn size(&self, id: Id) -> Result<u32> {
        self.size_within(id, DEEPEST)
    }

    fn size_within(&self, id: Id, depth: u32) -> Result<u32> {
        let (_, plain) = self.plain(id)?;
        match &plain.kind {
            TypeKind::Int { size, .. }
            | TypeKind::Float { size }
            | TypeKind::Record { size, .. }
            | TypeKind::Enum { size, .. } => Ok(*size),
            TypeKind::Pointer(_) => Ok(8),
            TypeKind::Array { element, count } if depth > 0 => self
                .size_within(*element, depth - 1)?
                .checked_mul(*count)
                .ok_or_else(|| Error::new("an array in the BTF must have at most 4 GiB")),
            TypeKind::Array { .. } => Err(circular()),
            TypeKind::Variable { of } if depth > 0 => self.size_within(*of, depth - 1),
            _ => Err(Error::new(format!("BTF type {} has no size", plain.called(id)))),
        }
    }

    /// The structure or union of a name.
    pub fn record(&self, name: &str) -> Option<Id> {
        self.named(name, |kind| matches!(kind, TypeKind::Record { .. }))
    }

    /// The first type of a name and a kind.
    pub fn named(&self, name: &str, of_kind: impl Fn(&TypeKind) -> bool) -> Option<Id> {
        self.types().find(|(_, t)| t.name == name && of_kind(&t.kind)).map(|(id, _)| id)
    }

    /// The members of a structure or union.
    pub fn members(&self, id: Id) -> Result<&[Member]> {
        match self.plain(id)? {
            (_, Type { kind: TypeKind::Record { members, .. }, .. }) => Ok(members),
            (id, other) => Err(Error::new(format!("BTF type {} has no members", other.called(id)))),
        }
    }

    /// The variables of a section: type of the variable itself, name, offset, size.
    pub fn variables(&self, section: &str) -> Result<Vec<Variable<'_>>> {
        let Some(id) = self.named(section, |kind| matches!(kind, TypeKind::Section(_))) else { return Ok(Vec::new()) };
        let TypeKind::Section(listed) = &self.get(id)?.kind else { return Ok(Vec::new()) };
        let mut variables = Vec::new();
        for &(id, offset, size) in listed {
            let Type { name, kind } = self.get(id)?;
            if let TypeKind::Variable { of } = kind {
                variables.push(Variable { name, of: *of, offset, size });
            }
        }
        Ok(variables)
    }
}

/// A variable of a section.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    pub name: &'a str,
    pub of: Id,
    /// Where it lies, in files that the compiler has not left that to the symbols.
    pub offset: u32,
    pub size: u32,
}

impl Type {
    /// The name, or the number where there is none.
    pub fn called(&self, id: Id) -> String {
        if self.name.is_empty() { format!("type {id}") } else { self.name.clone() }
    }
}

fn circular() -> Error {
    Error::new("a BTF type must not contain itself")
}

/// The little-endian word at an offset.
pub fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u32> {
        let next = word(self.data, self.at)?;
        self.at += 4;
        Some(next)
    }
}
