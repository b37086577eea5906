//! `fullpipe._core`: convert, call, convert.

mod algorithms;
mod batch;
mod bbr3;
mod columns;
mod external;
mod formula;
mod kernel;
mod keys;
mod learner;
mod library;
mod metrics;
mod model;
mod native;
mod own;
mod packet_views;
mod packets;
mod quantities;
mod queues;
mod report;
mod simulation;
mod views;
mod watch;

/// The engine, the algorithms and the queueing disciplines, for the package around it.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::algorithms::algorithms;
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::bbr3::{bbr3_methods, declare_bbr3};
    #[pymodule_export]
    use crate::columns::Column;
    #[pymodule_export]
    use crate::kernel::{kernel_module, kernel_object, module_file, module_headers};
    #[pymodule_export]
    use crate::keys::scenario_keys;
    #[pymodule_export]
    use crate::metrics::metrics;
    #[pymodule_export]
    use crate::model::{Failure, Model, Problem, check, load, parse};
    #[pymodule_export]
    use crate::own::{declare, declare_library, declare_packets};
    #[pymodule_export]
    use crate::packet_views::{AckedList, AckedView, LostList, PacketStart, PathView, RateView, RttView};
    #[pymodule_export]
    use crate::packets::packet_methods;
    #[pymodule_export]
    use crate::quantities::{quantity, units};
    #[pymodule_export]
    use crate::queues::queues;
    #[pymodule_export]
    use crate::report::figure_names;
    #[pymodule_export]
    use crate::simulation::Steps;
    #[pymodule_export]
    use crate::views::{AckView, FlowView, LostView, SentView, StartView};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
