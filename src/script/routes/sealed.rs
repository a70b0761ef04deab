//! Routes of a script that has started: which of them a request is for.

use std::rc::Rc;

use rhai::{FnPtr, ImmutableString};

use super::declaration::Declaration;
use super::{Entry, Router, Verb};
use crate::router::{Captures, Pattern, Table};
use crate::script::env::Formats;
use crate::script::program::Function;

/// Routes that a script may have, mounts counted each time.
const MOST_ROUTES: usize = 10_000;

/// A router that the top level has built, with all that is mounted in it: it changes no more.
pub(in crate::script) struct Routes {
    table: Table,
    /// In the order of the table.
    pub(super) routes: Vec<Route>,
    /// The first is the router's own.
    pub(super) scopes: Vec<Scope>,
}

pub(super) struct Route {
    verb: Verb,
    pub(super) handler: Function,
    pub(super) declared: Option<Rc<Declaration>>,
    /// Of the pattern, in its order.
    pub(super) names: Vec<ImmutableString>,
    /// Of the pattern's suffixes, if it has some.
    pub(super) formats: Option<Rc<Formats>>,
    pub(super) scope: usize,
}

/// The functions of a router or of a group, with the way to it.
pub(super) struct Scope {
    /// The scopes around it from the outside in, with itself.
    pub(super) chain: Vec<usize>,
    /// Where its paths are; `None` where it has no prefix of its own.
    prefix: Option<Pattern>,
    /// How many segments the prefixes have, of it and around it.
    depth: usize,
    /// How many of them belong to `SCRIPT_NAME` here.
    pub(super) mounted: usize,
    pub(super) before: Vec<Function>,
    pub(super) after: Vec<Function>,
    pub(super) not_found: Option<Function>,
    pub(super) rescue: Option<Function>,
}

/// What there is for a request.
pub(super) enum Found {
    /// A route, with what its pattern took from the path.
    Route(usize, Captures),
    /// Routes for other methods: what `Allow` says, and the scope of the first of them.
    OtherMethod(String, usize),
    /// None, in this scope.
    Nothing(usize),
}

impl Routes {
    /// The routes that were declared, in their order.
    ///
    /// # Errors
    /// If a pattern and the prefixes around it do not go together, or if there are too many.
    pub(in crate::script) fn of(router: &Router) -> Result<Routes, String> {
        let mut gathered = Gathered::default();
        gathered.add(router, "", None, 0)?;
        // Handlers may have captured the router: what points to itself would never be freed.
        for router in &gathered.routers {
            let mut built = router.built.borrow_mut();
            let (entries, scopes) = (std::mem::take(&mut built.entries), std::mem::take(&mut built.scopes));
            drop(built);
            drop((entries, scopes));
        }
        let Gathered { patterns, routes, scopes, .. } = gathered;
        Ok(Routes { table: Table::new(patterns), routes, scopes })
    }

    /// All functions, with what each takes.
    pub(in crate::script) fn functions(&self) -> impl Iterator<Item = (&Function, &'static [&'static str])> {
        const ENV: &[&str] = &["env"];
        let before = self.scopes.iter().flat_map(|it| it.before.iter().chain(&it.not_found)).map(|it| (it, ENV));
        let after = self.scopes.iter().flat_map(|it| &it.after).map(|it| (it, &["env", "reply"] as &[_]));
        let rescue = self.scopes.iter().filter_map(|it| it.rescue.as_ref()).map(|it| (it, &["error", "env"] as &[_]));
        before.chain(after).chain(rescue).chain(self.routes.iter().map(|it| (&it.handler, ENV)))
    }

    /// What there is for a method and a path.
    pub(super) fn find(&self, method: &str, path: &str) -> Found {
        let reads = matches!(method, "GET" | "HEAD");
        // `/projects/` is `/projects`, for reading only: a form sent there was meant for elsewhere.
        let shorter = Pattern::without_slash(path).filter(|_| reads);
        for path in std::iter::once(path).chain(shorter) {
            // HEAD is answered by GET's route where it has none of its own.
            let is_head = |verb: &Verb| matches!(verb, Verb::One(own) if own == "HEAD");
            let own = if method == "HEAD" { self.first(path, is_head) } else { None };
            let method = if method == "HEAD" { "GET" } else { method };
            if let Some((index, captures)) = own.or_else(|| self.first(path, |verb| verb.takes(method))) {
                return Found::Route(index, captures);
            }
        }
        match self.allowed(path) {
            Some((allow, scope)) => Found::OtherMethod(allow, scope),
            None => Found::Nothing(self.scope_of(path)),
        }
    }

    /// The pattern of the route at a place.
    pub(super) fn pattern(&self, index: usize) -> &Pattern {
        self.table.pattern(index)
    }

    fn first(&self, path: &str, takes: impl Fn(&Verb) -> bool) -> Option<(usize, Captures)> {
        self.table.first(path, |index| takes(&self.routes[index].verb))
    }

    /// The methods that the path has routes for, as `Allow` lists them, and the scope of the first.
    fn allowed(&self, path: &str) -> Option<(String, usize)> {
        let all = self.table.all(path);
        let mut methods: Vec<&str> = Vec::new();
        let mut add = |method| {
            if !methods.contains(&method) {
                methods.push(method);
            }
        };
        for index in &all {
            match &self.routes[*index].verb {
                Verb::Any => ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].into_iter().for_each(&mut add),
                Verb::One(method) => {
                    add(method);
                    if method == "GET" {
                        add("HEAD");
                    }
                }
            }
        }
        add("OPTIONS");
        Some((methods.join(", "), self.routes[*all.first()?].scope))
    }

    /// The scope that a path without a route is in: that of the longest prefix.
    fn scope_of(&self, path: &str) -> usize {
        let depth = |scope: &Scope| Some(scope.prefix.as_ref().filter(|it| it.is_above(path))?.depth());
        let depths = self.scopes.iter().enumerate().filter_map(|(index, scope)| Some((index, depth(scope)?)));
        // Of equal ones the first.
        depths.rev().max_by_key(|(_, depth)| *depth).map_or(0, |(index, _)| index)
    }
}

impl Route {
    pub(super) fn verb(&self) -> &Verb {
        &self.verb
    }
}

/// Routes and scopes, as they are found in routers and what is mounted in them.
#[derive(Default)]
struct Gathered {
    patterns: Vec<Pattern>,
    routes: Vec<Route>,
    scopes: Vec<Scope>,
    routers: Vec<Router>,
}

impl Gathered {
    /// Adds a router's routes below `prefix`, in the scope `outer` if it is mounted.
    fn add(&mut self, router: &Router, prefix: &str, outer: Option<usize>, mounted: usize) -> Result<(), String> {
        let mut built = router.built.borrow_mut();
        built.is_sealed = true;
        let first = self.scopes.len();
        for (index, scope) in built.scopes.iter().enumerate() {
            let parent = if index == 0 { outer } else { Some(first + scope.parent) };
            let prefix = format!("{prefix}{}", scope.prefix);
            self.scopes.push(self.scope(scope, parent, &prefix, mounted)?);
        }
        for entry in &built.entries {
            match entry {
                Entry::Route { scope, verb, pattern, declared, handler } => {
                    let pattern = Pattern::below(&format!("{prefix}{}", built.scopes[*scope].prefix), pattern)?;
                    self.routes.push(Route {
                        verb: verb.clone(),
                        handler: Function::of(handler),
                        declared: declared.clone(),
                        names: pattern.names().map(Into::into).collect(),
                        formats: Formats::of(pattern.suffixes()).map(Rc::new),
                        scope: first + scope,
                    });
                    self.patterns.push(pattern);
                    if self.routes.len() > MOST_ROUTES {
                        return Err(format!("the router has more than {MOST_ROUTES} routes"));
                    }
                }
                Entry::Mount { scope, prefix: own, router } => {
                    let prefix = format!("{prefix}{own}");
                    let mounted = prefix.matches('/').count();
                    self.add(router, &prefix, Some(first + scope), mounted)?;
                }
            }
        }
        drop(built);
        self.routers.push(router.clone());
        Ok(())
    }

    fn scope(
        &self,
        scope: &super::Scope,
        parent: Option<usize>,
        prefix: &str,
        mounted: usize,
    ) -> Result<Scope, String> {
        let around = parent.map(|it| &self.scopes[it]);
        let prefix = if prefix.is_empty() { None } else { Some(Pattern::parse(prefix)?) };
        let depth = prefix.as_ref().map_or(0, Pattern::depth);
        let has_own = depth > around.map_or(0, |it| it.depth);
        let functions = |pointers: &[FnPtr]| pointers.iter().map(Function::of).collect();
        let both = |pointer: &FnPtr| Function::of_two(pointer);
        Ok(Scope {
            chain: around.iter().flat_map(|it| it.chain.iter().copied()).chain([self.scopes.len()]).collect(),
            prefix: prefix.filter(|_| has_own),
            depth,
            mounted,
            before: functions(&scope.before),
            after: scope.after.iter().map(both).collect(),
            not_found: scope.not_found.as_ref().map(Function::of),
            rescue: scope.rescue.as_ref().map(both),
        })
    }
}
