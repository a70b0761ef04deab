//! What would go to the error log, for somebody who runs a piece of work and reads along.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::event::text;
use super::level;

/// Gives `hear` each event of this thread while `work` runs: as the log has it, but for the time.
pub fn overheard<T>(hear: impl Fn(String) + Send + Sync + 'static, work: impl FnOnce() -> T) -> T {
    let listener = Listener { level: level().unwrap_or(LevelFilter::INFO), hear };
    tracing::subscriber::with_default(listener, work)
}

struct Listener<F> {
    level: LevelFilter,
    hear: F,
}

impl<F: Fn(String) + Send + Sync + 'static> Subscriber for Listener<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        (self.hear)(text(event));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn an_event_is_heard_as_the_log_has_it_without_its_time() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = {
            let heard = heard.clone();
            move |text| heard.lock().unwrap().push(text)
        };
        assert_eq!(
            overheard(hear, || {
                tracing::error!(request = 7, "it broke\nat a place");
                3
            }),
            3
        );
        tracing::error!("unheard");
        assert_eq!(*heard.lock().unwrap(), ["ERROR it broke request=7\n  at a place"]);
    }
}
