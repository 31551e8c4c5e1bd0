//! Assignments: the values of variables and arrays, and arguments that are assignments themselves.

use super::expand::{Shell, fields, one, split_word};
use crate::line::field::Field;
use tripwire_shell::{Assign, Assignment, Word};

/// The arguments of a command. Behind `export` and its like an assignment is one, so that a `~` after `=` is a home.
pub(super) fn arguments(shell: &mut dyn Shell, words: &[Word]) -> Vec<Field> {
    let declares = words
        .first()
        .and_then(Word::literal)
        .is_some_and(|first| matches!(first, "export" | "declare" | "typeset" | "local" | "readonly"));
    if !declares {
        return fields(shell, words);
    }
    let mut arguments = Vec::new();
    for word in words {
        match word.split_assignment() {
            Some((name, value)) => {
                let mut field = Field::of(&format!("{name}="));
                field.atoms.extend(one(shell, &value).atoms);
                arguments.push(field);
            }
            None => arguments.extend(split_word(shell, word)),
        }
    }
    arguments
}

/// The name and the value of an assignment.
pub(super) fn assigned(shell: &mut dyn Shell, assignment: &Assignment) -> (String, Field) {
    let _index = one(shell, &assignment.subscript);
    let mut value = one(shell, &assignment.value);
    if assignment.how == Assign::Append {
        let mut before = shell.state().variable(&assignment.name);
        before.atoms.append(&mut value.atoms);
        value = before;
    }
    (assignment.name.clone(), value)
}

/// Keeps the elements of an array, if the assignment is one.
pub(super) fn keep_array(shell: &mut dyn Shell, assignment: &Assignment) {
    let Some(elements) = &assignment.elements else { return };
    let values = fields(shell, elements);
    let state = shell.state_mut();
    state.variables.insert(assignment.name.clone(), values.first().cloned().unwrap_or_default());
    match assignment.how {
        Assign::Set => state.arrays.insert(assignment.name.clone(), values).map_or((), drop),
        Assign::Append => state.arrays.entry(assignment.name.clone()).or_default().extend(values),
    }
}
