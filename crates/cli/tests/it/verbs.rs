//! Every verb through the binary: its success, its refusal, its broken input.

#[cfg(test)]
mod completions;
#[cfg(test)]
mod decide;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod scan;
#[cfg(test)]
mod support;
#[cfg(test)]
mod usage;
