//! Controllers of quinn and s2n-quic as a shared library: replace them with your own factory.

use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use s2n_quic_core::recovery::{bbr, cubic};
use std::ffi::CStr;
use std::sync::Arc;

struct QuinnNewReno;

impl fullpipe_quinn::Factory for QuinnNewReno {
    const NAME: &'static CStr = c"quinn-newreno";

    fn build() -> Arc<dyn ControllerFactory> {
        Arc::new(NewRenoConfig::default())
    }
}

struct QuinnCubic;

impl fullpipe_quinn::Factory for QuinnCubic {
    const NAME: &'static CStr = c"quinn-cubic";

    fn build() -> Arc<dyn ControllerFactory> {
        Arc::new(CubicConfig::default())
    }
}

struct S2nCubic;

impl fullpipe_s2n_quic::Factory for S2nCubic {
    const NAME: &'static CStr = c"s2n-cubic";
    type Endpoint = cubic::Endpoint;

    fn build() -> cubic::Endpoint {
        cubic::builder::Builder::default().build()
    }
}

struct S2nBbr;

impl fullpipe_s2n_quic::Factory for S2nBbr {
    const NAME: &'static CStr = c"s2n-bbr";
    type Endpoint = bbr::Endpoint;

    fn build() -> bbr::Endpoint {
        bbr::builder::Builder::default().build()
    }
}

fullpipe_abi::export!(
    fullpipe_quinn::Exported<QuinnNewReno>,
    fullpipe_quinn::Exported<QuinnCubic>,
    fullpipe_s2n_quic::Exported<S2nCubic>,
    fullpipe_s2n_quic::Exported<S2nBbr>,
);
