//! Tables for people: columns as wide as their contents, and cut to the terminal where there is one. In a pipe nothing is
//! cut, so that a program finds whole values.

use crate::print::style::{self, Tone};
use crate::print::terminal;
use tripwire_core::visible::visible;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Texts.
    Left,
    /// Paths, whose end says more than their beginning.
    Path,
    /// Figures.
    Right,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// What stands above it.
    pub(crate) title: &'static str,
    /// How it is set.
    pub(crate) align: Align,
    /// The least that it may be cut to; a column without it is never cut.
    pub(crate) at_least: Option<usize>,
}

impl Column {
    /// A column of texts.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, align: Align::Left, at_least: None }
    }

    /// A column of figures.
    pub(crate) const fn figure(title: &'static str) -> Self {
        Self { title, align: Align::Right, at_least: None }
    }

    /// A column of paths, which may be cut at their beginning.
    pub(crate) const fn path(title: &'static str, at_least: usize) -> Self {
        Self { title, align: Align::Path, at_least: Some(at_least) }
    }

    /// A column of texts that may be cut.
    pub(crate) const fn long(title: &'static str, at_least: usize) -> Self {
        Self { title, align: Align::Left, at_least: Some(at_least) }
    }
}

/// A cell: its text, and what it is about.
pub(crate) type Cell = (String, Option<Tone>);

/// A table that is filled row by row and printed as a whole.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// The blanks between two columns.
const GAP: usize = 2;

impl Table {
    /// An empty table.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; control characters in it do not reach the terminal.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells.into_iter().map(|(text, tone)| (visible(&text), tone)).collect());
    }

    /// Its lines, for the terminal that standard output is, or whole.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_in(terminal::columns_of_output())
    }

    fn lines_in(&self, columns: Option<usize>) -> Vec<String> {
        let widths = self.widths(columns);
        let head = self.columns.iter().map(|column| (column.title.to_owned(), Some(Tone::Head))).collect();
        std::iter::once(&head).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, ((column, (text, tone)), width)) in self.columns.iter().zip(row).zip(widths).enumerate() {
            let last = place + 1 == self.columns.len();
            let text = match column.align {
                Align::Left | Align::Right => terminal::cut(text, *width),
                Align::Path => terminal::cut_front(text, *width),
            };
            let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
            let shown = tone.map_or_else(|| text.clone(), |tone| style::paint(&text, tone));
            match column.align {
                Align::Right => line.push_str(&format!("{blanks}{shown}")),
                Align::Left | Align::Path if last => line.push_str(&shown),
                Align::Left | Align::Path => line.push_str(&format!("{shown}{blanks}")),
            }
            if !last {
                line.push_str(&" ".repeat(GAP));
            }
        }
        line.trim_end().to_owned()
    }

    /// As wide as the contents; where that is too much, the widest of the columns that may be cut gives way first.
    fn widths(&self, columns: Option<usize>) -> Vec<usize> {
        let width = |place: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(place)).map(|(text, _)| text.chars().count());
            let title = self.columns.get(place).map_or(0, |column| column.title.chars().count());
            cells.fold(title, usize::max)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let Some(room) = columns else { return widths };
        let gaps = GAP * self.columns.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let can_give = |place: &usize| {
                let at_least = self.columns.get(*place).and_then(|column| column.at_least);
                at_least.is_some_and(|least| widths.get(*place).is_some_and(|width| *width > least))
            };
            let widest = (0..widths.len()).filter(can_give).max_by_key(|place| widths.get(*place).copied());
            match widest.and_then(|place| widths.get_mut(place)) {
                Some(width) => *width -= 1,
                None => break,
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[Column::text("who"), Column::figure("spent"), Column::long("where", 8)]);
        table.row(vec![("claude".into(), None), ("$1.00".into(), None), ("/home/person/a/long/path".into(), None)]);
        table.row(vec![("x".into(), None), ("$12.34".into(), None), ("/tmp\u{7}\n".into(), None)]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_contents_and_figures_stand_below_each_other() {
        let lines = table().lines_in(None);
        assert_eq!(lines[0], "who      spent  where");
        assert_eq!(lines[1], "claude   $1.00  /home/person/a/long/path");
        assert_eq!(lines[2], "x       $12.34  /tmp\\u{7}⏎");
    }

    #[test]
    fn a_narrow_terminal_cuts_what_may_be_cut_and_nothing_else() {
        let lines = table().lines_in(Some(30));
        assert_eq!(lines[1], "claude   $1.00  /home/person/…");
        let lines = table().lines_in(Some(10));
        assert_eq!(lines[1], "claude   $1.00  /home/p…", "not below what a column needs");
    }
}
