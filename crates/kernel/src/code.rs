//! Instructions: read, checked and made ready to run (RFC 9669, "BPF Instruction Set Architecture").

use crate::error::{Error, Result};

/// Instruction, ready to run. Opcodes are those of RFC 9669, and those of [`op`] where one of the RFC covers several.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub opcode: u8,
    pub dst: u8,
    pub src: u8,
    /// Offset of a load or store; of a jump or local call, the number of its target instruction.
    pub offset: i32,
    pub immediate: i64,
}

/// Internal opcodes, in a class where RFC 9669 uses only one (0x18).
pub mod op {
    /// Instruction that must not be reached; the immediate is the number of the reason.
    pub const TRAP: u8 = 0x00;
    pub const LOCAL_CALL: u8 = 0x08;
    /// Call of a [`Host`](crate::host::Host) function, whose number is the immediate.
    pub const HOST_CALL: u8 = 0x10;
    pub const WIDE_IMMEDIATE: u8 = 0x18;
    /// Signed division of 64 bits by an immediate; then by a register, then of 32 bits likewise, 8 apart. The remainder likewise.
    pub const SDIV64_K: u8 = 0x20;
    pub const SMOD64_K: u8 = 0x40;
    /// Moves with a sign: from 8, 16, or 32 bits, to 64 or 32.
    pub const MOVE8_64: u8 = 0x60;
    pub const MOVE16_64: u8 = 0x68;
    pub const MOVE32_64: u8 = 0x70;
    pub const MOVE8_32: u8 = 0x78;
    pub const MOVE16_32: u8 = 0x80;
    /// The immediate is the number of bits.
    pub const TO_LITTLE: u8 = 0x88;
    pub const SWAP: u8 = 0x90;
    /// An atomic operation; the immediate is RFC 9669's.
    pub const ATOMIC32: u8 = 0xc3;
    pub const ATOMIC64: u8 = 0xdb;
    pub const JUMP: u8 = 0x05;
    pub const EXIT: u8 = 0x95;
}

/// The registers that there are; the last is the frame's end and read-only.
const REGISTERS: u8 = 11;

/// Reads a section. Jumps are numbered from `first` on. Calls of functions outside are left to the caller, with their immediate and
/// the source register, which has their kind.
pub fn decode(section: &str, bytes: &[u8], first: usize) -> Result<Vec<Instruction>> {
    let wrong = |at: usize, what: &str| Error::new(format!("instruction {at} of {section} {what}"));
    if bytes.len() % 8 != 0 {
        return Err(Error::new(format!("{section} ends within an instruction")));
    }
    let count = bytes.len() / 8;
    let mut code = Vec::with_capacity(count);
    let mut behind_wide = false;
    for (at, raw) in bytes.chunks_exact(8).enumerate() {
        if behind_wide {
            behind_wide = false;
            code.push(Instruction { opcode: op::TRAP, dst: 0, src: 0, offset: 0, immediate: 0 });
            continue;
        }
        let (opcode, dst, src) = (raw[0], raw[1] & 15, raw[1] >> 4);
        let offset = i32::from(i16::from_le_bytes([raw[2], raw[3]]));
        let immediate = i64::from(i32::from_le_bytes([raw[4], raw[5], raw[6], raw[7]]));
        let mut instruction = Instruction { opcode, dst, src, offset, immediate };
        if dst >= REGISTERS || src >= REGISTERS {
            return Err(wrong(at, "names an unknown register"));
        }
        match opcode & 7 {
            0 => {
                let high = (opcode == op::WIDE_IMMEDIATE).then(|| bytes.get(8 * at + 12..8 * at + 16)).flatten();
                let high = high.ok_or_else(|| wrong(at, &format!("has the unknown opcode {opcode:#04x}")))?;
                let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
                instruction.immediate = (u64::from(high) << 32 | u64::from(immediate as u32)) as i64;
                behind_wide = true;
            }
            1..=3 => memory(&instruction).ok_or_else(|| wrong(at, &unknown(opcode)))?,
            5 | 6 => {
                let target = jump(&mut instruction).ok_or_else(|| wrong(at, &unknown(opcode)))?;
                if let Some(distance) = target {
                    let target =
                        (at as i64 + 1).checked_add(distance).filter(|target| (0..count as i64).contains(target));
                    let target = target.ok_or_else(|| wrong(at, "jumps out of its section"))?;
                    instruction.offset = (first as i64 + target) as i32;
                }
            }
            _ => arithmetic(&mut instruction).ok_or_else(|| wrong(at, &unknown(opcode)))?,
        }
        if writes(&instruction) && dst == REGISTERS - 1 {
            return Err(wrong(at, "writes to r10, which is read-only"));
        }
        code.push(instruction);
    }
    Ok(code)
}

fn unknown(opcode: u8) -> String {
    format!("has the unknown opcode {opcode:#04x}")
}

/// Whether it changes its destination register.
pub fn writes(instruction: &Instruction) -> bool {
    match instruction.opcode & 7 {
        0 => !matches!(instruction.opcode, op::TRAP | op::LOCAL_CALL | op::HOST_CALL),
        1 | 4 | 7 => true,
        _ => false,
    }
}

fn memory(instruction: &Instruction) -> Option<()> {
    let known = match instruction.opcode {
        0x61 | 0x69 | 0x71 | 0x79 | 0x81 | 0x89 | 0x91 => true,
        0x62 | 0x6a | 0x72 | 0x7a | 0x63 | 0x6b | 0x73 | 0x7b => true,
        op::ATOMIC32 | op::ATOMIC64 => {
            matches!(instruction.immediate, 0x00 | 0x40 | 0x50 | 0xa0 | 0x01 | 0x41 | 0x51 | 0xa1 | 0xe1 | 0xf1)
        }
        _ => false,
    };
    known.then_some(())
}

/// The distance of the jump, if it is one and not a call or exit.
fn jump(instruction: &mut Instruction) -> Option<Option<i64>> {
    match instruction.opcode {
        0x05 => Some(Some(i64::from(instruction.offset))),
        0x06 => {
            instruction.opcode = op::JUMP;
            Some(Some(instruction.immediate))
        }
        op::EXIT | 0x85 => Some(None),
        opcode if matches!(opcode >> 4, 1..=7 | 10..=13) => Some(Some(i64::from(instruction.offset))),
        _ => None,
    }
}

fn arithmetic(instruction: &mut Instruction) -> Option<()> {
    let Instruction { opcode, src, offset, immediate, .. } = *instruction;
    let register = opcode & 8 != 0;
    instruction.opcode = match (opcode, offset) {
        (0xd4, 0) => op::TO_LITTLE,
        (0xdc | 0xd7, 0) => op::SWAP,
        (0x3c | 0x34 | 0x37 | 0x3f | 0x9c | 0x94 | 0x97 | 0x9f, 1) => {
            let base = if opcode >> 4 == 3 { op::SDIV64_K } else { op::SMOD64_K };
            base + if opcode & 7 == 4 { 0x10 } else { 0 } + if register { 8 } else { 0 }
        }
        (0xbf, 8) => op::MOVE8_64,
        (0xbf, 16) => op::MOVE16_64,
        (0xbf, 32) => op::MOVE32_64,
        (0xbc, 8) => op::MOVE8_32,
        (0xbc, 16) => op::MOVE16_32,
        (_, 0) if opcode >> 4 <= 12 => opcode,
        _ => return None,
    };
    let swaps = matches!(instruction.opcode, op::TO_LITTLE | op::SWAP);
    if swaps && !matches!(immediate, 16 | 32 | 64) || !swaps && !register && src != 0 {
        return None;
    }
    Some(())
}

/// Word of arithmetic, comparisons, and shifts, in 32 and in 64 bits, without overflow. Division by 0 gives 0, and its remainder is
/// the dividend (RFC 9669 section 4.1).
pub trait Word: Copy + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn lsh(self, other: Self) -> Self;
    fn rsh(self, other: Self) -> Self;
    fn modulo(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn arsh(self, other: Self) -> Self;
    fn sdiv(self, other: Self) -> Self;
    fn smod(self, other: Self) -> Self;
    fn sgt(self, other: Self) -> bool;
    fn sge(self, other: Self) -> bool;
}

macro_rules! word {
    ($unsigned:ty, $signed:ty) => {
        #[rustfmt::skip]
        impl Word for $unsigned {
            #[inline(always)] fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)] fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)] fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)] fn div(self, other: Self) -> Self { self.checked_div(other).unwrap_or(0) }
            #[inline(always)] fn or(self, other: Self) -> Self { self | other }
            #[inline(always)] fn and(self, other: Self) -> Self { self & other }
            #[inline(always)] fn lsh(self, other: Self) -> Self { self.wrapping_shl(other as u32) }
            #[inline(always)] fn rsh(self, other: Self) -> Self { self.wrapping_shr(other as u32) }
            #[inline(always)] fn modulo(self, other: Self) -> Self { self.checked_rem(other).unwrap_or(self) }
            #[inline(always)] fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)] fn arsh(self, other: Self) -> Self { (self as $signed).wrapping_shr(other as u32) as Self }
            #[inline(always)] fn sdiv(self, other: Self) -> Self {
                if other == 0 { 0 } else { (self as $signed).wrapping_div(other as $signed) as Self }
            }
            #[inline(always)] fn smod(self, other: Self) -> Self {
                if other == 0 { self } else { (self as $signed).wrapping_rem(other as $signed) as Self }
            }
            #[inline(always)] fn sgt(self, other: Self) -> bool { self as $signed > other as $signed }
            #[inline(always)] fn sge(self, other: Self) -> bool { self as $signed >= other as $signed }
        }
    };
}
word!(u32, i32);
word!(u64, i64);

/// Result of an arithmetic instruction for two values; `None` for other instructions.
pub fn computed(instruction: &Instruction, a: u64, b: u64) -> Option<u64> {
    fn binary<W: Word>(code: u8, a: W, b: W) -> Option<W> {
        Some(match code {
            0x0 => a.add(b),
            0x1 => a.sub(b),
            0x2 => a.mul(b),
            0x3 => a.div(b),
            0x4 => a.or(b),
            0x5 => a.and(b),
            0x6 => a.lsh(b),
            0x7 => a.rsh(b),
            0x9 => a.modulo(b),
            0xa => a.xor(b),
            0xb => b,
            0xc => a.arsh(b),
            _ => return None,
        })
    }
    match instruction.opcode & 7 {
        7 => binary(instruction.opcode >> 4, a, b),
        4 => binary(instruction.opcode >> 4, a as u32, b as u32).map(u64::from),
        _ => None,
    }
}

/// Whether a conditional jump is taken; `None` for another instruction.
pub fn jumps(instruction: &Instruction, a: u64, b: u64) -> Option<bool> {
    fn compared<W: Word>(code: u8, a: W, b: W, zero: W) -> Option<bool> {
        Some(match code {
            0x1 => a == b,
            0x2 => a > b,
            0x3 => a >= b,
            0x4 => a.and(b) != zero,
            0x5 => a != b,
            0x6 => a.sgt(b),
            0x7 => a.sge(b),
            0xa => a < b,
            0xb => a <= b,
            0xc => b.sgt(a),
            0xd => b.sge(a),
            _ => return None,
        })
    }
    match instruction.opcode & 7 {
        5 => compared(instruction.opcode >> 4, a, b, 0),
        6 => compared(instruction.opcode >> 4, a as u32, b as u32, 0),
        _ => None,
    }
}
