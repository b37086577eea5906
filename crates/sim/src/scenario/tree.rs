//! Tree of values that a scenario is read from and written to: the types of a TOML document, without a parser.

use std::collections::HashMap;
use std::fmt;
use std::ops::{Index, IndexMut};

/// Value in a tree.
///
/// ```
/// use fullpipe_sim::scenario::{Table, Value};
///
/// let mut link = Table::new();
/// link.insert("name".to_owned(), Value::from("l"));
/// link.insert("limit".to_owned(), Value::from(50_i64));
/// let links = Value::from(vec![Value::from(link)]);
/// assert_eq!(links.as_array().and_then(|links| links[0].as_table()?.get("limit")?.as_integer()), Some(50));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// Whole number.
    Integer(i64),
    /// Plain number.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// Date or time of day as TOML writes it; no key takes one.
    Datetime(String),
    /// List.
    Array(Vec<Value>),
    /// Table.
    Table(Table),
}

impl Value {
    /// Text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whole number.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// Plain number; a whole number is not one.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// True or false.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Entries of a list.
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Value::Array(list) => Some(list),
            _ => None,
        }
    }

    /// Entries of a list, to change them.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(list) => Some(list),
            _ => None,
        }
    }

    /// Table.
    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Table, to change it.
    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// Value as TOML writes it in one line, for example `{ name = "red", gentle = true }`.
///
/// Identities of flows are hashes of this text, so that a change of it changes results.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::String(text) => write_text(f, text),
            Value::Integer(n) => write!(f, "{n}"),
            Value::Float(x) => write_number(f, *x),
            Value::Boolean(flag) => write!(f, "{flag}"),
            Value::Datetime(text) => f.write_str(text),
            Value::Array(list) => {
                f.write_str("[")?;
                for (place, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Table(table) => table.fmt(f),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("{")?;
        for (place, (key, value)) in self.entries.iter().enumerate() {
            f.write_str(if place == 0 { " " } else { ", " })?;
            write_key(f, key)?;
            write!(f, " = {value}")?;
        }
        f.write_str(if self.entries.is_empty() { "}" } else { " }" })
    }
}

/// Number with a point, also where it is whole; TOML's words for values that are none.
fn write_number(f: &mut fmt::Formatter, x: f64) -> fmt::Result {
    match (x.is_nan(), x % 1.0 == 0.0) {
        (true, _) => f.write_str(if x.is_sign_negative() { "-nan" } else { "nan" }),
        (false, true) => write!(f, "{x}.0"),
        (false, false) => write!(f, "{x}"),
    }
}

fn write_key(f: &mut fmt::Formatter, key: &str) -> fmt::Result {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_plain = !key.contains(['"', '\\']) && !key.contains(is_control);
    match key {
        _ if !key.is_empty() && key.chars().all(bare) => f.write_str(key),
        _ if !is_plain && !key.contains('\'') && !key.contains(|c| is_control(c) || c == '\n') => write!(f, "'{key}'"),
        _ => write_quoted(f, key),
    }
}

/// Control characters, which need an escape. A tab needs none.
fn is_control(c: char) -> bool {
    c != '\t' && c.is_ascii_control()
}

/// Text in the first form that needs no escape, in TOML's order of preference: `"..."`, `'...'`, and both over several lines.
fn write_text(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    let needs_code = text.contains(|c| is_control(c) && c != '\n');
    let (backslash, newline) = (text.contains('\\'), text.contains('\n'));
    let prefix = if newline { "\n" } else { "" };
    if needs_code {
        return if newline { write_over_lines(f, text) } else { write_quoted(f, text) };
    }
    if !backslash && !newline && !text.contains('"') {
        return write_quoted(f, text);
    }
    if !newline && !text.contains('\'') {
        return write!(f, "'{text}'");
    }
    if !backslash && !text.contains("\"\"\"") {
        return write_over_lines(f, text);
    }
    if !text.contains("'''") {
        return write!(f, "'''{prefix}{text}'''");
    }
    if newline { write_over_lines(f, text) } else { write_quoted(f, text) }
}

fn write_quoted(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        write_escaped(f, c, c == '"' || c == '\n')?;
    }
    f.write_str("\"")
}

/// Text over several lines; of three quotes in a row the third has an escape.
fn write_over_lines(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    f.write_str(if text.contains('\n') { "\"\"\"\n" } else { "\"\"\"" })?;
    let mut quotes = 0;
    for c in text.chars() {
        quotes = if c == '"' { quotes + 1 } else { 0 };
        write_escaped(f, c, quotes > 2)?;
        quotes %= 3;
    }
    f.write_str("\"\"\"")
}

/// Character, with an escape where it needs one or `escaped` asks for one.
fn write_escaped(f: &mut fmt::Formatter, c: char, escaped: bool) -> fmt::Result {
    match c {
        '"' if escaped => f.write_str("\\\""),
        '\n' if escaped => f.write_str("\\n"),
        '\\' => f.write_str("\\\\"),
        '\u{8}' => f.write_str("\\b"),
        '\t' => f.write_str("\\t"),
        '\u{c}' => f.write_str("\\f"),
        '\r' => f.write_str("\\r"),
        '\n' => f.write_str("\n"),
        c if c.is_ascii_control() => write!(f, "\\u{:04X}", c as u32),
        c => write!(f, "{c}"),
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),+) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$variant(value.into())
            }
        })+
    };
}

from!(&str => String, String => String, i64 => Integer, u32 => Integer, f64 => Float, bool => Boolean, Vec<Value> => Array, Table => Table);

/// Table whose keys keep the order in which they were inserted. Two tables are equal whatever their order.
///
/// Example: see [`Value`].
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<(String, Value)>,
    places: HashMap<String, usize>,
}

impl Table {
    /// Empty table.
    pub fn new() -> Table {
        Table::default()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.places.get(key).map(|&place| &self.entries[place].1)
    }

    /// Value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.places.get(key).map(|&place| &mut self.entries[place].1)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Sets a key, and returns its earlier value. A new key comes last.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        if let Some(&place) = self.places.get(&key) {
            return Some(std::mem::replace(&mut self.entries[place].1, value));
        }
        self.places.insert(key.clone(), self.entries.len());
        self.entries.push((key, value));
        None
    }

    /// Removes a key, and returns its value. The other keys keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.places.remove(key)?;
        self.places.values_mut().filter(|later| **later > place).for_each(|later| *later -= 1);
        Some(self.entries.remove(place).1)
    }

    /// Keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Keys and values, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl Extend<(String, Value)> for Table {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| {
            self.insert(key, value);
        });
    }
}

impl FromIterator<(String, Value)> for Table {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Table {
        let mut table = Table::new();
        table.extend(entries);
        table
    }
}

impl IntoIterator for Table {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Table {
    type Item = (&'a String, &'a Value);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (String, Value)>, fn(&'a (String, Value)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

/// Value of a key that is there.
impl Index<&str> for Table {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or_else(|| panic!("no key {key:?}"))
    }
}

impl IndexMut<&str> for Table {
    fn index_mut(&mut self, key: &str) -> &mut Value {
        self.get_mut(key).unwrap_or_else(|| panic!("no key {key:?}"))
    }
}

/// Entry of a list.
impl Index<usize> for Value {
    type Output = Value;

    fn index(&self, place: usize) -> &Value {
        &self.as_array().expect("a list")[place]
    }
}

impl IndexMut<usize> for Value {
    fn index_mut(&mut self, place: usize) -> &mut Value {
        &mut self.as_array_mut().expect("a list")[place]
    }
}

/// Value of a table's key.
impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        &self.as_table().expect("a table")[key]
    }
}

impl IndexMut<&str> for Value {
    fn index_mut(&mut self, key: &str) -> &mut Value {
        &mut self.as_table_mut().expect("a table")[key]
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let text = || prop_oneof!["[ -~\t\n]{0,12}", "[\"'\\\\\n]{0,9}", "\\PC{0,6}", "[\u{0}-\u{20}\u{7f}\"]{0,6}"];
        let leaf = prop_oneof![
            text().prop_map(Value::String),
            any::<i64>().prop_map(Value::Integer),
            any::<f64>().prop_map(Value::Float),
            any::<bool>().prop_map(Value::Boolean),
        ];
        leaf.prop_recursive(3, 24, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::vec((text(), inner), 0..5).prop_map(|list| Value::Table(list.into_iter().collect())),
            ]
        })
    }

    fn outside(value: &Value) -> toml::Value {
        match value {
            Value::String(text) => text.as_str().into(),
            Value::Integer(n) => (*n).into(),
            Value::Float(x) => (*x).into(),
            Value::Boolean(flag) => (*flag).into(),
            Value::Datetime(text) => text.parse().expect("a date"),
            Value::Array(list) => toml::Value::Array(list.iter().map(outside).collect()),
            Value::Table(table) => {
                toml::Value::Table(table.iter().map(|(key, value)| (key.clone(), outside(value))).collect())
            }
        }
    }

    proptest! {
        /// The crate `toml` writes the same text. Names of links may have any printable character.
        #[test]
        fn display_is_that_of_the_crate_toml(value in value()) {
            prop_assert_eq!(value.to_string(), outside(&value).to_string());
        }

        #[test]
        fn text_is_read_as_it_was_written(value in value()) {
            let text = format!("key = {value}");
            let read = crate::scenario::parse(&text).expect("TOML");
            prop_assert_eq!(read["key"].to_string(), value.to_string());
        }
    }

    #[test]
    fn removal_keeps_the_order_of_the_other_keys() {
        let mut table: Table =
            ["a", "b", "c", "d"].iter().map(|key| ((*key).to_owned(), Value::Boolean(true))).collect();
        assert_eq!(table.remove("b"), Some(Value::Boolean(true)));
        assert_eq!(table.insert("c".to_owned(), 5_u32.into()), Some(Value::Boolean(true)));
        assert_eq!(table.to_string(), "{ a = true, c = 5, d = true }");
        assert_eq!(table.get("d"), Some(&Value::Boolean(true)));
        assert_eq!(table.remove("b"), None);
    }
}
