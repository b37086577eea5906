//! Calls for C. `include/fullpipe_net.h` describes them.

use crate::{Direction, Ecn, Links, Scenario};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// `struct fullpipe_net`.
pub struct Net(Links);

/// `struct fullpipe_delivered`.
#[repr(C)]
pub struct Delivered {
    at: u64,
    tag: u64,
    direction: i32,
    ecn: i32,
}

/// Writes text with a NUL at its end, cut to the capacity.
///
/// # Safety
/// `to` has `capacity` bytes.
unsafe fn write(text: &str, to: *mut c_char, capacity: usize) {
    if to.is_null() || capacity == 0 {
        return;
    }
    let length = text.len().min(capacity - 1);
    // SAFETY: the caller's.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr().cast(), length);
        to.add(length).write(0);
    }
}

impl Net {
    fn direction(&self, direction: i32) -> Option<Direction> {
        usize::try_from(direction).ok().and_then(|index| self.0.direction(index))
    }
}

/// Links of a scenario.
///
/// # Safety
/// `scenario` is text that ends with NUL, and `error` has `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_create(scenario: *const c_char, error: *mut c_char, capacity: usize) -> *mut Net {
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(scenario) };
    let links = text
        .to_str()
        .map_err(|error| error.to_string())
        .and_then(|text| Scenario::from_toml(text).map_err(|problem| problem.to_string()))
        .and_then(|scenario| Links::new(&scenario).map_err(|invalid| invalid.to_string()));
    match links {
        Ok(links) => Box::into_raw(Box::new(Net(links))),
        Err(what) => {
            // SAFETY: the caller's.
            unsafe { write(&what, error, capacity) };
            null_mut()
        }
    }
}

/// Frees the links.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`], and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_destroy(net: *mut Net) {
    if !net.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(net) });
    }
}

/// Direction of a link; -1 if there is none of this name.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`], and `link` is text that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_find(net: *const Net, link: *const c_char, reverse: i32) -> i32 {
    // SAFETY: the caller's.
    let (net, link) = unsafe { (&*net, CStr::from_ptr(link)) };
    let found = link.to_str().ok().and_then(|link| net.0.find(link, reverse != 0));
    found.map_or(-1, |direction| direction.index() as i32)
}

/// Sends a packet. Returns -1 for a wrong time, direction, or ECN field.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_send(
    net: *mut Net,
    now: u64,
    direction: i32,
    bytes: u32,
    ecn: i32,
    tag: u64,
) -> i32 {
    // SAFETY: the caller's.
    let net = unsafe { &mut *net };
    let ecn = match ecn {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => return -1,
    };
    match net.direction(direction) {
        Some(direction) if net.0.may_send(now) => {
            net.0.send(now, direction, bytes, ecn, tag);
            0
        }
        _ => -1,
    }
}

/// Time of the next event.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_next_event(net: *const Net) -> u64 {
    // SAFETY: the caller's.
    unsafe { &*net }.0.next_event().unwrap_or(u64::MAX)
}

/// Next packet that arrives by `now`. Returns 1, 0 without one, or -1 for a wrong time.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`], and `packet` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_deliver(net: *mut Net, now: u64, packet: *mut Delivered) -> i32 {
    // SAFETY: the caller's.
    let net = unsafe { &mut *net };
    if now < net.0.now() {
        return -1;
    }
    let Some(found) = net.0.deliver(now) else { return 0 };
    let (at, tag, direction, ecn) = (found.at, found.tag, found.direction.index() as i32, found.ecn as i32);
    // SAFETY: the caller's.
    unsafe { packet.write(Delivered { at, tag, direction, ecn }) };
    1
}

/// Packets that a direction has lost so far.
///
/// # Safety
/// `net` comes from [`fullpipe_net_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullpipe_net_lost(net: *const Net, direction: i32) -> u64 {
    // SAFETY: the caller's.
    let net = unsafe { &*net };
    net.direction(direction).map_or(0, |direction| net.0.lost(direction))
}
