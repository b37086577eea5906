/// Output of the program, or its message where the suite has an error.
fn output() -> &'static Result<String, String> {
    static OUTPUT: std::sync::OnceLock<Result<String, String>> = std::sync::OnceLock::new();
    OUTPUT.get_or_init(|| {
        let program = std::env::var("FULLPIPE").unwrap_or_else(|_| "fullpipe".to_owned());
        let done = std::process::Command::new(&program).args(["check", SUITE, "--json"]).output();
        let done = done.map_err(|error| format!("{program}: {error}; install fullpipe, or name it by FULLPIPE"))?;
        match done.status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            _ => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    })
}

/// Fails where the check `id` is worse, or has no verdict.
fn verdict(id: &str) {
    let text = output().as_ref().unwrap_or_else(|message| panic!("{message}"));
    let begin = format!("\"id\": {id:?},");
    let check = text.split_once(&begin).and_then(|(_, rest)| rest.split_once("\"id\":").map(|(check, _)| check).or(Some(rest)));
    let check = check.unwrap_or_else(|| panic!("{SUITE}: no verdict on {id}"));
    // The output has a line for each key.
    let value = |key: &str| {
        let (_, rest) = check.split_once(&format!("\"{key}\": \""))?;
        Some(rest.lines().next()?.trim_end_matches(',').trim_end_matches('"').replace("\\\"", "\""))
    };
    let verdict = value("verdict").unwrap_or_else(|| "without a verdict".to_owned());
    assert!(matches!(verdict.as_str(), "ok" | "inconclusive"), "{id} is {verdict}: {}", value("text").unwrap_or_default());
}
