//! The reader of command lines through its public interface: what it makes of lines, where its bounds are, the table of
//! wrappers.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod drawing;
#[cfg(test)]
mod globs;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod words;
#[cfg(test)]
mod wrapper_table;
