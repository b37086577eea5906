//! The object file: sections, symbols, relocations (System V ABI, chapter 4; the kernel's Documentation/bpf/llvm_reloc.rst).

use crate::error::{Error, Result};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex, SymbolKind,
};

/// An object file for BPF, little-endian.
#[derive(Debug)]
pub struct Elf {
    pub sections: Vec<Section>,
    pub symbols: Vec<Symbol>,
}

/// A section.
#[derive(Debug)]
pub struct Section {
    pub name: String,
    /// Content; zeros for `.bss`.
    pub data: Vec<u8>,
    /// Where that begins in the file.
    pub file_at: u64,
    pub executable: bool,
    pub relocations: Vec<Relocation>,
}

/// A symbol.
#[derive(Debug)]
pub struct Symbol {
    pub name: String,
    /// Its section; `None` for an external symbol.
    pub section: Option<usize>,
    pub value: u64,
    pub function: bool,
    pub weak: bool,
}

/// A place of a section that depends on a symbol.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    pub at: u64,
    pub symbol: usize,
    pub kind: u32,
}

/// Bytes of all sections together, at most. Sections may share bytes of the file, so that a small file has many large ones.
const LARGEST: u64 = 16 << 20;

/// Relocations of all sections, and symbols, at most.
const MOST_ENTRIES: usize = 1 << 18;

/// Characters of a name, at most. Names may overlap in the file.
const LONGEST_NAME: usize = 512;

impl Elf {
    /// Reads a file.
    pub fn parse(file: &[u8]) -> Result<Elf> {
        let broken = |what: object::Error| Error::new(format!("not a readable object file: {what}"));
        let elf = ElfFile64::<Endianness>::parse(file).map_err(broken)?;
        if elf.architecture() != object::Architecture::Bpf || !elf.is_little_endian() {
            return Err(Error::new("must be a little-endian BPF object file (clang -target bpf)"));
        }
        let mut sections = Vec::new();
        let (mut bytes, mut entries) = (0u64, 0);
        for section in elf.sections() {
            let index = section.index().0;
            while sections.len() < index {
                sections.push(Section::empty());
            }
            let name = checked(section.name().map_err(broken)?)?;
            bytes = bytes.saturating_add(section.size());
            if bytes > LARGEST {
                return Err(Error::new(format!("sections must have at most 16 MiB together, exceeded at {name}")));
            }
            let data = match section.kind() {
                object::SectionKind::UninitializedData => vec![0; section.size() as usize],
                _ => section.data().map_err(broken)?.to_vec(),
            };
            let executable = section.kind() == object::SectionKind::Text;
            let mut relocations = Vec::new();
            for (at, relocation) in section.relocations() {
                entries += 1;
                if entries > MOST_ENTRIES {
                    return Err(Error::new(format!("must have at most {MOST_ENTRIES} relocations")));
                }
                let RelocationFlags::Elf { r_type: kind } = relocation.flags() else { continue };
                if let RelocationTarget::Symbol(symbol) = relocation.target() {
                    relocations.push(Relocation { at, symbol: symbol.0, kind: kind.0 });
                }
            }
            let file_at = section.file_range().map_or(0, |(at, _)| at);
            sections.push(Section { name, data, file_at, executable, relocations });
        }
        let mut symbols = Vec::new();
        for symbol in elf.symbols() {
            if symbol.index().0 > MOST_ENTRIES {
                return Err(Error::new(format!("must have at most {MOST_ENTRIES} symbols")));
            }
            while symbols.len() < symbol.index().0 {
                symbols.push(Symbol::none());
            }
            let section =
                symbol.section_index().map(|SectionIndex(index)| index).filter(|&index| index < sections.len());
            symbols.push(Symbol {
                name: checked(symbol.name().map_err(broken)?)?,
                section,
                value: symbol.address(),
                function: symbol.kind() == SymbolKind::Text,
                weak: symbol.is_weak(),
            });
        }
        Ok(Elf { sections, symbols })
    }

    /// The section of a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The symbol that a relocation names.
    pub fn symbol(&self, relocation: &Relocation) -> Result<&Symbol> {
        self.symbols.get(relocation.symbol).ok_or_else(|| Error::new(format!("unknown symbol {}", relocation.symbol)))
    }
}

fn checked(name: &str) -> Result<String> {
    match name.len() <= LONGEST_NAME {
        true => Ok(name.to_owned()),
        false => Err(Error::new(format!("names must have at most {LONGEST_NAME} characters"))),
    }
}

impl Section {
    fn empty() -> Section {
        Section { name: String::new(), data: Vec::new(), file_at: 0, executable: false, relocations: Vec::new() }
    }
}

impl Symbol {
    fn none() -> Symbol {
        Symbol { name: String::new(), section: None, value: 0, function: false, weak: false }
    }
}
