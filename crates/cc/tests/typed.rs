//! Structs of parameters: the fields, defaults, and values of each are those of the registry.

use fullpipe_cc::algorithms::adaptive_aimd::AdaptiveAimdParams;
use fullpipe_cc::algorithms::bbr::BbrParams;
use fullpipe_cc::algorithms::bbr3::Bbr3Params;
use fullpipe_cc::algorithms::bic::BicParams;
use fullpipe_cc::algorithms::compound::CompoundParams;
use fullpipe_cc::algorithms::copa::CopaParams;
use fullpipe_cc::algorithms::cubic::CubicParams;
use fullpipe_cc::algorithms::dctcp::DctcpParams;
use fullpipe_cc::algorithms::ehstcp::EHstcpParams;
use fullpipe_cc::algorithms::hstcp::HstcpParams;
use fullpipe_cc::algorithms::htcp::HtcpParams;
use fullpipe_cc::algorithms::hybla::HyblaParams;
use fullpipe_cc::algorithms::hyun_jang::HyunJangParams;
use fullpipe_cc::algorithms::illinois::IllinoisParams;
use fullpipe_cc::algorithms::ledbat::LedbatParams;
use fullpipe_cc::algorithms::ledbat_plus_plus::LedbatPlusPlusParams;
use fullpipe_cc::algorithms::prague::PragueParams;
use fullpipe_cc::algorithms::reno::{NewRenoParams, RenoParams, TahoeParams};
use fullpipe_cc::algorithms::scalable::ScalableParams;
use fullpipe_cc::algorithms::vegas::VegasParams;
use fullpipe_cc::algorithms::veno::VenoParams;
use fullpipe_cc::algorithms::westwood::WestwoodParams;
use fullpipe_cc::algorithms::yeah::YeahParams;
use fullpipe_cc::params::{Error, Info, Kind, Param, Params, Value};
use fullpipe_cc::{TypedParams, build, build_typed, registry};

/// Another value than the default, inside the range.
fn other(param: &Param) -> Value {
    match (param.kind, param.default.expect("a default")) {
        (Kind::Number { min, max }, Value::Number(x)) if x == max => Value::Number(min),
        (Kind::Number { max, .. }, Value::Number(x)) => Value::Number(x + (max - x).min(1.0) / 2.0),
        (Kind::Whole { max, .. }, Value::Whole(n)) => Value::Whole(if n < max { n + 1 } else { n - 1 }),
        (Kind::Flag, Value::Flag(flag)) => Value::Flag(!flag),
        (Kind::Choice(names), _) => Value::Name(names[1]),
        (kind, _) => panic!("{}: {kind:?}", param.name),
    }
}

fn state(config: &impl TypedParams) -> String {
    format!("{:?}", build_typed(config, 10.0).expect("allowed values"))
}

fn named(info: &Info, given: &[(&str, Value)]) -> String {
    format!("{:?}", build(info.name, given, 10.0).expect("allowed values"))
}

/// Checks one struct: each parameter given by name and read into the struct gives an equal controller.
fn check<P: TypedParams>() -> &'static str {
    let info = P::INFO;
    let defaults = Params::defaults(info);
    assert_eq!(state(&P::default()), named(info, &[]), "{}", info.name);
    assert_eq!(state(&P::read(&defaults)), named(info, &[]), "{}", info.name);
    let names = |config: &P| config.values().as_ref().iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(&P::read(&defaults)), info.params.iter().map(|param| param.name).collect::<Vec<_>>());
    for param in info.params {
        let value = other(param);
        let given = [(param.name, value)];
        let config = P::read(&Params::checked(info, &given).expect("an allowed value"));
        assert!(config.values().as_ref().contains(&(param.name, value)), "{} {}", info.name, param.name);
        assert_eq!(state(&config), named(info, &given), "{} {}", info.name, param.name);
    }
    info.name
}

macro_rules! check_all {
    ($($config:ident),+) => { [$(check::<$config>()),+] };
}

#[test]
fn every_algorithm_has_a_struct_of_its_parameters() {
    let mut checked = check_all!(
        AdaptiveAimdParams,
        BbrParams,
        Bbr3Params,
        BicParams,
        CompoundParams,
        CopaParams,
        CubicParams,
        DctcpParams,
        EHstcpParams,
        HstcpParams,
        HtcpParams,
        HyblaParams,
        HyunJangParams,
        IllinoisParams,
        LedbatParams,
        LedbatPlusPlusParams,
        PragueParams,
        TahoeParams,
        RenoParams,
        NewRenoParams,
        ScalableParams,
        VegasParams,
        VenoParams,
        WestwoodParams,
        YeahParams
    );
    let mut known: Vec<_> = registry::ALL.iter().map(|info| info.name).collect();
    checked.sort_unstable();
    known.sort_unstable();
    assert_eq!(checked.as_slice(), known);
}

/// The effect of a parameter shows in the controller: both ways of giving it could otherwise drop it alike.
#[test]
fn a_field_reaches_the_controller() {
    assert_ne!(state(&CubicParams { c: 1.0, ..CubicParams::default() }), state(&CubicParams::default()));
    assert_ne!(state(&RenoParams { abe: true, ..RenoParams::default() }), state(&RenoParams::default()));
    let smooth = BicParams { search: fullpipe_cc::algorithms::bic::BicSearch::Smooth, ..BicParams::default() };
    assert_ne!(state(&smooth), state(&BicParams::default()));
}

/// 0.5 is the draft's gain. The module has 88/256.
#[test]
fn a_field_wins_over_the_default_of_a_variant() {
    use fullpipe_cc::algorithms::bbr3::Bbr3Variant;
    let linux = Bbr3Params { variant: Bbr3Variant::LinuxV3, ..Bbr3Params::default() };
    let given = Bbr3Params { drain_pacing_gain: Some(0.5), ..linux.clone() };
    let variant = ("variant", Value::Name("linux-v3"));
    assert_eq!(state(&linux), named(Bbr3Params::INFO, &[variant]));
    assert_eq!(state(&given), named(Bbr3Params::INFO, &[variant, ("drain_pacing_gain", Value::Number(0.5))]));
    assert_ne!(state(&linux), state(&given));
    let drain = Bbr3Params { drain_pacing_gain: Some(88.0 / 256.0), ..linux.clone() };
    assert_eq!(state(&linux), state(&drain));
}

#[test]
fn a_field_outside_its_range_is_refused() {
    let refused = build_typed(&CubicParams { beta: 1.5, ..CubicParams::default() }, 10.0).unwrap_err();
    assert!(matches!(refused, Error::BadValue(Param { name: "beta", .. })), "{refused}");
}
