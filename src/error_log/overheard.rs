//! What would go to the error log, for somebody who runs a piece of work and reads along.

use super::event::text;
use super::level;
use super::listener::Listener;

/// Gives `hear` each event of this thread while `work` runs: as the log has it, but for the time.
pub fn overheard<T>(hear: impl Fn(String) + Send + Sync + 'static, work: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(Listener::new(level(), move |event| hear(text(event))), work)
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
