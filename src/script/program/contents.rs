//! What a compiled script has in it: its functions and constants, and what it imports.

use std::rc::Rc;

use rhai::{Dynamic, ImmutableString};

use super::Program;
use crate::script::fault::is_closure;
use crate::script::signatures;

impl Program {
    /// The names of its functions, closures among them, with the number of their parameters.
    pub(in crate::script) fn functions(&self) -> impl Iterator<Item = (&ImmutableString, usize)> {
        self.functions.iter_fn_def().map(|it| (&it.name, it.params.len()))
    }

    /// Those functions that other scripts may call.
    pub(in crate::script) fn public_functions(&self) -> impl Iterator<Item = (&ImmutableString, usize)> {
        let public = self.functions.iter_fn_def();
        let public = public.filter(|it| it.access == rhai::FnAccess::Public && it.this_type.is_none());
        public.map(|it| (&it.name, it.params.len())).filter(|(name, _)| !is_closure(name))
    }

    /// Its constants, by name.
    pub(in crate::script) fn constants(&self) -> Vec<(ImmutableString, Dynamic)> {
        let global = self.global.borrow();
        let constants = global.constants.iter().flat_map(|it| it.borrow().clone());
        constants.collect()
    }

    /// The file that it stands in.
    pub(in crate::script) fn name(&self) -> ImmutableString {
        self.global.borrow().source.clone().unwrap_or_default()
    }

    /// The names of functions and constants that the file `source`, this one or one that it imports,
    /// could have meant beside native ones.
    pub(in crate::script) fn names(&self, source: &str) -> Vec<String> {
        if self.name() != source
            && let Some(names) = self.imported.borrow().iter().map(|it| it.1.names(source)).find(|it| !it.is_empty())
        {
            return names;
        }
        if self.name() != source {
            return Vec::new();
        }
        let mut names: Vec<_> = self.functions().map(|it| it.0.to_string()).filter(|it| !is_closure(it)).collect();
        names.extend(self.constants().iter().map(|it| format!("global::{}", it.0)));
        for (alias, module) in self.imported.borrow().iter() {
            names.extend(module.public_functions().map(|it| format!("{alias}::{}", it.0)));
            names.extend(module.constants().iter().map(|it| format!("{alias}::{}", it.0)));
        }
        names
    }

    /// The names of the methods that a value of the type `receiver` has.
    pub(in crate::script) fn methods(&self, receiver: &str) -> Vec<String> {
        signatures::methods(self.engine, receiver)
    }

    /// Makes a module's program known for [`Program::names`].
    pub(in crate::script) fn add_imported(&self, alias: &ImmutableString, module: &Rc<Program>) {
        self.imported.borrow_mut().push((alias.clone(), module.clone()));
    }

    /// The modules that it imports, by the names that it gave them.
    pub(in crate::script) fn imports(&self) -> Vec<(ImmutableString, rhai::Shared<rhai::Module>)> {
        self.global.borrow().scan_imports_raw().map(|(name, module)| (name.clone(), module.clone())).collect()
    }
}
