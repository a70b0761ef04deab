//! What natives that build values in many steps or in large ones ask for on their way.

use rhai::NativeCallContext;

use crate::fiber;
use crate::script::{Result, Wrong};

/// Asks for the memory that one step is about to take.
///
/// # Errors
/// If the script may not have so much more.
pub(super) fn room(call: &NativeCallContext, bytes: usize) -> Result<()> {
    fiber::room(bytes).map_err(|stop| Wrong::from(stop).raise(call))
}

/// Counts a step of the script, and gives others their turn now and then.
///
/// # Errors
/// If the script has to stop.
pub(super) fn step(call: &NativeCallContext) -> Result<()> {
    fiber::tick().map_err(|stop| Wrong::from(stop).raise(call))
}
