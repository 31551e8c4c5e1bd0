//! Which call followed which: calls that lead back to themselves are cycles, and are named as such.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Calls that are told apart; when there are more, the rarest go.
const NODES_MAX: usize = 512;
/// Calls that are shown.
const SHOWN_MAX: usize = 24;
/// How often one call must follow another to be part of a cycle.
const TURNS_MIN: u64 = 2;

/// The graph of calls.
#[derive(Debug, Default)]
pub struct CallGraph {
    nodes: BTreeMap<String, CallNode>,
    edges: BTreeMap<(String, String), u64>,
    /// The last call of each agent.
    last: BTreeMap<String, String>,
}

/// A call of the graph.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CallNode {
    /// What is called, with its arguments where they are known.
    pub call: String,
    /// How often.
    pub count: u64,
    /// The last input that was it.
    pub i: u64,
}

/// The graph as it is shown.
#[derive(Debug, Default, Serialize)]
pub struct ShownGraph {
    /// The calls, the most frequent first.
    pub nodes: Vec<CallNode>,
    /// From, to (by position among the calls) and how often.
    pub edges: Vec<(usize, usize, u64)>,
    /// Cycles: positions among the calls, in the order in which they follow each other.
    pub cycles: Vec<Vec<usize>>,
}

impl CallGraph {
    pub(super) fn add(&mut self, agent: &str, call: &str, i: u64) {
        let node = self.nodes.entry(call.to_owned()).or_default();
        call.clone_into(&mut node.call);
        node.count += 1;
        node.i = i;
        if let Some(before) = self.last.insert(agent.to_owned(), call.to_owned()) {
            *self.edges.entry((before, call.to_owned())).or_default() += 1;
        }
        if self.nodes.len() > NODES_MAX {
            self.forget_the_rarest();
        }
        if self.last.len() > NODES_MAX {
            self.last.clear();
        }
    }

    fn forget_the_rarest(&mut self) {
        let mut counts: Vec<u64> = self.nodes.values().map(|node| node.count).collect();
        counts.sort_unstable();
        let least = counts.get(counts.len() / 2).copied().unwrap_or_default();
        let mut room = NODES_MAX / 2;
        self.nodes.retain(|_, node| {
            let keep = node.count > least && room > 0;
            room -= usize::from(keep);
            keep
        });
        let nodes = &self.nodes;
        self.edges.retain(|(from, to), _| nodes.contains_key(from) && nodes.contains_key(to));
    }

    /// The graph of the most frequent calls.
    #[must_use]
    pub fn shown(&self) -> ShownGraph {
        let mut nodes: Vec<CallNode> = self.nodes.values().cloned().collect();
        nodes.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.call.cmp(&other.call)));
        nodes.truncate(SHOWN_MAX);
        let place: BTreeMap<&str, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.call.as_str(), at)).collect();
        let find = |call: &String| place.get(call.as_str()).copied();
        let edges = self.edges.iter().filter_map(|((from, to), count)| Some((find(from)?, find(to)?, *count)));
        let edges: Vec<(usize, usize, u64)> = edges.collect();
        let cycles = cycles(nodes.len(), &edges);
        ShownGraph { nodes, edges, cycles }
    }
}

/// The cycles among edges that were taken more than once: from each call that is in none yet, the way back to itself that follows
/// the most frequent edges.
fn cycles(nodes: usize, edges: &[(usize, usize, u64)]) -> Vec<Vec<usize>> {
    let mut next: Vec<Vec<(u64, usize)>> = vec![Vec::new(); nodes];
    for (from, to, count) in edges.iter().filter(|(_, _, count)| *count >= TURNS_MIN) {
        if let Some(outgoing) = next.get_mut(*from) {
            outgoing.push((*count, *to));
        }
    }
    next.iter_mut().for_each(|outgoing| outgoing.sort_unstable_by(|one, other| other.cmp(one)));
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for start in 0..nodes {
        if taken.contains(&start) {
            continue;
        }
        if let Some(cycle) = way_back(start, &next, &taken) {
            taken.extend(cycle.iter().copied());
            found.push(cycle);
        }
    }
    found
}

/// The shortest way from a call back to itself, through calls that are in no other cycle.
fn way_back(start: usize, next: &[Vec<(u64, usize)>], taken: &BTreeSet<usize>) -> Option<Vec<usize>> {
    let mut came_from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for (_, to) in next.get(at)? {
            if *to == start {
                let mut way = vec![at];
                while let Some(before) = way.last().filter(|last| **last != start).and_then(|last| came_from.get(last))
                {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if !taken.contains(to) && !came_from.contains_key(to) {
                came_from.insert(*to, at);
                queue.push_back(*to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(calls: &[&str]) -> ShownGraph {
        let mut graph = CallGraph::default();
        for (i, call) in (0..).zip(calls) {
            graph.add("", call, i);
        }
        graph.shown()
    }

    fn names(graph: &ShownGraph) -> Vec<Vec<&str>> {
        graph.cycles.iter().map(|cycle| cycle.iter().map(|at| graph.nodes[*at].call.as_str()).collect()).collect()
    }

    #[test]
    fn calls_in_turn_are_a_cycle_and_calls_in_a_line_are_none() {
        let turns = walked(&["read", "edit", "test", "read", "edit", "test", "read", "edit", "test", "done"]);
        assert_eq!(names(&turns).len(), 1, "{turns:?}");
        assert_eq!(turns.cycles[0].len(), 3);
        let again = walked(&["poll", "poll", "poll", "poll"]);
        assert_eq!(names(&again), [["poll"]]);
        assert!(walked(&["a", "b", "c", "d", "e"]).cycles.is_empty());
        assert!(walked(&["a", "b", "a", "c"]).cycles.is_empty(), "once there and back is no cycle");
    }

    #[test]
    fn two_agents_do_not_follow_each_other() {
        let mut graph = CallGraph::default();
        for i in 0..6 {
            graph.add("one", "a", i);
            graph.add("two", "b", i);
        }
        assert_eq!(names(&graph.shown()), [["a"], ["b"]]);
    }

    #[test]
    fn the_graph_is_bounded_and_keeps_what_is_frequent() {
        let mut graph = CallGraph::default();
        for i in 0..5_000 {
            graph.add("", &format!("call {i}"), i);
            graph.add("", "often", i);
        }
        let shown = graph.shown();
        assert!(graph.nodes.len() <= NODES_MAX && shown.nodes.len() <= SHOWN_MAX);
        assert_eq!(shown.nodes[0].call, "often");
    }
}
