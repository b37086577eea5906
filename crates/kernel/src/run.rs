//! The machine: runs a program's operations on the memory of one connection (RFC 9669).

use crate::code::{Instruction, Word, op};
use crate::error::{Fault, line};
use crate::host::Host;
use crate::load::{FRAME_BYTES, MEMBERS, MOST_FRAMES, Parameter, Program};
use crate::memory::{self, CONTEXT, Denied, Memory, SAMPLE, SOCKET, STACK};
use crate::target;
use fullpipe_cc::Nanos;
use fullpipe_cc::random::SplitMix64;
use std::fmt;
use std::sync::Arc;

/// How many instructions a call may take: as many as the kernel's verifier follows.
const BUDGET: u32 = 1_000_000;

/// The kernel's error numbers that helpers give back.
const E2BIG: u64 = 7u64.wrapping_neg();
const ENOENT: u64 = 2u64.wrapping_neg();
const EFAULT: u64 = 14u64.wrapping_neg();

/// Program with the memory of one connection. `.data`, `.bss`, and arrays are separate for each connection.
#[derive(Clone)]
pub struct Machine {
    program: Arc<Program>,
    memory: Memory,
    /// The clock that programs read.
    pub now: Nanos,
    /// What `bpf_get_prandom_u32` draws from.
    random: SplitMix64,
    /// For each map: the socket's storage has been made.
    stored: Vec<bool>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Machine").field("program", &self.program).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Return address of a local call, and the registers that it preserves.
#[derive(Clone, Copy, Default)]
struct Frame {
    back: usize,
    kept: [u64; 5],
}

/// Local calls that have not returned.
#[derive(Default)]
struct Frames {
    frames: [Frame; MOST_FRAMES - 1],
    depth: usize,
}

impl Frames {
    /// Enters a local call that returns to `back`. Returns whether there is room for it.
    #[inline(always)]
    fn enter(&mut self, back: usize, r: &mut [u64; 16]) -> bool {
        let Some(frame) = self.frames.get_mut(self.depth) else { return false };
        *frame = Frame { back, kept: [r[6], r[7], r[8], r[9], r[10]] };
        self.depth += 1;
        r[10] += u64::from(FRAME_BYTES);
        true
    }

    /// Leaves a local call, and restores its registers. Returns the address to go on at; `None` outside any call.
    #[inline(always)]
    fn leave(&mut self, r: &mut [u64; 16]) -> Option<usize> {
        self.depth = self.depth.checked_sub(1)?;
        let Frame { back, kept } = self.frames[self.depth];
        [r[6], r[7], r[8], r[9], r[10]] = kept;
        Some(back)
    }
}

enum Stop {
    Denied(Denied),
    Said(String),
}

impl From<Denied> for Stop {
    fn from(denied: Denied) -> Stop {
        Stop::Denied(denied)
    }
}

/// Runs one instruction. Arithmetic, jumps, loads, and stores come in several forms each: 64 or 32 bits, with an immediate or a register.
/// `rest` has all others.
macro_rules! step {
    (
        $self:ident, $program:ident, $tried:ident, $i:ident, $r:ident, $pc:ident, $d:ident, $s:ident;
        $($pattern:pat => $body:expr,)*
    ) => {
        step! {
            @forms $self, $program, $tried, $i, $r, $pc, $d, $s;
            arithmetic {
                add 0x07 0x0f 0x04 0x0c;
                sub 0x17 0x1f 0x14 0x1c;
                mul 0x27 0x2f 0x24 0x2c;
                div 0x37 0x3f 0x34 0x3c;
                or 0x47 0x4f 0x44 0x4c;
                and 0x57 0x5f 0x54 0x5c;
                lsh 0x67 0x6f 0x64 0x6c;
                rsh 0x77 0x7f 0x74 0x7c;
                modulo 0x97 0x9f 0x94 0x9c;
                xor 0xa7 0xaf 0xa4 0xac;
                arsh 0xc7 0xcf 0xc4 0xcc;
                sdiv 0x20 0x28 0x30 0x38;
                smod 0x40 0x48 0x50 0x58;
            }
            jumps {
                0x15 0x1d 0x16 0x1e |a, b| a == b;
                0x25 0x2d 0x26 0x2e |a, b| a > b;
                0x35 0x3d 0x36 0x3e |a, b| a >= b;
                0x45 0x4d 0x46 0x4e |a, b| a & b != 0;
                0x55 0x5d 0x56 0x5e |a, b| a != b;
                0x65 0x6d 0x66 0x6e |a, b| a.sgt(b);
                0x75 0x7d 0x76 0x7e |a, b| a.sge(b);
                0xa5 0xad 0xa6 0xae |a, b| a < b;
                0xb5 0xbd 0xb6 0xbe |a, b| a <= b;
                0xc5 0xcd 0xc6 0xce |a, b| b.sgt(a);
                0xd5 0xdd 0xd6 0xde |a, b| b.sge(a);
            }
            moves { 0xb7 0xbf u64; 0xb4 0xbc u32; }
            extensions {
                MOVE8_64 i8 u64; MOVE16_64 i16 u64; MOVE32_64 i32 u64; MOVE8_32 i8 u32; MOVE16_32 i16 u32;
            }
            loads { 0x79 u64; 0x61 u32; 0x69 u16; 0x71 u8; 0x81 i32; 0x89 i16; 0x91 i8; }
            stores { 0x7b 0x7a u64; 0x63 0x62 u32; 0x6b 0x6a u16; 0x73 0x72 u8; }
            rest { $($pattern => $body,)* }
        }
    };
    (
        @forms $self:ident, $program:ident, $tried:ident, $i:ident, $r:ident, $pc:ident, $d:ident, $s:ident;
        arithmetic { $($method:ident $ik:literal $ix:literal $wk:literal $wx:literal;)* }
        jumps { $($jk:literal $jx:literal $vk:literal $vx:literal |$a:ident, $b:ident| $test:expr;)* }
        moves { $($mk:literal $mx:literal $moved:ty;)* }
        extensions { $($extension:ident $narrow:ident $wide:ident;)* }
        loads { $($from:literal $loaded:ty;)* }
        stores { $($sx:literal $sk:literal $stored:ty;)* }
        rest { $($pattern:pat => $body:expr,)* }
    ) => {
        match $i.opcode {
            $(
                $ik => $r[$d] = $r[$d].$method($i.immediate as u64),
                $ix => $r[$d] = $r[$d].$method($r[$s]),
                $wk => $r[$d] = u64::from(($r[$d] as u32).$method($i.immediate as u32)),
                $wx => $r[$d] = u64::from(($r[$d] as u32).$method($r[$s] as u32)),
            )*
            $(
                $jk => { let ($a, $b) = ($r[$d], $i.immediate as u64); if $test { $pc = $i.offset as usize } }
                $jx => { let ($a, $b) = ($r[$d], $r[$s]); if $test { $pc = $i.offset as usize } }
                $vk => { let ($a, $b) = ($r[$d] as u32, $i.immediate as u32); if $test { $pc = $i.offset as usize } }
                $vx => { let ($a, $b) = ($r[$d] as u32, $r[$s] as u32); if $test { $pc = $i.offset as usize } }
            )*
            $(
                $mk => $r[$d] = $i.immediate as $moved as u64,
                $mx => $r[$d] = $r[$s] as $moved as u64,
            )*
            $(op::$extension => $r[$d] = $r[$s] as $narrow as $wide as u64,)*
            $($from => {
                let bytes = $tried!($self.memory.load(&$program.layout, place($r[$s], &$i)));
                $r[$d] = <$loaded>::from_le_bytes(bytes) as u64;
            })*
            $(
                $sx => $tried!($self.store($program, place($r[$d], &$i), ($r[$s] as $stored).to_le_bytes())),
                $sk => $tried!($self.store($program, place($r[$d], &$i), ($i.immediate as $stored).to_le_bytes())),
            )*
            $($pattern => $body,)*
        }
    };
}

impl Machine {
    /// A connection that nothing has happened to; random numbers come from `seed`.
    pub fn new(program: Arc<Program>, seed: u64) -> Machine {
        let stored = vec![false; program.maps.len()];
        Machine { memory: Memory::new(&program.layout), stored, now: 0, random: SplitMix64::new(seed | 1), program }
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Gives a parameter of the program a value, within what [`Parameter::holds`].
    pub fn set(&mut self, parameter: &Parameter, value: f64) {
        self.set_raw(parameter, parameter.encoded(value));
    }

    /// Call of the operation whose number is in the program's memory, which may be any value.
    pub fn set_raw(&mut self, parameter: &Parameter, word: u64) {
        let bytes = word.to_le_bytes();
        self.memory.place(&self.program.layout, parameter.address, &bytes[..parameter.size]);
    }

    /// The bytes of the socket, a `tcp_sock` of [`target`].
    #[inline]
    pub fn socket_mut(&mut self) -> &mut [u8] {
        self.memory.region_mut(&self.program.layout, SOCKET)
    }

    /// Bytes of the socket, to read.
    #[inline]
    pub fn socket(&self) -> &[u8] {
        self.memory.region(&self.program.layout, SOCKET)
    }

    /// The bytes of the sample that the machine points to.
    #[inline]
    pub fn sample_mut(&mut self) -> &mut [u8] {
        self.memory.region_mut(&self.program.layout, SAMPLE)
    }

    /// The address of the socket.
    pub const fn address_of_socket() -> u64 {
        memory::address(SOCKET, 0)
    }

    /// The address of the sample.
    pub const fn address_of_sample() -> u64 {
        memory::address(SAMPLE, 0)
    }

    /// Runs a module's initialization; other programs have none.
    ///
    /// # Errors
    /// A forbidden action of the program.
    pub fn begin(&mut self) -> Result<(), Fault> {
        let Some(entry) = self.program.begins else { return Ok(()) };
        self.enter(entry, "module_init", &[]).map(drop)
    }

    /// Calls a member (its place in [`MEMBERS`]); 0 if the program has none.
    ///
    /// # Errors
    /// A forbidden action of the program.
    pub fn call(&mut self, member: usize, arguments: &[u64]) -> Result<u64, Fault> {
        match self.program.entries[member] {
            Some(entry) => self.enter(entry, MEMBERS[member], arguments),
            None => Ok(0),
        }
    }

    /// A program takes its arguments from memory, by r1; a plain function takes them in registers from r1 on.
    fn enter(&mut self, entry: usize, member: &'static str, arguments: &[u64]) -> Result<u64, Fault> {
        let program = Arc::clone(&self.program);
        let mut registers = [0; 16];
        if program.module.is_some() {
            registers[1..=arguments.len().min(5)].copy_from_slice(&arguments[..arguments.len().min(5)]);
        } else {
            registers[1] = memory::address(CONTEXT, 0);
            let context = self.memory.region_mut(&program.layout, CONTEXT);
            for (place, argument) in context.chunks_exact_mut(8).zip(arguments) {
                place.copy_from_slice(&argument.to_le_bytes());
            }
        }
        let mut at = entry;
        self.run(&program, registers, &mut at).map_err(|stop| {
            let what = match stop {
                Stop::Denied(denied) => denied.said(&program.layout),
                Stop::Said(what) => what,
            };
            Fault { member, at: program.place(at.saturating_sub(1)), what: line(&what) }
        })
    }

    fn run(&mut self, program: &Program, mut r: [u64; 16], stopped: &mut usize) -> Result<u64, Stop> {
        let (code, mut pc, mut left) = (&program.code[..], *stopped, BUDGET);
        let mut frames = Frames::default();
        r[10] = memory::address(STACK, FRAME_BYTES);
        macro_rules! tried {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(stop) => {
                        *stopped = pc;
                        return Err(stop.into());
                    }
                }
            };
        }
        macro_rules! said {
            ($($what:tt)*) => {{
                *stopped = pc;
                return Err(Stop::Said(format!($($what)*)));
            }};
        }
        loop {
            let Some(&i) = code.get(pc) else { said!("runs beyond its code") };
            pc += 1;
            left -= 1;
            if left == 0 {
                said!("takes more than {BUDGET} instructions");
            }
            let (d, s) = (usize::from(i.dst & 15), usize::from(i.src & 15));
            step! {
                self, program, tried, i, r, pc, d, s;
                0x87 | 0x8f => r[d] = r[d].wrapping_neg(),
                0x84 | 0x8c => r[d] = u64::from((r[d] as u32).wrapping_neg()),
                op::WIDE_IMMEDIATE => {
                    r[d] = i.immediate as u64;
                    pc += 1;
                },
                op::JUMP => pc = i.offset as usize,
                op::ATOMIC64 => tried!(self.atomic::<8>(program, &i, &mut r)),
                op::ATOMIC32 => tried!(self.atomic::<4>(program, &i, &mut r)),
                op::TO_LITTLE => r[d] &= u64::MAX >> (64 - i.immediate),
                op::SWAP => r[d] = r[d].swap_bytes() >> (64 - i.immediate),
                op::HOST_CALL => {
                    let arguments = [r[1], r[2], r[3], r[4], r[5]];
                    r[0] = tried!(self.host(program, Host::of(i.immediate), arguments));
                },
                op::LOCAL_CALL => {
                    if !frames.enter(pc, &mut r) {
                        said!("nests more than {MOST_FRAMES} calls");
                    }
                    pc = i.offset as usize;
                },
                op::EXIT => match frames.leave(&mut r) {
                    Some(back) => pc = back,
                    None => return Ok(r[0]),
                },
                _ => said!("{}", program.traps.get(i.immediate as usize).map_or("has no end", String::as_str)),
            }
        }
    }

    /// Stores an allowed value.
    #[inline(always)]
    fn store<const N: usize>(&mut self, program: &Program, address: u64, value: [u8; N]) -> Result<(), Stop> {
        if memory::region(address) == u64::from(SOCKET) {
            let at = address as u32 as usize;
            if !program.writable.get(at..at + N).is_some_and(|bytes| bytes.iter().all(|&may| may)) {
                let what = target::member_at("tcp_sock", at as u32);
                return Err(Stop::Said(format!("writes {what}, which is read-only for programs")));
            }
        }
        Ok(self.memory.store(&program.layout, address, value)?)
    }

    #[cold]
    #[inline(never)]
    fn atomic<const N: usize>(&mut self, program: &Program, i: &Instruction, r: &mut [u64; 16]) -> Result<(), Stop> {
        let (d, s) = (usize::from(i.dst & 15), usize::from(i.src & 15));
        let address = place(r[d], i);
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&self.memory.load::<N>(&program.layout, address)?);
        let old = u64::from_le_bytes(bytes);
        let narrow = |value: u64| if N == 8 { value } else { u64::from(value as u32) };
        let new = match i.immediate & 0xf0 {
            0x00 => old.wrapping_add(r[s]),
            0x40 => old | r[s],
            0x50 => old & r[s],
            0xa0 => old ^ r[s],
            0xf0 if narrow(r[0]) != old => old,
            _ => r[s],
        };
        self.store::<N>(program, address, new.to_le_bytes()[..N].try_into().expect("N of 8 bytes"))?;
        match i.immediate & 0xf1 {
            0xf1 => r[0] = old,
            fetching if fetching & 1 == 1 => r[s] = old,
            _ => {}
        }
        Ok(())
    }

    fn host(&mut self, program: &Program, host: Host, [a, b, c, d, _]: [u64; 5]) -> Result<u64, Stop> {
        let layout = &program.layout;
        Ok(match host {
            Host::Now => self.now,
            Host::Jiffies => self.now / (1_000_000_000 / target::HZ),
            Host::Random => self.draw(),
            Host::Zero => 0,
            Host::Identity => a,
            Host::MapLookup => match self.element(program, a, b)? {
                Some((address, _)) => address,
                None => 0,
            },
            Host::MapUpdate => match self.element(program, a, b)? {
                Some((address, size)) => self.memory.copy(layout, c, address, size as usize).map(|()| 0)?,
                None => E2BIG,
            },
            Host::ProbeRead => match self.memory.copy(layout, c, a, b as u32 as usize) {
                Ok(()) => 0,
                Err(_) => self.memory.fill(layout, a, b as u32 as usize, 0).map(|()| EFAULT)?,
            },
            // BPF_SK_STORAGE_GET_F_CREATE is bit 0.
            Host::StorageGet => self.storage_get(program, (a, b), c, d & 1 == 1)?,
            Host::StorageDelete => {
                let index = self.storage(program, a, b)?;
                if std::mem::replace(&mut self.stored[index], false) { 0 } else { ENOENT }
            }
            Host::SendAck | Host::SetOption | Host::AskOption => return Err(refusal(host)),
            Host::RenoSsthresh => (socket(a)?, u64::from(self.reno_ssthresh())).1,
            Host::RenoUndo => (socket(a)?, u64::from(self.reno_undo())).1,
            Host::RenoAvoid => {
                socket(a)?;
                self.reno_avoid(c as u32);
                0
            }
            Host::SlowStart => (socket(a)?, u64::from(self.slow_start(b as u32))).1,
            Host::AvoidAdditive => {
                socket(a)?;
                self.additive(b as u32, c as u32);
                0
            }
            Host::CopyMemory => {
                self.may_write(program, a, c)?;
                self.memory.copy(layout, b, a, c as u32 as usize)?;
                a
            }
            Host::SetMemory => {
                self.may_write(program, a, c)?;
                self.memory.fill(layout, a, c as u32 as usize, b as u8)?;
                a
            }
        })
    }

    /// Value of a map of socket storage; 0 if there is none. `create` makes one, with the content at `initial` unless that is 0.
    fn storage_get(&mut self, program: &Program, of: (u64, u64), initial: u64, create: bool) -> Result<u64, Stop> {
        let layout = &program.layout;
        let index = self.storage(program, of.0, of.1)?;
        let values = memory::address(program.maps[index].values, 0);
        let size = program.maps[index].value_size as usize;
        if !self.stored[index] {
            if !create {
                return Ok(0);
            }
            self.memory.fill(layout, values, size, 0)?;
            if initial != 0 {
                self.memory.copy(layout, initial, values, size)?;
            }
            self.stored[index] = true;
        }
        Ok(values)
    }

    /// Where the element of an array with the key at an address lies, and its bytes; `None` if there is none.
    fn element(&self, program: &Program, map: u64, key: u64) -> Result<Option<(u64, u32)>, Stop> {
        let index =
            program.map(map).ok_or_else(|| Stop::Said("passes a helper an argument that is not a map".into()))?;
        let map = &program.maps[index];
        if map.storage {
            return Err(Stop::Said(format!("uses {} as an array", map.name)));
        }
        let key = u32::from_le_bytes(self.memory.load(&program.layout, key)?);
        let offset = key.wrapping_mul(map.value_size.next_multiple_of(8));
        Ok((key < map.entries).then(|| (memory::address(map.values, offset), map.value_size)))
    }

    /// The number of the map that holds storage of the socket.
    fn storage(&self, program: &Program, map: u64, of: u64) -> Result<usize, Stop> {
        socket(of)?;
        let index = program.map(map).filter(|&index| program.maps[index].storage);
        index.ok_or_else(|| Stop::Said("passes a helper an argument that is not socket storage".into()))
    }

    fn may_write(&self, program: &Program, to: u64, size: u64) -> Result<(), Stop> {
        let at = to as u32 as usize;
        let inside = program.writable.get(at..at.saturating_add(size as u32 as usize));
        if memory::region(to) == u64::from(SOCKET) && !inside.is_some_and(|bytes| bytes.iter().all(|&may| may)) {
            return Err(Stop::Said("writes parts of the socket that are read-only for programs".into()));
        }
        Ok(())
    }

    fn draw(&mut self) -> u64 {
        self.random.bits() >> 32
    }
}

/// The address of a load, store or atomic operation.
#[inline(always)]
fn place(base: u64, i: &Instruction) -> u64 {
    base.wrapping_add(i64::from(i.offset) as u64)
}

/// The kernel's functions are given the socket and nothing else.
fn socket(address: u64) -> Result<(), Stop> {
    let wrong = || Stop::Said("passes a kernel function an argument that is not a socket".into());
    (address == Machine::address_of_socket()).then_some(()).ok_or_else(wrong)
}

/// Reason why a helper of the kernel is not available.
fn refusal(host: Host) -> Stop {
    let what = match host {
        Host::SendAck => "sends an ACK (bpf_tcp_send_ack): no sender here receives data",
        Host::SetOption => "sets an option of the socket (bpf_setsockopt), which the simulator does not have",
        _ => "reads an option of the socket (bpf_getsockopt), which the simulator does not have",
    };
    Stop::Said(what.into())
}
