//! Memory limit of the engine in a page. The engine refuses scenarios that need more, or traps.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        const MOST_BYTES: u64 = 1 << 30;
        println!("cargo:rustc-cdylib-link-arg=--max-memory={MOST_BYTES}");
    }
}
