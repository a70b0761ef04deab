//! The directive of `store::`.

use crate::directive::{self, Directive, Level, Repeat};

/// How much the store may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of keys and values, with what is kept beside each. Default: 64 MiB.
    pub max_memory: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_memory: 64 << 20 }
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "store.max-memory",
        levels: &[Level::Global],
        repeat: Repeat::Once,
        summary: "The memory that `store::` may take, over all workers. When it is full, values whose time is over go \
                  first, then those that were not used for the longest time. Default: `64 MiB`.",
        example: "store.max-memory: 256 MiB",
        apply: |settings, value| {
            let expected = "a size from `64 KiB` on, such as `64 MiB`";
            settings.max_memory = usize::try_from(value.size()?).unwrap_or(usize::MAX);
            if settings.max_memory < 64 << 10 {
                return Err(value.expected(expected).into());
            }
            Ok(())
        },
    }];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    #[test]
    fn the_memory_can_be_set_but_not_to_nothing() {
        let settings = apply(Settings::default(), "store.max-memory: 1 MiB").unwrap();
        assert_eq!(settings.max_memory, 1 << 20);
        let expected = "host.yaml:1:19: `store.max-memory` is `1 kB`, expected a size from `64 KiB` on, such as `64 MiB`\n  \
                        1 | store.max-memory: 1 kB\n    |                   ^^^^";
        assert_eq!(apply(Settings::default(), "store.max-memory: 1 kB"), Err(expected.into()));
    }
}
