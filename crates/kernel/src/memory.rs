//! Memory as a program sees it: regions, each with its own addresses. No address of the host is among them.

/// How many bits of an address are the place within its region; those above are the region's number.
const OFFSET_BITS: u32 = 32;

/// A region's number.
pub type Region = u32;

/// Where nothing is: the null pointer's region.
pub const NULL: Region = 0;
/// The arguments of the call.
pub const CONTEXT: Region = 1;
/// The socket.
pub const SOCKET: Region = 2;
/// The sample that an argument points to.
pub const SAMPLE: Region = 3;
/// The frames of the program and of its local calls.
pub const STACK: Region = 4;
/// The first region that an object brings.
pub const FIRST_OWN: Region = 5;

/// The address of a place in a region.
pub const fn address(region: Region, offset: u32) -> u64 {
    (region as u64) << OFFSET_BITS | offset as u64
}

/// The region of an address.
pub const fn region(address: u64) -> u64 {
    address >> OFFSET_BITS
}

/// Region: its range of bytes, and its name.
#[derive(Clone)]
pub struct Extent {
    start: u32,
    length: u32,
    writable: bool,
    name: String,
}

/// How many bytes all regions together may have.
const MOST_BYTES: usize = 64 << 20;

/// Regions and their initial content.
#[derive(Clone, Default)]
pub struct Layout {
    extents: Vec<Extent>,
    bytes: Vec<u8>,
}

impl Layout {
    /// One more region; `None` if there is no room.
    pub fn add(&mut self, name: &str, content: &[u8], writable: bool) -> Option<Region> {
        let start = self.bytes.len();
        if start + content.len() > MOST_BYTES {
            return None;
        }
        self.bytes.extend_from_slice(content);
        // Each begins at a multiple of 8, so that no two share a word.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let (start, length) = (start as u32, content.len() as u32);
        self.extents.push(Extent { start, length, writable, name: name.to_owned() });
        Some(self.extents.len() as Region - 1)
    }

    /// Content of a region.
    pub fn content(&mut self, region: Region) -> &mut [u8] {
        let Extent { start, length, .. } = self.extents[region as usize];
        &mut self.bytes[start as usize..(start + length) as usize]
    }

    /// Bytes of all regions, which each connection has a copy of.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes a region has.
    pub fn length(&self, region: Region) -> u32 {
        self.extents[region as usize].length
    }
}

/// The memory of one connection.
#[derive(Clone)]
pub struct Memory {
    bytes: Vec<u8>,
}

/// An access that is not allowed.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    address: u64,
    size: usize,
    store: bool,
}

impl Memory {
    pub fn new(layout: &Layout) -> Memory {
        Memory { bytes: layout.bytes.clone() }
    }

    #[inline(always)]
    fn at(layout: &Layout, address: u64, size: usize, store: bool) -> Result<usize, Denied> {
        let denied = Denied { address, size, store };
        let extent = layout.extents.get(region(address) as usize).ok_or(denied)?;
        let offset = address as u32;
        if u64::from(offset) + size as u64 > u64::from(extent.length) || store && !extent.writable {
            return Err(denied);
        }
        Ok((extent.start + offset) as usize)
    }

    /// Region at an address.
    #[inline(always)]
    pub fn load<const N: usize>(&self, layout: &Layout, address: u64) -> Result<[u8; N], Denied> {
        let at = Memory::at(layout, address, N, false)?;
        let bytes = self.bytes.get(at..at + N).ok_or(Denied { address, size: N, store: false })?;
        Ok(bytes.try_into().expect("a slice of N bytes"))
    }

    /// Puts something there.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, layout: &Layout, address: u64, value: [u8; N]) -> Result<(), Denied> {
        let denied = Denied { address, size: N, store: true };
        let at = Memory::at(layout, address, N, true)?;
        self.bytes.get_mut(at..at + N).ok_or(denied)?.copy_from_slice(&value);
        Ok(())
    }

    /// Moves bytes from one address to another.
    pub fn copy(&mut self, layout: &Layout, from: u64, to: u64, size: usize) -> Result<(), Denied> {
        let from = Memory::at(layout, from, size, false)?;
        let to = Memory::at(layout, to, size, true)?;
        self.bytes.copy_within(from..from + size, to);
        Ok(())
    }

    /// Puts one byte everywhere.
    pub fn fill(&mut self, layout: &Layout, to: u64, size: usize, byte: u8) -> Result<(), Denied> {
        let to = Memory::at(layout, to, size, true)?;
        self.bytes[to..to + size].fill(byte);
        Ok(())
    }

    /// Puts something where no program may: the host's own doing. Nothing happens where there is no room.
    pub fn place(&mut self, layout: &Layout, address: u64, value: &[u8]) {
        if let Ok(at) = Memory::at(layout, address, value.len(), false) {
            self.bytes[at..at + value.len()].copy_from_slice(value);
        }
    }

    /// A region as the host sees it.
    #[inline(always)]
    pub fn region_mut(&mut self, layout: &Layout, region: Region) -> &mut [u8] {
        let Extent { start, length, .. } = layout.extents[region as usize];
        &mut self.bytes[start as usize..(start + length) as usize]
    }

    /// Bytes at an address, to read.
    #[inline(always)]
    pub fn region(&self, layout: &Layout, region: Region) -> &[u8] {
        let Extent { start, length, .. } = layout.extents[region as usize];
        &self.bytes[start as usize..(start + length) as usize]
    }
}

impl Denied {
    /// In words.
    pub fn said(&self, layout: &Layout) -> String {
        let Denied { address, size, store } = *self;
        let verb = if store { "writes" } else { "reads" };
        let bytes = if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") };
        let (region, offset) = (region(address), address as u32 as i32);
        match layout.extents.get(region as usize) {
            _ if region == u64::from(NULL) => format!("{verb} {bytes} through a null pointer, at {address:#x}"),
            None => format!("{verb} {bytes} at {address:#x}, outside of all memory regions"),
            Some(extent) if store && !extent.writable => {
                format!("writes {bytes} to {}, which is read-only", extent.name)
            }
            Some(extent) => format!("{verb} {bytes} at {offset} of {}, which has {}", extent.name, extent.length),
        }
    }
}
