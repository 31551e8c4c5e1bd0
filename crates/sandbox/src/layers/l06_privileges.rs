//! Layer 6: all capabilities dropped, from every set, and no way to gain one by executing a file.

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::outcome::Layer;

use crate::layer::LayerError;

/// Capability numbers are below this in every kernel.
const CAP_NUMBER_MAX: u32 = 63;

/// Drops everything and checks that it is gone.
pub(crate) fn drop_all() -> Result<(), LayerError> {
    let at = |what: &'static str| {
        move |errno: rustix::io::Errno| LayerError::new(Layer::Privileges, errno.raw_os_error(), what.to_owned())
    };
    rustix::thread::clear_ambient_capability_set().map_err(at("clear the ambient capabilities"))?;
    for number in 0..=CAP_NUMBER_MAX {
        let cap = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(cap) {
            Ok(()) => {}
            // The first number that the kernel does not know ends the list.
            Err(rustix::io::Errno::INVAL) => break,
            Err(errno) => return Err(at("drop a capability for good")(errno)),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(at("drop the capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(at("set no_new_privs"))?;
    let left = rustix::thread::capabilities(None).map_err(at("read the capabilities"))?;
    let clean = left.effective.is_empty() && left.permitted.is_empty() && left.inheritable.is_empty();
    if clean && rustix::thread::no_new_privs().unwrap_or(false) {
        Ok(())
    } else {
        Err(LayerError::new(Layer::Privileges, 0, "a capability is left after dropping all".to_owned()))
    }
}
