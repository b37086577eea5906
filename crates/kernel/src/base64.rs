//! Bytes as text (RFC 4648 section 4).

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of some bytes.
pub fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The bytes of a text; `None` if it is none.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let padding = text.iter().rev().take_while(|&&letter| letter == b'=').count();
    if text.len() % 4 != 0 || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text[..text.len() - padding].chunks(4) {
        let mut word = 0;
        for &letter in chunk {
            word = word << 6 | value(letter)?;
        }
        let word = word << (6 * (4 - chunk.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    /// RFC 4648 section 10.
    #[test]
    fn test_vectors_of_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes());
        }
        for wrong in ["Zg", "Zg=", "Z===", "Zg=v", "Z!==", "===="] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
