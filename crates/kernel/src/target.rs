//! The kernel that programs are fitted to: the records of `target.h`, by way of the BTF that is made from it.

use crate::btf::{Btf, TypeKind};
use std::sync::OnceLock;

/// Its source, in C.
pub const HEADER: &str = include_str!("../target.h");
/// Declarations that a Linux module takes from the kernel's headers, in C.
pub const SHIM: &str = include_str!("../shim.h");
static BTF: &[u8] = include_bytes!("../target.btf");

/// Ticks a second (`CONFIG_HZ`): as in Debian's kernels, which the virtual machines run.
pub const HZ: u64 = 250;
/// Value of `LINUX_KERNEL_VERSION`: 6.1.0.
pub const VERSION: u64 = 6 << 16 | 1 << 8;

/// Target of a compiled module. A module is not relocated, and contains the offsets of the records.
pub const MADE_FOR: u64 = fnv(fnv(0xcbf2_9ce4_8422_2325, HEADER), SHIM);

/// FNV-1a (Fowler, Noll, Vo).
const fn fnv(mut hash: u64, text: &str) -> u64 {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
}

/// The target's types.
pub fn btf() -> &'static Btf {
    static PARSED: OnceLock<Btf> = OnceLock::new();
    PARSED.get_or_init(|| Btf::parse(BTF).expect("made from target.h"))
}

/// A member of a record: where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The first byte.
    pub at: usize,
    /// How many.
    pub size: usize,
    /// The first bit within, and how many; none for a member of whole bytes.
    pub bits: Option<(u32, u32)>,
}

impl Field {
    /// The member of a record at the end of a path like `inet_conn.icsk_ca_priv`.
    ///
    /// # Panics
    /// `target.h` has none there: a fault of this crate.
    pub fn of(record: &str, path: &str) -> Field {
        let btf = btf();
        let mut of = btf.record(record).expect("a record of target.h");
        let (mut bit, mut bits) = (0, 0);
        for name in path.split('.') {
            let members = btf.members(of).expect("a record");
            let member = members.iter().find(|member| member.name == name).unwrap_or_else(|| panic!("{record}.{path}"));
            (bit, bits, of) = (bit + member.bit, member.bits, member.of);
        }
        let size = btf.size(of).expect("a type with a size") as usize;
        match bits {
            0 => Field { at: bit as usize / 8, size, bits: None },
            // No bit field of target.h spans two bytes.
            bits => Field { at: bit as usize / 8, size: 1, bits: Some((bit % 8, bits)) },
        }
    }

    /// Sets it in the record's bytes.
    #[inline]
    pub fn set(&self, record: &mut [u8], value: u64) {
        match (self.bits, self.size) {
            (Some((first, bits)), _) => {
                let mask = (((1u32 << bits) - 1) << first) as u8;
                record[self.at] = record[self.at] & !mask | ((value as u32) << first) as u8 & mask;
            }
            (None, 8) => record[self.at..self.at + 8].copy_from_slice(&value.to_le_bytes()),
            (None, 4) => record[self.at..self.at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
            (None, 2) => record[self.at..self.at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            (None, _) => record[self.at] = value as u8,
        }
    }

    /// Its kind there.
    #[inline]
    pub fn read(&self, record: &[u8]) -> u64 {
        match (self.bits, self.size) {
            (Some((first, bits)), _) => u64::from(record[self.at]) >> first & ((1 << bits) - 1),
            (None, 8) => u64::from_le_bytes(record[self.at..self.at + 8].try_into().expect("8 bytes")),
            (None, 4) => u64::from(u32::from_le_bytes(record[self.at..self.at + 4].try_into().expect("4 bytes"))),
            (None, 2) => u64::from(u16::from_le_bytes([record[self.at], record[self.at + 1]])),
            (None, _) => u64::from(record[self.at]),
        }
    }
}

/// How many bytes a record has.
pub fn size_of(record: &str) -> usize {
    btf().record(record).and_then(|id| btf().size(id).ok()).expect("a record of target.h") as usize
}

/// Whether a member of `tcp_congestion_ops` is a function.
pub fn is_operation(name: &str) -> bool {
    let members = btf().record("tcp_congestion_ops").and_then(|id| btf().members(id).ok()).unwrap_or_default();
    members
        .iter()
        .any(|m| m.name == name && matches!(btf().plain(m.of), Ok((_, t)) if matches!(t.kind, TypeKind::Pointer(_))))
}

/// The member of a record that a byte belongs to, in words.
pub fn member_at(record: &str, byte: u32) -> String {
    let mut path = record.to_owned();
    let (mut of, mut bit) = (btf().record(record), u64::from(byte) * 8);
    while let Some(members) = of.and_then(|id| btf().members(id).ok()) {
        let Some(member) = members.iter().rev().find(|member| u64::from(member.bit) <= bit) else { break };
        path += &format!(".{}", member.name);
        bit -= u64::from(member.bit);
        of = Some(member.of);
    }
    path
}
