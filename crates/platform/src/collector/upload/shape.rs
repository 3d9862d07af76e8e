//! Is a JSON text of a shape worth reading? How deep it is nested, how many values and how long texts it
//! has is counted in one pass, before anything is allocated for it.

/// What is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Arrays and objects within each other.
    pub depth: u32,
    /// Values in arrays and objects, counted by the commas between them.
    pub values: u64,
    /// Bytes of one text as written.
    pub text_bytes: usize,
}

/// Whether `json` stays within `most`; the error says what it exceeds. Whether it is JSON at all is for
/// the parser to say.
pub fn check(json: &[u8], most: &Most) -> Result<(), String> {
    let (mut depth, mut values) = (0_u32, 0_u64);
    let mut rest = json;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > most.depth {
                    return Err(format!("it is nested deeper than {} levels", most.depth));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => {
                values += 1;
                if values > most.values {
                    return Err(format!("it has more than {} values", most.values));
                }
            }
            b'"' => {
                let length = text_length(rest);
                if length > most.text_bytes {
                    let most = most.text_bytes;
                    return Err(format!("it has a text of more than {most} bytes"));
                }
                rest = rest.get(length + 1..).unwrap_or(&[]);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Bytes up to the closing quotation mark, or to the end.
fn text_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most {
        depth: 3,
        values: 4,
        text_bytes: 5,
    };

    #[test]
    fn depth_values_and_texts_are_counted() {
        let fits = |json: &str| check(json.as_bytes(), &MOST).is_ok();
        assert!(fits("[[[1,2],3],4,5]") && !fits("[[[[]]]]"));
        assert!(!fits("[1,2,3,4,5,6]"));
        assert!(fits(r#"["12345"]"#) && !fits(r#"["123456"]"#));
        assert!(fits(r#"["[[[[","[,,,,"]"#), "a text is no structure");
        assert!(fits(r#"["\"\"",1]"#) && !fits(r#"["\"\"\"",1]"#));
        assert!(
            fits(r#"["\\",",",","]"#),
            "an escaped backslash ends nothing"
        );
    }

    #[test]
    fn any_bytes_are_looked_at_once() {
        for json in ["\"", "\"\\", "]]]]", "{", ",,,,", "\u{1F3E0}\""] {
            assert!(check(json.as_bytes(), &MOST).is_ok(), "{json}");
        }
        let deep = "[".repeat(10_000_000);
        assert!(check(deep.as_bytes(), &MOST).is_err());
    }
}
