//! Figures, counts and lists in sentences.

/// Names that a sentence has.
pub const NAMED: usize = 4;

/// A figure with three significant digits at most, thousands apart.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return grouped(value, 0);
    }
    if size < 1e-4 {
        return format!("{value:.2e}").replace('-', "−");
    }
    let exponent = size.log10().floor() as i32;
    let mut digits = (2 - exponent).max(0) as usize;
    // 99.96 % is not 100 %
    let rounded: f64 = format!("{size:.digits$}").parse().unwrap_or(size);
    if rounded >= 10_f64.powi(exponent + 1) {
        digits += 1;
    }
    let text = grouped(value, digits);
    let is_exact = format!("{value:.digits$}").parse() == Ok(value);
    if is_exact && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A figure with this number of decimals and thousands separators.
fn grouped(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    if value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        out.push('−');
    }
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !part.is_empty() {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// `1 VM`, `2 VMs`.
pub fn count(many: usize, noun: &str) -> String {
    format!("{} {noun}{}", number(many as f64), if many == 1 { "" } else { "s" })
}

/// The first names, and how many more there are.
pub fn some<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(most);
    let and_more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    shown.join(", ") + &and_more
}

/// `a, b and c`.
pub fn list<S: AsRef<str>>(parts: &[S]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [all @ .., last] => {
            let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", all.join(", "), last.as_ref())
        }
    }
}

/// A time in the largest unit that it reaches.
pub fn duration(seconds: f64) -> String {
    let units = [("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)];
    let (name, length) = units
        .into_iter()
        .find(|(_, length)| seconds >= *length)
        .unwrap_or(("s", 1.0));
    format!("{} {name}", number(seconds / length))
}

/// The order that people expect: `app-2` before `app-10`.
pub fn by_name(one: &str, other: &str) -> std::cmp::Ordering {
    let parts = |name: &str| -> (String, u64) {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
    };
    parts(one).cmp(&parts(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_digits_by_their_size() {
        let told = [0.0, 0.36, 12.345, 99.96, 1234.6, 12.0, 0.5, -3.25, 1e-5, 250_000.4].map(number);
        let expected = [
            "0",
            "0.36",
            "12.3",
            "99.96",
            "1,235",
            "12",
            "0.5",
            "−3.25",
            "1.00e−5",
            "250,000",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn names_are_counted_and_listed() {
        assert_eq!(count(1, "VM"), "1 VM");
        assert_eq!(some(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(duration(5400.0), "1.5 h");
        assert!(by_name("app-2", "app-10").is_lt());
    }
}
