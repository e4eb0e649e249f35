//! Schema keywords of quantities, for the schema validator.

use std::sync::LazyLock;

use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::Value;

use crate::quantity::{base_units, kind_and_value};
use crate::schema::SCHEMA;

/// The schema with these keywords.
pub(super) static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    fn keyword<'a>(lowest: bool, value: &'a Value) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
        let (kind, value) = value
            .as_str()
            .and_then(kind_and_value)
            .ok_or_else(|| ValidationError::schema("not a quantity"))?;
        Ok(Box::new(Bound { kind, value, lowest }))
    }
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_keyword("x-quantity", |parent, value, _| {
            Ok(Box::new(Quantity {
                kind: value.as_str().unwrap_or_default().to_owned(),
                word: parent.get("x-word").and_then(Value::as_str).map(str::to_owned),
            }))
        })
        .with_keyword("x-minimum", |_, value, _| keyword(true, value))
        .with_keyword("x-maximum", |_, value, _| keyword(false, value))
        .build(&SCHEMA)
        .expect("the schema made from the types is a schema")
});

/// The bound of a quantity, in base units, and the kind of quantity.
struct Bound {
    kind: &'static str,
    value: f64,
    lowest: bool,
}

impl<'i> Keyword<'i> for Bound {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("outside the bounds"))
        }
    }
    fn is_valid(&self, instance: &'i Value) -> bool {
        let value = match instance {
            Value::String(text) => base_units(self.kind, text).and_then(Result::ok),
            Value::Number(number) => number.as_f64(),
            _ => None,
        };
        value.is_none_or(|value| {
            if self.lowest {
                value >= self.value
            } else {
                value <= self.value
            }
        })
    }
}

/// Checks that text is a quantity of a kind.
struct Quantity {
    kind: String,
    /// A word allowed instead.
    word: Option<String>,
}

impl<'i> Keyword<'i> for Quantity {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("not a quantity"))
        }
    }
    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| {
            self.word.as_deref() == Some(text) || base_units(&self.kind, text).is_none_or(|parsed| parsed.is_ok())
        })
    }
}
