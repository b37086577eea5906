//! quinn's controllers as a shared library: replace them with your own factory.

use fullpipe_quinn::{Exported, Factory};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::ffi::CStr;
use std::sync::Arc;

struct NewReno;

impl Factory for NewReno {
    const NAME: &'static CStr = c"quinn-newreno";

    fn build() -> Arc<dyn ControllerFactory> {
        Arc::new(NewRenoConfig::default())
    }
}

struct Cubic;

impl Factory for Cubic {
    const NAME: &'static CStr = c"quinn-cubic";

    fn build() -> Arc<dyn ControllerFactory> {
        Arc::new(CubicConfig::default())
    }
}

fullpipe_abi::export!(Exported<NewReno>, Exported<Cubic>);
