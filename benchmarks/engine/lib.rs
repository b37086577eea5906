//! Benchmark of the engine: `make speed-core`.
