//! Reachable instructions, and branches that are decided before the program runs: those that test for features of the kernel.

use crate::code::{Instruction, computed, jumps, op, writes};

/// Known registers: their values, as far as these are constants.
type Known = [Option<u64>; 11];

/// Instructions that can be reached from `entries`. Conditional jumps with a constant result become unconditional.
pub fn explore(code: &mut [Instruction], entries: &[usize]) -> Vec<bool> {
    let mut states: Vec<Option<Known>> = vec![None; code.len()];
    let mut open = Vec::new();
    for &entry in entries {
        arrive(&mut states, &mut open, entry, [None; 11]);
    }
    while let Some(at) = open.pop() {
        let (Some(known), Some(instruction)) = (states[at], code.get(at)) else { continue };
        step(instruction, at, known, |to, known| arrive(&mut states, &mut open, to, known));
    }
    for (at, (state, instruction)) in states.iter().zip(code.iter_mut()).enumerate() {
        if let Some(taken) = state.and_then(|known| decided(instruction, &known)) {
            let to = if taken { instruction.offset } else { at as i32 + 1 };
            *instruction = Instruction { opcode: op::JUMP, offset: to, ..*instruction };
        }
    }
    states.iter().map(Option::is_some).collect()
}

/// Another path leads to `at`: known values there are those that hold on all paths.
fn arrive(states: &mut [Option<Known>], open: &mut Vec<usize>, at: usize, known: Known) {
    let Some(state) = states.get_mut(at) else { return };
    let merged = match state {
        None => known,
        Some(before) => std::array::from_fn(|i| before[i].filter(|_| before[i] == known[i])),
    };
    if *state != Some(merged) {
        *state = Some(merged);
        open.push(at);
    }
}

fn step(instruction: &Instruction, at: usize, mut known: Known, mut go: impl FnMut(usize, Known)) {
    let Instruction { opcode, dst, src, offset, immediate } = *instruction;
    match opcode {
        op::EXIT | op::TRAP => return,
        op::JUMP => return go(offset as usize, known),
        op::LOCAL_CALL | op::HOST_CALL => {
            if opcode == op::LOCAL_CALL {
                go(offset as usize, [None; 11]);
            }
            known[..6].fill(None);
            return go(at + 1, known);
        }
        op::WIDE_IMMEDIATE => {
            known[usize::from(dst)] = Some(immediate as u64);
            return go(at + 2, known);
        }
        // Only an exchange changes a register.
        op::ATOMIC32 | op::ATOMIC64 => {
            known[0] = None;
            known[usize::from(src)] = None;
        }
        _ if matches!(opcode & 7, 5 | 6) => {
            let taken = decided(instruction, &known);
            if taken != Some(false) {
                go(offset as usize, known);
            }
            if taken == Some(true) {
                return;
            }
        }
        _ if writes(instruction) => {
            let other = operand(instruction, &known);
            // A move does not depend on the old value.
            let before = if opcode >> 4 == 0xb { Some(0) } else { known[usize::from(dst)] };
            known[usize::from(dst)] = before.zip(other).and_then(|(a, b)| computed(instruction, a, b));
        }
        _ => {}
    }
    go(at + 1, known);
}

fn operand(instruction: &Instruction, known: &Known) -> Option<u64> {
    if instruction.opcode & 8 == 0 { Some(instruction.immediate as u64) } else { known[usize::from(instruction.src)] }
}

fn decided(instruction: &Instruction, known: &Known) -> Option<bool> {
    let (a, b) = known[usize::from(instruction.dst)].zip(operand(instruction, known))?;
    jumps(instruction, a, b)
}
