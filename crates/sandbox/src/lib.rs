//! tripwire's OS isolation and process-tree control: the only unsafe code.
