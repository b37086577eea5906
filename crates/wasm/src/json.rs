//! JSON, written.

use std::fmt::Write;

/// Text in quotes.
pub fn text(text: &str) -> String {
    let mut json = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => write!(json, "\\u{:04x}", u32::from(c)).expect("writing to a string"),
            c => json.push(c),
        }
    }
    json + "\""
}

/// Number that reads back unchanged; null where it is unknown.
pub fn number(number: f64) -> String {
    if number.is_finite() { format!("{number:?}") } else { "null".to_owned() }
}

/// A number or null.
pub fn or_null(value: Option<f64>) -> String {
    value.map_or_else(|| "null".to_owned(), number)
}

/// `[a,b]`.
pub fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// `{"a":1}`; the values are JSON.
pub fn table<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs = pairs.into_iter().map(|(key, value)| format!("{}:{value}", text(key)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_cannot_hold_is_escaped() {
        assert_eq!(text("a\"b\\c\n\u{1}ü"), r#""a\"b\\c\u000a\u0001ü""#);
    }

    #[test]
    fn numbers_read_back_and_the_unknown_is_null() {
        assert_eq!(number(0.1), "0.1");
        assert_eq!(number(1e300), "1e300");
        assert_eq!(number(f64::NAN), "null");
        assert_eq!(or_null(None), "null");
        assert_eq!(table([("a", list([number(1.0), number(2.5)]))]), r#"{"a":[1.0,2.5]}"#);
    }
}
