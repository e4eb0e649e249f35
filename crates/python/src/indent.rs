//! Compact JSON, indented as Python writes it.

/// `json`, which has no white space, as `json.dumps(..., indent=2, ensure_ascii=False)` of Python writes what it says,
/// at some depth of a document. Without reading it into objects, which costs twenty times as much.
pub fn indented(json: &str, mut depth: usize) -> String {
    let bytes = json.as_bytes();
    let mut text = String::with_capacity(2 * json.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        let mut taken = 1;
        match byte {
            b'"' => {
                taken = string(&bytes[at..]);
                text.push_str(&json[at..at + taken]);
            }
            b'{' | b'[' if matches!(next, Some(b'}' | b']')) => {
                taken = 2;
                text.push_str(&json[at..at + taken]);
            }
            b'{' | b'[' => {
                depth += 1;
                text.push(char::from(byte));
                line(&mut text, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(char::from(byte));
            }
            b',' => {
                text.push(',');
                line(&mut text, depth);
            }
            b':' => text.push_str(": "),
            b'e' if at > 0 && bytes[at - 1].is_ascii_digit() => {
                // Python gives an exponent its sign and two digits
                let is_negative = next == Some(&b'-');
                taken += usize::from(is_negative || next == Some(&b'+'));
                text.push_str(if is_negative { "e-" } else { "e+" });
                if !bytes.get(at + taken + 1).is_some_and(u8::is_ascii_digit) {
                    text.push('0');
                }
            }
            _ => text.push(char::from(byte)),
        }
        at += taken;
    }
    text
}

/// Bytes of the string that `json` begins with, its quotes included.
fn string(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = json.get(at) {
        at += 1 + usize::from(byte == b'\\');
        if byte == b'"' {
            break;
        }
    }
    at.min(json.len())
}

fn line(text: &mut String, depth: usize) {
    text.push('\n');
    (0..depth).for_each(|_| text.push_str("  "));
}
