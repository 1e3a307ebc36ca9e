use std::io::Write;
use std::sync::Mutex;

use serde_json::Value;

/// The shim's stdout: one JSON object a line, whole and flushed, whichever thread writes.
pub(crate) struct Lines {
    out: Mutex<Box<dyn Write + Send>>,
}

impl Lines {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Lines { out: Mutex::new(Box::new(out)) }
    }

    /// Put one line out, in a single write. Who listens no more ends stdin too, so that an error is none.
    pub(crate) fn write(&self, line: &Value) {
        let text = format!("{line}\n");
        let mut out = self.out.lock().unwrap();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
