//! The allocator of a hook that runs for a millisecond: one piece of memory, requested at once, and lists of freed blocks.
//!
//! The C library's allocator looks for the best place, which pays in a process that stays; in one that ends at once it is a
//! fifth of all instructions, and its pages come one by one. Only the thread that asked for the piece uses it. All other
//! threads and processes, and what is large, use the system's allocator, at the price of a look at a flag.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

/// The whole piece. Only what is touched takes memory.
const PIECE_BYTES: usize = 1 << 20;
/// What is asked of the system at once; a hook needs a little less.
const READY_BYTES: usize = 160 * 1_024;
/// What is asked of the system at once below the frame that asks.
const STACK_BYTES: usize = 40 * 1_024;
const PAGE_BYTES: usize = 4_096;
/// Every block begins at a multiple of this; what wants more is the system's.
const GRAIN: usize = 16;
/// Up to this size there is a list for each multiple of the grain, and above it one for each power of two.
const FINE_BYTES: usize = 1_024;
/// What is larger is the system's.
const BLOCK_BYTES_MAX: usize = 32 * 1_024;
const FINE_LISTS: usize = FINE_BYTES / GRAIN + 1;
const LISTS: usize = FINE_LISTS + 5;

/// Whether a thread uses the piece, or did.
static HAS_OWNER: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread uses the piece.
    static OWNS_PIECE: Cell<bool> = const { Cell::new(false) };
}

/// The allocator of a program that answers early; see [`crate::early`].
#[derive(Debug, Clone, Copy)]
pub struct Memory;

#[repr(C, align(4096))]
struct Piece {
    bytes: UnsafeCell<[u8; PIECE_BYTES]>,
    state: UnsafeCell<State>,
}

/// INVARIANT: every list holds freed blocks of at least its size within the piece, each of which begins with the address of the next;
/// nothing at or behind `used` was ever handed out.
struct State {
    used: usize,
    freed: [*mut u8; LISTS],
}

// SAFETY: only the thread whose flag is up reads or writes it, and `begin` raises that of one thread alone, ever.
unsafe impl Sync for Piece {}

static PIECE: Piece = Piece {
    bytes: UnsafeCell::new([0; PIECE_BYTES]),
    state: UnsafeCell::new(State { used: 0, freed: [ptr::null_mut(); LISTS] }),
};

/// Has this thread use the piece from now on, unless another one does.
pub(crate) fn begin() {
    if HAS_OWNER.swap(true, Ordering::Relaxed) {
        return;
    }
    make_ready(PIECE.bytes.get().addr(), READY_BYTES);
    let here = 0_u8;
    make_ready((&raw const here).addr().saturating_sub(STACK_BYTES) & !(PAGE_BYTES - 1), STACK_BYTES);
    OWNS_PIECE.set(true);
}

/// Asks the system for pages before they are touched: one call instead of a fault for each.
fn make_ready(start: usize, bytes: usize) {
    let start = ptr::without_provenance_mut::<libc::c_void>(start);
    // SAFETY: the advice changes no contents, wherever it points. A system that does not know it, or finds nothing there, refuses
    // it and gives page by page.
    unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) };
}

/// The list for blocks of this size, and the size that they have.
const fn list_for(size: usize) -> Option<(usize, usize)> {
    if size <= FINE_BYTES {
        let list = size.div_ceil(GRAIN);
        return Some((list, list * GRAIN));
    }
    if size > BLOCK_BYTES_MAX {
        return None;
    }
    let bytes = size.next_power_of_two();
    Some((FINE_LISTS + (bytes / FINE_BYTES).ilog2() as usize - 1, bytes))
}

/// Whether a block lies in the piece.
fn is_of_piece(block: *mut u8) -> bool {
    block.addr().wrapping_sub(PIECE.bytes.get().addr()) < PIECE_BYTES
}

impl State {
    /// A block for this layout, and whether it was never used; nothing where the system has to give it.
    fn take(&mut self, layout: Layout) -> Option<(NonNull<u8>, bool)> {
        if layout.align() > GRAIN {
            return None;
        }
        let (list, bytes) = list_for(layout.size())?;
        let first = self.freed.get_mut(list)?;
        if let Some(block) = NonNull::new(*first) {
            // SAFETY: by the invariant a freed block begins with the address of the next one, and is aligned for it.
            *first = unsafe { block.cast::<*mut u8>().read() };
            return Some((block, false));
        }
        let end = self.used.checked_add(bytes).filter(|end| *end <= PIECE_BYTES)?;
        let block = PIECE.bytes.get().cast::<u8>().wrapping_add(self.used);
        self.used = end;
        NonNull::new(block).map(|block| (block, true))
    }

    /// Takes a block back that was given for this size.
    fn give_back(&mut self, block: *mut u8, size: usize) {
        if let Some(first) = list_for(size).and_then(|(list, _)| self.freed.get_mut(list)) {
            // SAFETY: the block is not in use any more, and every block holds an address and is aligned for it.
            unsafe { block.cast::<*mut u8>().write(*first) };
            *first = block;
        }
    }

    /// Whether a block can be used for another size where it lies: it is large enough, or nothing lies behind it.
    fn stays(&mut self, block: *mut u8, old: usize, new: usize) -> bool {
        let (Some((_, old_bytes)), Some((_, new_bytes))) = (list_for(old), list_for(new)) else { return false };
        if new_bytes <= old_bytes {
            return true;
        }
        let start = block.addr().wrapping_sub(PIECE.bytes.get().addr());
        let is_last = start + old_bytes == self.used && start + new_bytes <= PIECE_BYTES;
        if is_last {
            self.used = start + new_bytes;
        }
        is_last
    }
}

/// The state, for the thread that owns the piece.
fn state() -> Option<*mut State> {
    OWNS_PIECE.get().then(|| PIECE.state.get())
}

// SAFETY: a block of the piece is as large and as aligned as its layout asks, and is handed out again only after it was freed;
// all others are the system's. Which of them a block is, its address tells.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this thread alone uses the state, and nothing that is called here allocates.
        let state = state().map(|state| unsafe { &mut *state });
        match state.and_then(|state| state.take(layout)) {
            Some((block, _)) => block.as_ptr(),
            // SAFETY: the caller's layout, handed on.
            None => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_of_piece(block) {
            // SAFETY: what is not of the piece came from the system, with this layout.
            return unsafe { System.dealloc(block, layout) };
        }
        // SAFETY: this thread alone uses the state. What another thread frees of the piece stays unused.
        if let Some(state) = state().map(|state| unsafe { &mut *state }) {
            state.give_back(block, layout.size());
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this thread alone uses the state, and nothing that is called here allocates.
        let state = state().map(|state| unsafe { &mut *state });
        match state.and_then(|state| state.take(layout)) {
            Some((block, is_new)) => {
                if !is_new {
                    // SAFETY: the block is at least as large as the layout, and nobody else has it.
                    unsafe { block.write_bytes(0, layout.size()) };
                }
                block.as_ptr()
            }
            // SAFETY: the caller's layout, handed on.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_of_piece(block) {
            // SAFETY: what is not of the piece came from the system, with this layout.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: this thread alone uses the state, and nothing that is called here allocates.
        if state().map(|state| unsafe { &mut *state }).is_some_and(|state| state.stays(block, layout.size(), size)) {
            return block;
        }
        // SAFETY: the caller vouches that the size is valid for the alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not zero, as the caller vouches.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks hold as many bytes, and they are two.
            unsafe { ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: the block came from here with this layout, and is not used any more.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_a_list_whose_blocks_hold_it() {
        for size in 1..=BLOCK_BYTES_MAX {
            let (list, bytes) = list_for(size).unwrap();
            assert!(list < LISTS && bytes >= size && bytes % GRAIN == 0, "{size}");
            assert_eq!(list_for(bytes), Some((list, bytes)), "all blocks of a list have one size");
        }
        assert_eq!(list_for(BLOCK_BYTES_MAX + 1), None);
    }

    #[test]
    fn blocks_of_the_piece_keep_what_is_in_them_while_others_come_and_go() {
        // A thread of its own, which alone uses the piece in this test.
        let ours = std::thread::spawn(|| {
            begin();
            let mut live: Vec<(*mut u8, Layout, u8)> = Vec::new();
            let mut figure = 7_u64;
            for round in 0..20_000_u64 {
                figure = figure.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
                let (size, mark) = ((figure >> 33) as usize % 3_000 + 1, (figure >> 24) as u8);
                let layout = Layout::from_size_align(size, 1 << (figure % 7)).unwrap();
                let block = if round % 3 == 0 {
                    // SAFETY: the layout is not empty.
                    unsafe { Memory.alloc_zeroed(layout) }
                } else {
                    // SAFETY: the layout is not empty.
                    unsafe { Memory.alloc(layout) }
                };
                assert_eq!(block.addr() % layout.align(), 0);
                if round % 3 == 0 {
                    // SAFETY: the block holds as many bytes, which were zeroed.
                    assert!(unsafe { std::slice::from_raw_parts(block, size) }.iter().all(|byte| *byte == 0));
                }
                // SAFETY: the block holds as many bytes.
                unsafe { block.write_bytes(mark, size) };
                live.push((block, layout, mark));
                if live.len() > 100 {
                    let (block, layout, mark) = live.swap_remove(figure as usize % live.len());
                    let size = layout.size() * 2;
                    // SAFETY: the block is live and has this layout.
                    let block = unsafe { Memory.realloc(block, layout, size) };
                    // SAFETY: the first half was written to.
                    assert!(unsafe { std::slice::from_raw_parts(block, size / 2) }.iter().all(|byte| *byte == mark));
                    // SAFETY: the block is live and has this layout now.
                    unsafe { Memory.dealloc(block, Layout::from_size_align(size, layout.align()).unwrap()) };
                }
            }
            let of_piece = live.iter().filter(|(block, ..)| is_of_piece(*block)).count();
            assert!(of_piece > 0, "some are of the piece");
            let (block, layout, _) = live.iter().copied().find(|(block, ..)| is_of_piece(*block)).unwrap();
            (block.addr(), layout)
        });
        let (block, layout) = ours.join().unwrap();
        // SAFETY: the block is not used any more; a thread that does not own the piece leaves it.
        unsafe { Memory.dealloc(ptr::with_exposed_provenance_mut(block), layout) };
    }
}
