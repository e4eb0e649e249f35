//! Redundancy: what parses, what does not, and that text, schema and numbers agree.

use hypertwin_cluster::{Redundancy, RedundancyError};
use proptest::prelude::*;
use schemars::JsonSchema;

#[test]
fn the_common_schemes_have_the_figures_of_their_notation() {
    // text, width, needed, survives, minimum for writes, raw bytes per byte
    for (text, width, needed, survives, minimum, raw) in [
        ("replicas-1", 1, 1, 0, 1, 1.0),
        ("replicas-2", 2, 1, 1, 1, 2.0),
        ("replicas-3:2", 3, 1, 2, 2, 3.0),
        ("ec-3+1", 4, 3, 1, 3, 4.0 / 3.0),
        ("ec-3+2", 5, 3, 2, 3, 5.0 / 3.0),
        ("ec-17+3", 20, 17, 3, 17, 20.0 / 17.0),
    ] {
        let scheme: Redundancy = text.parse().expect("a good text");
        assert_eq!((scheme.width(), scheme.needed()), (width, needed), "{text}");
        assert_eq!(
            (scheme.survives(), scheme.minimum_available()),
            (survives, minimum),
            "{text}"
        );
        assert_eq!(scheme.amplification(), raw, "{text}");
        assert_eq!(scheme.to_string(), text);
    }
}

#[test]
fn the_default_minimum_is_not_written() {
    assert_eq!(
        "replicas-3:1"
            .parse::<Redundancy>()
            .map(|scheme| scheme.to_string())
            .as_deref(),
        Ok("replicas-3")
    );
}

#[test]
fn what_is_no_redundancy_says_why() {
    use RedundancyError::{Copies, Data, Form, Minimum, Parity};
    for (text, why) in [
        ("", Form),
        ("3", Form),
        ("3+2", Form),
        ("replicas", Form),
        ("replicas-", Form),
        ("replicas-three", Form),
        ("replicas-+3", Form),
        ("replicas-03", Form),
        ("replicas- 3", Form),
        ("replicas-3:", Form),
        ("replicas-3:2:1", Form),
        ("replicas-99999999999", Form),
        ("Replicas-3", Form),
        ("ec-3", Form),
        ("ec-3+", Form),
        ("ec-3+2+1", Form),
        ("ec-3-2", Form),
        ("ec-3+-1", Form),
        ("replicas-0", Copies(0)),
        ("replicas-9", Copies(9)),
        ("replicas-3:0", Minimum { copies: 3, minimum: 0 }),
        ("replicas-3:4", Minimum { copies: 3, minimum: 4 }),
        ("ec-0+1", Data(0)),
        ("ec-65+1", Data(65)),
        ("ec-3+0", Parity(0)),
        ("ec-3+17", Parity(17)),
    ] {
        assert_eq!(text.parse::<Redundancy>(), Err(why), "{text:?}");
    }
    assert_eq!(
        Redundancy::erasure(70, 2).expect_err("too wide").to_string(),
        "has 70 data fragments; allowed are 1 to 64"
    );
}

#[test]
fn a_mistake_names_its_place_and_the_reason() {
    let mistake = Redundancy::read("ec-3+20", "storage.pool.redundancy").expect_err("too much parity");
    assert_eq!(mistake.code, "bad-redundancy");
    assert_eq!(
        (mistake.path.as_str(), mistake.value.as_str()),
        ("storage.pool.redundancy", "\"ec-3+20\"")
    );
    assert_eq!(mistake.hint, "it has 20 parity fragments; allowed are 1 to 16");
}

fn accepted_by_the_schema() -> impl Fn(&str) -> bool {
    let schema = Redundancy::json_schema(&mut schemars::SchemaGenerator::default()).to_value();
    let validator = jsonschema::validator_for(&schema).expect("a good schema");
    move |text| validator.is_valid(&serde_json::Value::from(text))
}

#[test]
fn the_schema_takes_what_the_parser_takes() {
    let accepted = accepted_by_the_schema();
    for left in 0..=130 {
        for right in 0..=40 {
            for text in [format!("replicas-{left}:{right}"), format!("ec-{left}+{right}")] {
                assert_eq!(accepted(&text), text.parse::<Redundancy>().is_ok(), "{text}");
            }
        }
        let text = format!("replicas-{left}");
        assert_eq!(accepted(&text), text.parse::<Redundancy>().is_ok(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_by_both_or_neither(text in "(replicas-|ec-|x)?[0-9+:-]{0,6}") {
        prop_assert_eq!(accepted_by_the_schema()(&text), text.parse::<Redundancy>().is_ok());
    }

    #[test]
    fn writing_and_reading_agree(copies in 1u32..=8, minimum in 1u32..=8, data in 1u32..=64, parity in 1u32..=16) {
        for scheme in [Redundancy::replicas(copies, minimum.min(copies)), Redundancy::erasure(data, parity)] {
            let scheme = scheme.expect("in range");
            prop_assert_eq!(scheme.to_string().parse(), Ok(scheme));
            let json = serde_json::to_string(&scheme).expect("plain JSON");
            prop_assert_eq!(serde_json::from_str::<Redundancy>(&json).expect("reads back"), scheme);
            prop_assert_eq!(scheme.needed() + scheme.survives(), scheme.width());
            prop_assert!((1..=scheme.width()).contains(&scheme.minimum_available()));
        }
    }
}
