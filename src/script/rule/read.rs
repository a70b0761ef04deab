//! A rule from what a script declares: a type's name, or a map.

use rhai::{Dynamic, ImmutableString, Map};

use super::pattern::Pattern;
use super::{Kind, Rule, Unfit, alternatives, shown};
use crate::directive::suggest;

/// What a declaration may say, sorted.
const KEYS: [&str; 13] = [
    "default",
    "empty_is_absent",
    "max",
    "max_items",
    "max_length",
    "min",
    "min_items",
    "min_length",
    "pattern",
    "required",
    "summary",
    "type",
    "values",
];

impl Rule {
    /// Reads `"int"`, `"int[]"`, or a map such as `#{type: "int", min: 1, "default": 1}`, in which the
    /// type may be left out: a text.
    ///
    /// # Errors
    /// If it says what there is not, or what can't be true together.
    pub fn of(declared: &Dynamic) -> Result<Rule, String> {
        if let Ok(name) = declared.as_immutable_string_ref() {
            let (kind, is_list) = typed(&name)?;
            return Ok(Rule::plain(kind, is_list));
        }
        let Ok(map) = declared.as_map_ref() else {
            let shown = shown(declared);
            return Err(format!("a parameter is declared as `{shown}`, expected a type such as `\"int\"` or a map"));
        };
        let (kind, is_list) = match map.get("type") {
            None => (Kind::String, false),
            Some(value) => typed(&text("type", value)?)?,
        };
        Rule::plain(kind, is_list).with(&map)
    }

    /// The rule of a list whose items are declared, or the list itself.
    ///
    /// # Errors
    /// As [`Rule::of`].
    pub fn list(mut declared: Dynamic) -> Result<Rule, String> {
        let listed = |name: &str| if name.ends_with("[]") { name.into() } else { format!("{name}[]") };
        if let Ok(mut map) = declared.as_map_mut() {
            let kind = map.get("type").map_or_else(|| Ok("string".into()), |kind| text("type", kind))?;
            map.insert("type".into(), listed(&kind).into());
        } else if let Ok(kind) = declared.as_immutable_string_ref().map(|it| it.clone()) {
            declared = listed(&kind).into();
        }
        Rule::of(&declared)
    }

    /// The same type with what `map` says beside it.
    ///
    /// # Errors
    /// If it says what there is not, or what can't be true together.
    pub fn with(mut self, map: &Map) -> Result<Rule, String> {
        for (key, value) in map {
            match key.as_str() {
                "default" | "type" => {}
                "empty_is_absent" => self.empty_is_absent = switch(key, value)?,
                "required" => self.is_required = switch(key, value)?,
                "min" => self.min = Some(self.bound(key, value)?),
                "max" => self.max = Some(self.bound(key, value)?),
                "min_length" => self.length.min = Some(self.length(key, value)?),
                "max_length" => self.length.max = Some(self.length(key, value)?),
                "min_items" => self.items.min = Some(self.count(key, value)?),
                "max_items" => self.items.max = Some(self.count(key, value)?),
                "values" => self.values = self.enumeration(value)?,
                "pattern" => self.pattern = Some(self.pattern(value)?),
                "summary" => self.summary = Some(text(key, value)?),
                unknown => return Err(unknown_key(unknown)),
            }
        }
        self.is_possible()?;
        if let Some(default) = map.get("default") {
            self.is_required = false;
            // `()` says that there may be none.
            self.default = Some(if default.is_unit() { Dynamic::UNIT } else { self.checked_default(default)? });
        }
        Ok(self)
    }

    fn checked_default(&self, default: &Dynamic) -> Result<Dynamic, String> {
        self.check("default", default).map_err(|unfit| match unfit {
            Unfit::Told(message) => message,
            Unfit::Stopped(_) => format!("`default` is `{}`, which is too long to be checked here", shown(default)),
        })
    }

    fn bound(&self, key: &str, value: &Dynamic) -> Result<Dynamic, String> {
        if !self.kind.is_ordered() {
            return Err(self.misplaced(key, "numbers and dates", "`min_length` and `max_length` are for texts"));
        }
        self.kind.read(value).ok_or_else(|| misfit(key, value, self.kind.expected()))
    }

    fn length(&self, key: &str, value: &Dynamic) -> Result<usize, String> {
        if self.kind != Kind::String {
            return Err(self.misplaced(key, "texts", "`min` and `max` are for numbers and dates"));
        }
        number(key, value)
    }

    fn count(&self, key: &str, value: &Dynamic) -> Result<usize, String> {
        if !self.is_list {
            let hint = format!("a list is declared as `type: \"{}[]\"`", self.kind.name());
            return Err(self.misplaced(key, "lists", &hint));
        }
        number(key, value)
    }

    fn enumeration(&self, value: &Dynamic) -> Result<Vec<Dynamic>, String> {
        let Some(values) = value.as_array_ref().ok().filter(|it| !it.is_empty()) else {
            return Err(misfit("values", value, "a list such as `[\"name\", \"id\"]`"));
        };
        let read = |it| self.kind.read(it).ok_or_else(|| misfit("values", it, self.kind.expected()));
        values.iter().map(read).collect()
    }

    fn pattern(&self, value: &Dynamic) -> Result<Pattern, String> {
        if self.kind != Kind::String {
            return Err(self.misplaced("pattern", "texts", "dates and numbers have a form of their own"));
        }
        Pattern::new(&text("pattern", value)?)
    }

    fn misplaced(&self, key: &str, whose: &str, hint: &str) -> String {
        format!("`{key}` is for {whose}, this is a `{}`\nhint: {hint}", self.type_name())
    }

    fn is_possible(&self) -> Result<(), String> {
        let is_inverted = match (&self.min, &self.max) {
            (Some(min), Some(max)) => self.kind.compare(min, max).is_gt(),
            _ => false,
        };
        let pairs = [
            ("min", "max", is_inverted),
            ("min_length", "max_length", self.length.min > self.length.max.or(self.length.min)),
            ("min_items", "max_items", self.items.min > self.items.max.or(self.items.min)),
        ];
        match pairs.iter().find(|(.., is_inverted)| *is_inverted) {
            Some((min, max, _)) => Err(format!("`{min}` is greater than `{max}`, so that nothing could fit")),
            None => Ok(()),
        }
    }

    /// How a script writes the type: `int`, `int[]`.
    pub fn type_name(&self) -> String {
        format!("{}{}", self.kind.name(), if self.is_list { "[]" } else { "" })
    }
}

fn typed(name: &str) -> Result<(Kind, bool), String> {
    let (plain, is_list) = name.strip_suffix("[]").map_or((name, false), |plain| (plain, true));
    Kind::ALL.into_iter().find(|kind| kind.name() == plain).map(|kind| (kind, is_list)).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name);
        let hint = suggest(plain, names).map_or_else(
            || "a list is written with `[]` behind the type of its items: `\"int[]\"`".to_owned(),
            |near| format!("did you mean `\"{near}{}\"`?", if is_list { "[]" } else { "" }),
        );
        let names: Vec<Dynamic> = names.into_iter().map(Into::into).collect();
        format!("`type` is `{name}`, expected {}\nhint: {hint}", alternatives(&names))
    })
}

fn unknown_key(key: &str) -> String {
    let hint = suggest(key, KEYS).map_or_else(
        || {
            let keys: Vec<Dynamic> = KEYS.into_iter().map(Into::into).collect();
            format!("it may have {}", alternatives(&keys))
        },
        |near| format!("did you mean `{near}`?"),
    );
    format!("a parameter's declaration has no `{key}`\nhint: {hint}")
}

fn misfit(key: &str, value: &Dynamic, expected: &str) -> String {
    format!("`{key}` is `{}`, expected {expected}", shown(value))
}

fn text(key: &str, value: &Dynamic) -> Result<ImmutableString, String> {
    value.as_immutable_string_ref().map(|it| it.clone()).map_err(|_| misfit(key, value, "a text"))
}

fn switch(key: &str, value: &Dynamic) -> Result<bool, String> {
    value.as_bool().map_err(|_| misfit(key, value, "`true` or `false`"))
}

fn number(key: &str, value: &Dynamic) -> Result<usize, String> {
    let number = value.as_int().ok().and_then(|it| usize::try_from(it).ok());
    number.ok_or_else(|| misfit(key, value, "an integer of at least 0"))
}
