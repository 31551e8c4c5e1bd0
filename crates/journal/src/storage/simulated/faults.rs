//! The accidents of a simulated disk.

/// What goes wrong, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Power fails during this operation, counted from the moment the faults are set.
    pub power_cut_after: Option<u64>,
    /// How many of a thousand operations fail with an I/O error.
    pub error_per_mille: u32,
    /// How many of a thousand writes meet a full disk.
    pub full_per_mille: u32,
}
