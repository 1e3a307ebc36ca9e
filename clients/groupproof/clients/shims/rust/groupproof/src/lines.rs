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

/// What a shim has written, for tests.
#[cfg(test)]
pub(crate) mod written {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    #[derive(Clone, Default)]
    pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        pub(crate) fn lines(&self) -> Vec<Value> {
            let bytes = self.0.lock().unwrap().clone();
            String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        }
    }
}
