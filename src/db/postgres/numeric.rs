//! PostgreSQL's `numeric` in its binary format: groups of four digits.

/// A number of arbitrary size, or what is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Numeric {
    /// Its digits, as `-12.50`.
    Digits(String),
    /// `NaN`, `Infinity` or `-Infinity`.
    Special(&'static str),
}

/// Reads it: how many groups, the weight of the first, the sign, how many digits after the point, the groups.
pub fn read(bytes: &[u8]) -> Option<Numeric> {
    let word = |index: usize| Some(u16::from_be_bytes(bytes.get(2 * index..2 * index + 2)?.try_into().ok()?));
    let count = usize::from(word(0)?);
    let weight = i32::from(word(1)?.cast_signed());
    let minus = match word(2)? {
        0x0000 => "",
        0x4000 => "-",
        0xc000 => return Some(Numeric::Special("NaN")),
        0xd000 => return Some(Numeric::Special("Infinity")),
        0xf000 => return Some(Numeric::Special("-Infinity")),
        _ => return None,
    };
    let scale = usize::from(word(3)?);
    if bytes.len() != 8 + 2 * count {
        return None;
    }
    // The group that stands for 10000^power; those that are zero at either end are left out.
    let group = |power: i32| match usize::try_from(weight - power) {
        Ok(index) if index < count => word(4 + index),
        _ => Some(0),
    };
    let mut text = minus.to_owned();
    if weight < 0 {
        text.push('0');
    }
    for power in (0..=weight).rev() {
        let digits = group(power)?;
        text.push_str(&if power == weight { digits.to_string() } else { format!("{digits:04}") });
    }
    if scale > 0 {
        text.push('.');
        let end = text.len() + scale;
        let mut power = -1;
        while text.len() < end {
            text.push_str(&format!("{:04}", group(power)?));
            power -= 1;
        }
        text.truncate(end);
    }
    Some(Numeric::Digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(weight: i16, sign: u16, scale: u16, groups: &[u16]) -> Vec<u8> {
        let head = [u16::try_from(groups.len()).unwrap(), weight.cast_unsigned(), sign, scale];
        head.iter().chain(groups).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn digits_are_exact_on_both_sides_of_the_point() {
        for (weight, sign, scale, groups, text) in [
            (0, 0, 0, &[][..], "0"),
            (0, 0, 2, &[], "0.00"),
            (0, 0, 0, &[12], "12"),
            (0, 0x4000, 2, &[12, 5000], "-12.50"),
            (1, 0, 0, &[1, 2], "10002"),
            (2, 0, 0, &[1], "100000000"),
            (-1, 0, 4, &[1], "0.0001"),
            (-2, 0, 8, &[12], "0.00000012"),
            (0, 0, 1, &[7, 5000], "7.5"),
        ] {
            assert_eq!(read(&bytes(weight, sign, scale, groups)), Some(Numeric::Digits(text.to_owned())));
        }
    }

    #[test]
    fn what_is_no_number_is_told_apart_and_what_is_cut_short_is_refused() {
        assert_eq!(read(&bytes(0, 0xc000, 0, &[])), Some(Numeric::Special("NaN")));
        assert_eq!(read(&bytes(0, 0xf000, 0, &[])), Some(Numeric::Special("-Infinity")));
        assert_eq!(read(&bytes(0, 0x1234, 0, &[])), None);
        assert_eq!(read(&[]), None);
        assert_eq!(read(&bytes(0, 0, 0, &[1])[..9]), None);
    }
}
