//! `tripwire hook` through the binary, with inputs in the clients' forms, and `tripwire statusline`.

mod agents;
mod agreement;
mod attacks;
mod broken;
mod claude;
mod dialects;
mod disk;
mod evidence;
mod figures;
pub(crate) mod fixture;
mod reach;
mod recovery;
mod refusals;
mod same_work;
mod statusline;
mod supervised;
