//! The key order of a script's map literals, which its maps have lost: Rhai sorts them.

use std::fmt::Write;

use rhai::{AST, ASTNode, Expr, Identifier, Map, Position};

/// Which order the keys of a map come out in: that of the literal with exactly these keys.
///
/// It is learned once from the compiled script, so that the maps themselves carry nothing.
#[derive(Debug, Default)]
pub struct Shapes {
    /// By number of keys, each list sorted by the sorted keys.
    by_length: Vec<Vec<Shape>>,
}

#[derive(Debug)]
struct Shape {
    sorted: Vec<Identifier>,
    order: Order,
}

/// How a literal's keys stand.
#[derive(Debug)]
enum Order {
    /// As a map has them. It is kept so that a later literal with the same keys doesn't count.
    Sorted,
    /// For each member in turn: its place among the sorted keys, and what is written before its
    /// value (`{"key":` or `,"key":`).
    Own(Vec<(usize, String)>),
}

impl Shapes {
    /// The keys of the map literals of a script, in the order in which they stand in it. It must have
    /// been compiled without optimization, which would have made values of constant literals.
    pub fn literals(ast: &AST) -> Vec<Vec<Identifier>> {
        let mut literals: Vec<(Position, Vec<Identifier>)> = Vec::new();
        ast.walk(&mut |nodes: &[ASTNode]| {
            if let Some(ASTNode::Expr(Expr::Map(map, position))) = nodes.last() {
                literals.push((*position, map.0.iter().map(|(key, _)| key.name.as_str().into()).collect()));
            }
            true
        });
        // The functions, closures among them, come in no order.
        literals.sort_by_key(|(position, _)| (position.line(), position.position()));
        literals.into_iter().map(|(_, keys)| keys).collect()
    }

    /// Learns the literals of a script. Of those with the same keys the first that was learned counts.
    pub fn add_all(&mut self, literals: &[Vec<Identifier>]) {
        for keys in literals {
            self.add(keys);
        }
    }

    fn add(&mut self, keys: &[Identifier]) {
        if keys.len() < 2 {
            return;
        }
        if self.by_length.len() <= keys.len() {
            self.by_length.resize_with(keys.len() + 1, Vec::new);
        }
        let mut places: Vec<usize> = (0..keys.len()).collect();
        places.sort_by_key(|&place| &keys[place]);
        let sorted: Vec<Identifier> = places.iter().map(|&place| keys[place].clone()).collect();
        let known = &mut self.by_length[keys.len()];
        if let Err(place) = known.binary_search_by(|shape| shape.sorted.cmp(&sorted)) {
            let order = if sorted == keys { Order::Sorted } else { Order::Own(members(keys, &sorted)) };
            known.insert(place, Shape { sorted, order });
        }
    }

    /// The members of `map` in its literal's order, as places among the sorted ones and what is
    /// written before each value; `None` if it stays sorted.
    #[inline]
    pub(super) fn order(&self, map: &Map) -> Option<&[(usize, String)]> {
        let known = self.by_length.get(map.len())?;
        if known.is_empty() {
            return None;
        }
        let place = known.binary_search_by(|shape| shape.sorted.iter().cmp(map.keys())).ok()?;
        match &known[place].order {
            Order::Sorted => None,
            Order::Own(members) => Some(members),
        }
    }
}

fn members(keys: &[Identifier], sorted: &[Identifier]) -> Vec<(usize, String)> {
    let place = |key| sorted.binary_search(key).expect("the same keys, sorted");
    let mut opening = '{';
    keys.iter()
        .map(|key| {
            let mut before = String::new();
            let name = serde_json::to_string(key.as_str()).expect("a string is always JSON");
            write!(before, "{opening}{name}:").expect("a string takes every character");
            opening = ',';
            (place(key), before)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::json::write;
    use rhai::{Dynamic, Engine, OptimizationLevel, Scope};

    fn written(script: &str) -> String {
        let mut engine = Engine::new();
        engine.set_optimization_level(OptimizationLevel::None);
        let ast = engine.compile(script).unwrap();
        let mut shapes = Shapes::default();
        shapes.add_all(&Shapes::literals(&ast));
        let ast = engine.optimize_ast(&Scope::new(), ast, OptimizationLevel::Simple);
        let mut out = Vec::new();
        write(&mut out, &engine.eval_ast::<Dynamic>(&ast).unwrap(), &shapes).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_map_comes_out_in_its_literals_order_wherever_that_stands() {
        for (script, json) in [
            (r#"#{z: 1, a: 2}"#, r#"{"z":1,"a":2}"#),
            (r#"#{b: #{y: 1, x: [#{d: 1, c: 2}]}, a: 3}"#, r#"{"b":{"y":1,"x":[{"d":1,"c":2}]},"a":3}"#),
            (r#"fn row(i) { #{id: i, at: 2} } [row(1)]"#, r#"[{"id":1,"at":2}]"#),
            (r#"let f = |i| #{id: i, at: 2}; f.call(1)"#, r#"{"id":1,"at":2}"#),
            (r#"[1].map(|i| #{id: i, at: 2})"#, r#"[{"id":1,"at":2}]"#),
            (r#"switch 1 { 1 => #{id: 1, at: 2}, _ => () }"#, r#"{"id":1,"at":2}"#),
            (r#"if true { return #{id: 1, at: 2}; } 5"#, r#"{"id":1,"at":2}"#),
            (r#"const K = #{id: 1, at: 2}; K"#, r#"{"id":1,"at":2}"#),
            (r#"let m = #{}; m.id = 1; m.at = 2; [m, #{id: 3, at: 4}]"#, r#"[{"id":1,"at":2},{"id":3,"at":4}]"#),
            ("#{\"q\\\"\": 1, \"a\": 2}", r#"{"q\"":1,"a":2}"#),
        ] {
            assert_eq!(written(script), json, "{script}");
        }
    }

    #[test]
    fn other_maps_are_sorted() {
        for (script, json) in [
            (r#"let m = #{z: 1, a: 2}; m.b = 3; m"#, r#"{"a":2,"b":3,"z":1}"#),
            (r#"let m = #{z: 1, b: 2, a: 3}; m.remove("b"); m"#, r#"{"a":3,"z":1}"#),
            (r#"let m = #{}; for k in ["z", "a"] { m[k] = 1; } m"#, r#"{"a":1,"z":1}"#),
        ] {
            assert_eq!(written(script), json, "{script}");
        }
    }

    #[test]
    fn the_first_literal_in_the_file_decides() {
        let in_closures = "let f = || #{b: 1, a: 2};\nlet g = || #{a: 1, b: 2};\n[f.call(), g.call()]";
        assert_eq!(written(in_closures), r#"[{"b":1,"a":2},{"b":2,"a":1}]"#);
        let sorted_first = "let g = || #{a: 1, b: 2};\nlet f = || #{b: 1, a: 2};\n[f.call(), g.call()]";
        assert_eq!(written(sorted_first), r#"[{"a":2,"b":1},{"a":1,"b":2}]"#);
        assert_eq!(
            written("let x = [#{c: 1, b: 2, a: 3}, #{a: 1, c: 2, b: 3}]; x"),
            r#"[{"c":1,"b":2,"a":3},{"c":2,"b":3,"a":1}]"#
        );
    }

    #[test]
    fn shapes_of_the_same_length_are_kept_apart() {
        let script = "[#{d: 1, c: 1}, #{b: 1, a: 1}, #{f: 1, a: 1}, #{z: 1, c: 1}]";
        assert_eq!(written(script), r#"[{"d":1,"c":1},{"b":1,"a":1},{"f":1,"a":1},{"z":1,"c":1}]"#);
    }
}
