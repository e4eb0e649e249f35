//! Changes to the derived schema, so that messages can list what is allowed.

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Turns the choice between documented constants into an `enum`, whose error lists the values.
pub(super) fn plain_enum(schema: &mut Schema) {
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        let values = variants.iter().flat_map(|variant| match variant.get("enum") {
            Some(Value::Array(values)) => values.clone(),
            _ => variant.get("const").cloned().into_iter().collect(),
        });
        let values: Vec<Value> = values.collect();
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(values));
    }
}

/// Turns the choice between objects of one key each into one object that takes exactly one of the keys, whose errors
/// point into the key that was chosen.
pub(super) fn merge_variants(schema: &mut Schema) {
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        let mut properties = Map::new();
        for variant in &variants {
            let description = variant.get("description");
            for (key, value) in variant["properties"].as_object().into_iter().flatten() {
                let mut value = value.clone();
                if let (Some(map), Some(text)) = (value.as_object_mut(), description) {
                    map.insert("description".to_owned(), text.clone());
                }
                properties.insert(key.clone(), value);
            }
        }
        let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        let allowed = format!("exactly one of the keys {}", keys.join(", "));
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("minProperties".to_owned(), json!(1));
        schema.insert("maxProperties".to_owned(), json!(1));
        schema.insert("x-code".to_owned(), json!("one-of"));
        schema.insert("x-allowed".to_owned(), json!(allowed));
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Restricts the keys of a map to names.
pub(super) fn name_keys(schema: &mut Schema) {
    schema.insert(
        "propertyNames".to_owned(),
        json!({
            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        }),
    );
}

/// Makes a forbidden character in a text of a list a bad name.
pub(super) fn lines_of_text(schema: &mut Schema) {
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        let allowed = format!("1 to {} characters on one line", items["maxLength"]);
        items.insert("x-code".to_owned(), json!("bad-name"));
        items.insert("x-allowed".to_owned(), json!(allowed));
    }
}
