//! The `import` statements of a compiled script; where the files lie that they name is not known here.

use rhai::{AST, ASTNode, Expr, ImmutableString, Position, Stmt};

/// An `import` at the top level of a script.
pub(super) struct Import {
    /// The name as the script writes it.
    pub(super) path: ImmutableString,
    /// What the script calls it; empty if it does not.
    pub(super) alias: ImmutableString,
    /// Where the name stands.
    pub(super) position: Position,
}

/// An `import` that can't be there.
pub(super) struct Misplaced {
    pub(super) position: Position,
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
}

/// The imports at the top level, in their order.
///
/// # Errors
/// If a name is not a plain text, or if an import stands elsewhere: it would be read from the disk
/// while a request waits.
pub(super) fn imports(ast: &AST) -> Result<Vec<Import>, Misplaced> {
    let mut found = Vec::new();
    for statement in ast.statements() {
        if let Stmt::Import(import, _) = statement {
            found.push(of(&import.0, &import.1.name)?);
        }
    }
    let mut elsewhere = None;
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Import(import, position))) = nodes.last() {
            let at = import.0.start_position();
            if !found.iter().any(|it| it.position == at) {
                elsewhere = Some(*position);
                return false;
            }
        }
        true
    });
    match elsewhere {
        None => Ok(found),
        Some(position) => Err(Misplaced {
            position,
            message: "`import` stands inside a block or a function, expected at the top level of the script",
            hint: "functions and closures see what the script imports at its top",
        }),
    }
}

fn of(path: &Expr, alias: &ImmutableString) -> Result<Import, Misplaced> {
    let position = path.start_position();
    match path {
        Expr::StringConstant(path, _) => Ok(Import { path: path.clone(), alias: alias.clone(), position }),
        _ => Err(Misplaced {
            position,
            message: "`import` has a computed name, expected a text in quotes",
            hint: "modules are loaded when the script starts, not while a request waits",
        }),
    }
}

/// What a script asks for in namespaces.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Something in a namespace.
    Namespace(String),
    /// A function that stands right in a namespace, by its whole name.
    Function(String),
}

/// The first that a script asks for and that is not known: Rhai itself looks for it when the closure around it runs.
pub(super) fn unknown(ast: &AST, is_known: &dyn Fn(&Asked) -> bool) -> Option<(Position, Asked)> {
    let mut found: Option<(Position, Asked)> = None;
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        let (namespace, function, position) = match nodes.last() {
            Some(ASTNode::Expr(Expr::FnCall(call, position)) | ASTNode::Stmt(Stmt::FnCall(call, position))) => {
                (&call.namespace, Some(&call.name), *position)
            }
            Some(ASTNode::Expr(Expr::Variable(variable, _, position))) => (&variable.2, None, *position),
            _ => return true,
        };
        let is_first = |it: &(Position, Asked)| (position.line(), position.position()) < (it.0.line(), it.0.position());
        if namespace.is_empty() || !found.as_ref().is_none_or(is_first) {
            return true;
        }
        let root = namespace.root();
        let function =
            function.filter(|_| namespace.path.len() == 1).map(|name| Asked::Function(format!("{root}::{name}")));
        let asked = [Some(Asked::Namespace(root.to_owned())), function].into_iter().flatten();
        found = asked.into_iter().find(|it| !is_known(it)).map(|it| (position, it)).or(found.take());
        true
    });
    found
}

/// Variables and constants that `export` names, each with the name under which others see it.
pub(super) fn exports(ast: &AST) -> Vec<(ImmutableString, ImmutableString)> {
    let mut found = Vec::new();
    for statement in ast.statements() {
        match statement {
            Stmt::Export(names, _) => {
                let (name, alias) = (&names.0.name, &names.1.name);
                found.push((name.clone(), if alias.is_empty() { name.clone() } else { alias.clone() }));
            }
            Stmt::Var(variable, flags, _) if flags.intersects(rhai::ASTFlags::EXPORTED) => {
                found.push((variable.0.name.clone(), variable.0.name.clone()));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: &str) -> Result<Vec<Import>, Misplaced> {
        let mut engine = rhai::Engine::new();
        engine.set_optimization_level(rhai::OptimizationLevel::None);
        imports(&engine.compile(script).unwrap())
    }

    #[test]
    fn imports_at_the_top_level_are_found_in_their_order() {
        let found = read("import \"b\" as x;\nlet y = 1;\nimport \"lib/a\" as z;\nfn f() { x::g() }").ok().unwrap();
        let names: Vec<_> = found.iter().map(|it| (it.path.as_str(), it.alias.as_str())).collect();
        assert_eq!(names, [("b", "x"), ("lib/a", "z")]);
        assert_eq!((found[1].position.line(), found[1].position.position()), (Some(3), Some(8)));
    }

    #[test]
    fn an_import_elsewhere_is_refused() {
        for script in [
            "fn f() { import \"a\" as a; }",
            "if true { import \"a\" as a; }",
            "let f = || { import \"a\" as a; a::b() };",
            "for i in 0..1 { if true { import \"a\" as a; } }",
            "import \"a\" + \"b\" as a;",
            "let x = 1; import `a${x}` as a;",
        ] {
            assert!(read(script).is_err(), "{script}");
        }
    }
}
