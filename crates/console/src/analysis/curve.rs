//! Health, money and context over the session, in a bounded number of points; every loss of health keeps its event.

use super::lanes::Moment;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::ChainView;

/// Points that are kept; when there are more, every other one goes.
const POINTS_MAX: usize = 1_024;
/// Losses of health that are kept; when there are more, the smaller half goes.
const DROPS_MAX: usize = 512;

/// The three curves.
#[derive(Debug, Default)]
pub struct Curve {
    points: Vec<CurvePoint>,
    drops: Vec<HealthDrop>,
    stride: u64,
    health: Option<u32>,
    last: Option<CurvePoint>,
}

/// One point: number, milliseconds since the start, health in millionths, micro-dollars, per cent of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurvePoint(pub u64, pub u64, pub u32, pub u64, pub u32);

/// A loss of health, and the event behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthDrop {
    /// The number of the input.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// Health before, in millionths.
    pub from: u32,
    /// Health after, in millionths.
    pub to: u32,
    /// What happened.
    pub why: String,
}

impl Curve {
    pub(super) fn add(&mut self, moment: Moment, view: &ChainView, why: impl FnOnce() -> String) {
        let health = view.health.millionths();
        let spent = view.spent.micro_usd.get();
        let point = CurvePoint(moment.i, moment.at, health, spent, view.context_percent.get());
        let before = self.health.replace(health).unwrap_or(1_000_000);
        if health < before {
            self.points.extend(self.last.filter(|last| self.points.last() != Some(last)));
            self.points.push(point);
            self.drops.push(HealthDrop { i: moment.i, at: moment.at, from: before, to: health, why: why() });
            self.bound_drops();
        } else if moment.i.is_multiple_of(self.stride.max(1)) {
            self.points.push(point);
        }
        self.last = Some(point);
        if self.points.len() > POINTS_MAX {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.max(1) * 2;
        }
    }

    fn bound_drops(&mut self) {
        if self.drops.len() <= DROPS_MAX {
            return;
        }
        let mut sizes: Vec<u32> = self.drops.iter().map(|drop| drop.from - drop.to).collect();
        sizes.sort_unstable();
        let least = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
        let mut room = DROPS_MAX / 2;
        self.drops.retain(|drop| {
            let keep = drop.from - drop.to >= least && room > 0;
            room -= usize::from(keep);
            keep
        });
    }

    /// The points, oldest first, the newest among them.
    #[must_use]
    pub fn points(&self) -> Vec<CurvePoint> {
        let newest = self.last.filter(|last| self.points.last() != Some(last));
        self.points.iter().copied().chain(newest).collect()
    }

    /// The losses of health.
    #[must_use]
    pub fn drops(&self) -> &[HealthDrop] {
        &self.drops
    }
}
