#![doc = include_str!("../README.md")]

use proc_macro::{TokenStream, TokenTree};
use std::path::Path;

/// Tests for the checks of a suite. The argument is its file, relative to the folder of `Cargo.toml`.
///
/// ```
/// fullpipe_check::suite!("../../examples/check/suite.toml");
/// ```
#[proc_macro]
pub fn suite(argument: TokenStream) -> TokenStream {
    let code = file_of(argument).and_then(|file| {
        let folder = std::env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
        let path = Path::new(&folder).join(&file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let stem = path.file_stem().map_or("suite".into(), |stem| stem.to_string_lossy());
        Ok(tests(&identifier(&stem), &path.to_string_lossy(), &ids(&text).map_err(|what| format!("{file}: {what}"))?))
    });
    let code = code.unwrap_or_else(|what| format!("compile_error!({what:?});"));
    code.parse().expect("the generated code is Rust")
}

/// Text between the quotes of the argument.
fn file_of(argument: TokenStream) -> Result<String, String> {
    let tokens: Vec<TokenTree> = argument.into_iter().collect();
    let literal = match tokens.as_slice() {
        [TokenTree::Literal(literal)] => literal.to_string(),
        _ => String::new(),
    };
    let text = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text.map(str::to_owned).ok_or_else(|| "suite! requires the file of a suite, for example \"suite.toml\"".to_owned())
}

/// Ids of the checks of a suite.
fn ids(text: &str) -> Result<Vec<String>, String> {
    let suite: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let checks = suite.get("checks").and_then(toml::Value::as_array).ok_or("a suite requires checks")?;
    let id = |check: &toml::Value| check.get("id").and_then(toml::Value::as_str).map(str::to_owned);
    checks.iter().map(|check| id(check).ok_or_else(|| "a check requires an id".to_owned())).collect()
}

/// Name of a test: letters, digits, and underscores.
fn identifier(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("check_{name}") } else { format!("r#{name}") }
}

/// Module with a test for each check of the suite at `path`.
fn tests(module: &str, path: &str, ids: &[String]) -> String {
    let test = |id: &String| format!("#[test] fn {}() {{ verdict({id:?}) }}\n", identifier(id));
    let tests: String = ids.iter().map(test).collect();
    format!(
        "#[cfg(test)] mod {module} {{ const SUITE: &str = {path:?};\nconst _: &str = include_str!({path:?});\n{RUN}\n{tests}}}"
    )
}

/// Code in each module that runs the suite once, and looks up the verdict of a check.
const RUN: &str = include_str!("run.rs");

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn each_check_has_a_test() {
        let text = "checks = [{ id = \"bulk-loss\", metric = \"loss_rate\" }, { id = \"02\" }]";
        assert_eq!(ids(text), Ok(vec!["bulk-loss".to_owned(), "02".to_owned()]));
        let code = tests("r#mine", "/tmp/mine.toml", &ids(text).unwrap());
        assert!(code.contains("fn r#bulk_loss() { verdict(\"bulk-loss\") }"), "{code}");
        assert!(code.contains("fn check_02() { verdict(\"02\") }"), "{code}");
    }

    #[test]
    fn a_suite_without_ids_is_an_error() {
        assert!(ids("format = 1").is_err_and(|what| what.contains("requires checks")));
        assert!(ids("checks = [{ metric = \"loss_rate\" }]").is_err_and(|what| what.contains("requires an id")));
        assert!(ids("checks = ").is_err());
    }
}
