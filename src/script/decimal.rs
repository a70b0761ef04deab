//! Exact numbers beyond what an integer or a float holds: DECIMAL columns, and unsigned integers
//! above the signed ones.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use bigdecimal::BigDecimal;
use rhai::{Dynamic, Engine, EvalAltResult, NativeCallContext, Variant};

use super::raise::Wrong;

/// A result with more digits is refused: squaring in a loop doubles them each time. PostgreSQL's
/// largest NUMERIC has 147,455.
const MAX_DIGITS: u64 = 150_000;

/// An exact decimal number; a script can't change it, it computes a new one.
///
/// It prints as its digits with the zeros that its source had (`1.50`), never with an exponent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(Rc<BigDecimal>);

impl Decimal {
    /// Reads digits, perhaps with a sign, a point and an exponent; `None` if it is no such text or
    /// would print as more than 150,000 digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        // Reading digits takes the square of their number; sign, point and exponent have few characters more.
        let is_short = text.len() as u64 <= MAX_DIGITS + 32;
        Decimal::new(is_short.then(|| text.parse().ok())??)
    }

    fn new(number: BigDecimal) -> Option<Decimal> {
        let (digits, scale) = (number.digits(), number.fractional_digit_count());
        let printed =
            if scale < 0 { digits.saturating_add(scale.unsigned_abs()) } else { digits.max(scale.unsigned_abs()) };
        (printed <= MAX_DIGITS).then(|| Decimal(Rc::new(number)))
    }

    /// How it compares with zero.
    pub fn sign(&self) -> Ordering {
        self.0.as_ref().cmp(&BigDecimal::default())
    }

    /// The nearest float; infinite where there is none.
    pub fn to_float(&self) -> f64 {
        // Parsing the digits rounds once; converting the parts would round several times.
        self.0.to_scientific_notation().parse().unwrap_or(f64::NAN)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Decimal {
        Decimal(Rc::new(number.into()))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_plain_string(f)
    }
}

/// Registers the type with its methods and operators. With an integer the result is exact; with a
/// float it is a float, as in SQL.
pub fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Decimal>("Decimal")
        .register_fn("to_string", |number: Decimal| number.to_string())
        .register_fn("to_debug", |number: Decimal| number.to_string())
        .register_fn("to_float", |number: Decimal| number.to_float())
        .register_fn("-", |number: Decimal| Decimal(Rc::new(-number.0.as_ref())));
    register_operators::<Decimal, Decimal>(engine);
    register_operators::<Decimal, i64>(engine);
    register_operators::<i64, Decimal>(engine);
    register_operators::<Decimal, f64>(engine);
    register_operators::<f64, Decimal>(engine);
}

fn register_operators<L, R>(engine: &mut Engine)
where
    L: Variant + Clone + Into<Operand>,
    R: Variant + Clone + Into<Operand>,
{
    for sign in ["+", "-", "*"] {
        engine.register_fn(sign, move |context: NativeCallContext, left: L, right: R| {
            compute(&context, sign, &left.into(), &right.into())
        });
    }
    let comparisons: [Comparison; 5] = [
        ("==", Ordering::is_eq),
        ("<", Ordering::is_lt),
        ("<=", Ordering::is_le),
        (">", Ordering::is_gt),
        (">=", Ordering::is_ge),
    ];
    for (sign, holds) in comparisons {
        engine.register_fn(sign, move |left: L, right: R| compare(&left.into(), &right.into()).is_some_and(holds));
    }
    engine.register_fn("!=", |left: L, right: R| compare(&left.into(), &right.into()) != Some(Ordering::Equal));
}

/// An operator and when it holds.
type Comparison = (&'static str, fn(Ordering) -> bool);

enum Operand {
    Exact(Decimal),
    Float(f64),
}

impl Operand {
    fn to_float(&self) -> f64 {
        match self {
            Operand::Exact(number) => number.to_float(),
            Operand::Float(number) => *number,
        }
    }
}

impl From<Decimal> for Operand {
    fn from(number: Decimal) -> Operand {
        Operand::Exact(number)
    }
}

impl From<i64> for Operand {
    fn from(number: i64) -> Operand {
        Operand::Exact(Decimal(Rc::new(number.into())))
    }
}

impl From<f64> for Operand {
    fn from(number: f64) -> Operand {
        Operand::Float(number)
    }
}

fn compute(
    context: &NativeCallContext,
    sign: &str,
    left: &Operand,
    right: &Operand,
) -> Result<Dynamic, Box<EvalAltResult>> {
    let (Operand::Exact(left), Operand::Exact(right)) = (left, right) else {
        let (left, right) = (left.to_float(), right.to_float());
        return Ok(Dynamic::from_float(match sign {
            "+" => left + right,
            "-" => left - right,
            _ => left * right,
        }));
    };
    let (left, right) = (left.0.as_ref(), right.0.as_ref());
    let number = match sign {
        "+" => left + right,
        "-" => left - right,
        _ => left * right,
    };
    let number = Decimal::new(number)
        .ok_or_else(|| Wrong::Server(format!("the result has more than {MAX_DIGITS} digits")).raise(context))?;
    Ok(Dynamic::from(number))
}

fn compare(left: &Operand, right: &Operand) -> Option<Ordering> {
    match (left, right) {
        (Operand::Exact(left), Operand::Exact(right)) => Some(left.cmp(right)),
        _ => left.to_float().partial_cmp(&right.to_float()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        let mut engine = Engine::new();
        register(&mut engine);
        engine.register_fn("dec", |text: &str| Decimal::parse(text).unwrap());
        engine
    }

    fn shown(script: &str) -> String {
        engine().eval::<Dynamic>(&format!("`${{{script}}}`")).unwrap().into_string().unwrap()
    }

    #[test]
    fn digits_are_kept() {
        let cases = [
            r#"dec("18446744073709551615")"#,
            r#"dec("-12345678901234567890.1234567890")"#,
            r#"dec("1.50")"#,
            r#"dec("0.0000000000000000000001")"#,
        ];
        for script in cases {
            assert_eq!(format!(r#"dec("{}")"#, shown(script)), script);
        }
        assert_eq!(shown(r#"dec("1e3")"#), "1000");
    }

    #[test]
    fn with_integers_and_decimals_the_result_is_exact_and_with_floats_a_float() {
        for (script, result) in [
            (r#"dec("0.1") + dec("0.2")"#, "0.3"),
            (r#"dec("18446744073709551615") + 1"#, "18446744073709551616"),
            (r#"1 - dec("0.05")"#, "0.95"),
            (r#"dec("19.99") * 3"#, "59.97"),
            (r#"-dec("1.5")"#, "-1.5"),
            (r#"dec("1.5") * 2.0"#, "3.0"),
            (r#"0.5 + dec("1.5")"#, "2.0"),
            (r#"dec("1.25").to_float()"#, "1.25"),
            (r#"dec("18446744073709551615").to_float()"#, "1.8446744073709552e19"),
        ] {
            assert_eq!(shown(script), result, "{script}");
        }
    }

    #[test]
    fn comparisons_look_at_the_value() {
        for script in [
            r#"dec("1.50") == dec("1.5")"#,
            r#"dec("2.0") == 2"#,
            r#"2 == dec("2")"#,
            r#"dec("0.1") == 0.1"#,
            r#"dec("0.1") != dec("0.2")"#,
            r#"dec("2.5") > 2"#,
            r#"dec("2.5") <= 2.5"#,
            r#"1.0 < dec("1.5")"#,
            r#"dec("9") < dec("10")"#,
            r#"!(dec("1") == ())"#,
        ] {
            assert_eq!(shown(script), "true", "{script}");
        }
    }

    #[test]
    fn endless_squaring_ends_at_the_digit_limit() {
        let error = engine().run("let n = dec(\"123456789.1\");\nloop { n = n * n; }").unwrap_err();
        assert_eq!(error.to_string(), "Runtime error: the result has more than 150000 digits (line 2, position 14)");
        assert_eq!(Decimal::parse("1e1000000"), None);
        assert_eq!(Decimal::parse("1e-1000000"), None);
        assert_eq!(Decimal::parse("x"), None);
    }
}
