//! Workers in the chain of engines: the real clients do a whole turn for `tripwire agent`.

mod cases;
mod fixture;
