//! Quantities: what parses, what does not, and that writing and reading agree.

use hypertwin_cluster::{Bytes, Duration, Frequency, QuantityError, Rate, Scenario};
use proptest::prelude::*;

#[test]
fn durations_parse_to_whole_nanoseconds() {
    for (text, nanos) in [
        ("0", 0),
        ("0.0", 0),
        ("0 s", 0),
        ("1 ns", 1),
        ("30 us", 30_000),
        ("30us", 30_000),
        ("30 \u{b5}s", 30_000),
        ("30 \u{3bc}s", 30_000),
        ("2.8 ms", 2_800_000),
        (" 0.1 s ", 100_000_000),
        ("1e3 ms", 1_000_000_000),
        ("2.5E-3 s", 2_500_000),
        ("5 min", 300_000_000_000),
        ("2 h", 7_200_000_000_000),
        ("1 d", 86_400_000_000_000),
        ("0.4 us", 400),
        ("1.6 ns", 2),
    ] {
        assert_eq!(text.parse(), Ok(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn what_is_no_quantity_says_why() {
    use QuantityError::{Negative, NoNumber, NoUnit, TooFine, TooLarge};
    for (text, why) in [
        ("", NoNumber),
        ("s", NoNumber),
        (".5 s", NoNumber),
        ("inf s", NoNumber),
        ("5", NoUnit),
        ("-5 s", Negative),
        ("-0 s", Negative),
        ("1e400 s", TooLarge),
        ("1e30 s", TooLarge),
        ("99999999999999999999999999999999999 ns", TooLarge),
        ("0.1 ns", TooFine),
        ("1e-400 s", TooFine),
    ] {
        assert_eq!(text.parse::<Duration>(), Err(why), "{text}");
    }
    for (text, unit) in [
        ("5 S", "S"),
        ("5 sec", "sec"),
        ("5. s", ". s"),
        ("1 min 30 s", "min 30 s"),
        ("5e s", "e s"),
        ("1_0 s", "_0 s"),
    ] {
        assert_eq!(
            text.parse::<Duration>(),
            Err(QuantityError::UnknownUnit(unit.to_owned())),
            "{text}"
        );
    }
}

#[test]
fn each_quantity_has_its_units() {
    assert_eq!("2.5 GHz".parse(), Ok(Frequency::from_mhz(2_500)));
    assert_eq!("1 THz".parse(), Ok(Frequency::from_hz(1_000_000_000_000)));
    assert_eq!("256 GiB".parse(), Ok(Bytes::from_gib(256)));
    assert_eq!("1.5 KiB".parse(), Ok(Bytes::new(1536)));
    assert_eq!("1 GB".parse(), Ok(Bytes::new(1_000_000_000)));
    assert_eq!("120 /s".parse(), Ok(Rate::new(120.0).unwrap()));
    assert_eq!("120/min".parse(), Ok(Rate::new(2.0).unwrap()));
    assert!("1 GHz".parse::<Duration>().is_err());
    assert!("1 Gb".parse::<Bytes>().is_err());
    assert_eq!(Rate::new(f64::NAN), None);
    assert_eq!(Rate::new(-1.0), None);
}

#[test]
fn the_canonical_form_is_short_and_exact() {
    for (text, canonical) in [
        ("90 s", "90 s"),
        ("1500 ms", "1.5 s"),
        ("0.25 ms", "250 us"),
        ("123456789 ns", "123.456789 ms"),
        ("0 h", "0 s"),
    ] {
        assert_eq!(text.parse::<Duration>().unwrap().to_string(), canonical);
    }
    for (text, canonical) in [("2500 MHz", "2.5 GHz"), ("800 MHz", "800 MHz"), ("0 Hz", "0 GHz")] {
        assert_eq!(text.parse::<Frequency>().unwrap().to_string(), canonical);
    }
    for (text, canonical) in [
        ("1024 MiB", "1 GiB"),
        ("1.5 GiB", "1536 MiB"),
        ("1 kB", "1000 B"),
        ("0 GiB", "0 B"),
    ] {
        assert_eq!(text.parse::<Bytes>().unwrap().to_string(), canonical);
    }
}

/// Text that is often nearly a quantity.
fn nearly() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ ]?[0-9]{0,4}[.]?[0-9]{0,3}(e-?[0-9]{0,2})? ?(ns|us|\u{b5}s|ms|s|min|h|d|GHz|x|)",
        "[-+ .0-9eE]{0,8}[a-zA-Z/ ]{0,4}",
        ".{0,12}",
    ]
}

/// A scenario with this warm-up.
fn warming(text: &str) -> String {
    let json = serde_json::json!({
        "name": "x",
        "run": {"warmup": text},
        "hosts": {"h": {"sockets": 1, "cores_per_socket": 1, "clock": "1 GHz", "memory_per_node": "1 GiB",
                        "hypervisor": "esxi-8.0"}},
    });
    json.to_string()
}

proptest! {
    #[test]
    fn durations_survive_text(nanos in prop_oneof![any::<u64>(), 0..10_000_u64]) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn frequencies_survive_text(hz in any::<u64>()) {
        let frequency = Frequency::from_hz(hz);
        prop_assert_eq!(frequency.to_string().parse(), Ok(frequency));
    }

    #[test]
    fn bytes_survive_text(bytes in any::<u64>(), shift in 0..64) {
        let bytes = Bytes::new(bytes >> shift << (shift / 2));
        prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
    }

    #[test]
    fn rates_survive_text(rate in 0.0..1e12_f64) {
        let rate = Rate::new(rate).unwrap();
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    /// The schema's pattern, the parser and the bounds accept the same texts, and those of a unit with one reading
    /// (`0S`) as that reading.
    #[test]
    fn schema_and_parser_agree(text in nearly()) {
        let month = Duration::from_secs(30 * 86_400);
        let parsed = |text: &str| text.parse::<Duration>().ok().filter(|duration| *duration <= month);
        match Scenario::read(&warming(&text)) {
            Ok((scenario, readings)) => {
                let meant = readings.first().map_or(text.as_str(), |reading| reading.meant.as_str().unwrap());
                prop_assert!(readings.is_empty() || parsed(&text).is_none());
                prop_assert!(parsed(meant).is_some());
                prop_assert_eq!(scenario.run.warmup.given(), parsed(meant));
            }
            Err(mistakes) => {
                prop_assert_eq!(parsed(&text), None);
                prop_assert_eq!(mistakes.len(), 1);
                prop_assert_eq!(mistakes[0].path.as_str(), "run.warmup");
                prop_assert!(["bad-unit", "bad-quantity", "out-of-range"].contains(&mistakes[0].code.as_str()));
            }
        }
    }

    #[test]
    fn a_unit_in_other_case_has_its_one_reading(zeros in "0{1,3}", unit in "(NS|US|MS|S|MIN|H|D)") {
        let text = format!("{zeros}{unit}");
        let (scenario, readings) = Scenario::read(&warming(&text)).unwrap();
        prop_assert_eq!(scenario.run.warmup.given(), Some(Duration::ZERO));
        let meant = format!("{zeros} {}", unit.to_lowercase());
        prop_assert_eq!(readings[0].meant.as_str(), Some(meant.as_str()));
    }
}
