//! tripwire's shell parser against two parsers that we did not write; everything is in `tests/`.
