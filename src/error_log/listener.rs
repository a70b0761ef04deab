//! Who is told of the events of the process, or of a thread; what becomes of them is not known here.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Hears events; spans, which rhaid does not use, cost nothing and say nothing.
///
/// The registry of tracing-subscriber keeps books on spans that nobody would read.
pub(super) struct Listener<F> {
    level: LevelFilter,
    hear: F,
}

impl<F: Fn(&Event<'_>) + Send + Sync + 'static> Listener<F> {
    /// Hears events from `level` on, or from `info` where there is none.
    pub(super) fn new(level: Option<LevelFilter>, hear: F) -> Listener<F> {
        Listener { level: level.unwrap_or(LevelFilter::INFO), hear }
    }
}

impl<F: Fn(&Event<'_>) + Send + Sync + 'static> Subscriber for Listener<F> {
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
        (self.hear)(event);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
