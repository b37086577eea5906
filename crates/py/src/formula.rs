//! Formulas of the measurements of an interval, which Python gives in postfix notation (`fullpipe.gym.formula`).

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Words of a formula: a function with 0, a number as `("number", n)`, or a measurement with 0.
pub type Words = Vec<(String, f64)>;

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Value(usize),
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Three(fn(f64, f64, f64) -> f64),
}

/// Expression of the measurements of an interval.
#[derive(Clone, Debug)]
pub struct Formula(Vec<Step>);

impl Formula {
    /// Formula of `words`, with the measurements of `names`.
    ///
    /// # Errors
    /// A word is unknown, or operands are missing or left over.
    pub fn new(words: &Words, names: &[&str]) -> PyResult<Formula> {
        let mut depth = 0_usize;
        let mut steps = Vec::with_capacity(words.len());
        for (word, number) in words {
            let step = step(word, *number, names)
                .ok_or_else(|| PyValueError::new_err(format!("unknown word {word} of a formula")))?;
            let operands = match step {
                Step::Number(_) | Step::Value(_) => 0,
                Step::One(_) => 1,
                Step::Two(_) => 2,
                Step::Three(_) => 3,
            };
            if depth < operands {
                return Err(PyValueError::new_err(format!("{word} requires {operands} operands")));
            }
            depth += 1;
            depth -= operands;
            steps.push(step);
        }
        if depth != 1 {
            return Err(PyValueError::new_err("a formula must have one value"));
        }
        Ok(Formula(steps))
    }

    /// Value for the measurements of `row`; `stack` is room for operands.
    pub fn value(&self, row: &[f64], stack: &mut Vec<f64>) -> f64 {
        stack.clear();
        let take = |stack: &mut Vec<f64>| stack.pop().unwrap_or(f64::NAN);
        for step in &self.0 {
            let value = match *step {
                Step::Number(number) => number,
                Step::Value(place) => row[place],
                Step::One(apply) => apply(take(stack)),
                Step::Two(apply) => {
                    let b = take(stack);
                    apply(take(stack), b)
                }
                Step::Three(apply) => {
                    let (c, b) = (take(stack), take(stack));
                    apply(take(stack), b, c)
                }
            };
            stack.push(value);
        }
        take(stack)
    }
}

fn step(word: &str, number: f64, names: &[&str]) -> Option<Step> {
    Some(match word {
        "number" => Step::Number(number),
        "add" => Step::Two(|a, b| a + b),
        "subtract" => Step::Two(|a, b| a - b),
        "multiply" => Step::Two(|a, b| a * b),
        "divide" => Step::Two(|a, b| a / b),
        "power" => Step::Two(f64::powf),
        "less" => Step::Two(|a, b| f64::from(u8::from(a < b))),
        "less_equal" => Step::Two(|a, b| f64::from(u8::from(a <= b))),
        "equal" => Step::Two(|a, b| f64::from(u8::from(a == b))),
        "negative" => Step::One(|a| -a),
        "exp" => Step::One(f64::exp),
        "log2" => Step::One(f64::log2),
        "log10" => Step::One(f64::log10),
        "maximum" => Step::Two(f64::max),
        "minimum" => Step::Two(f64::min),
        "over" => Step::Three(|part, whole, otherwise| if whole > 0.0 { part / whole } else { otherwise }),
        "where" => Step::Three(|test, a, b| if test == 0.0 { b } else { a }),
        name => Step::Value(names.iter().position(|other| *other == name)?),
    })
}
