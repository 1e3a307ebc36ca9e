use std::sync::{Condvar, Mutex};

/// Holds an application back while it is paused. It goes through with each poll, or with the records that a handler was given.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_shut: bool,
    is_removed: bool, // the member closes: nobody is held back any more
    through: usize,
}

impl Gate {
    /// Make those who come wait, and wait for those who are through to be done: once it returns, nothing more is read.
    pub fn shut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_shut = true;
        while state.through > 0 {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// As `shut`, for one who is through himself and must not wait for himself.
    pub fn shut_behind(&self) {
        self.state.lock().unwrap().is_shut = true;
    }

    /// Let those who wait, and those who come, through.
    pub fn open(&self) {
        self.state.lock().unwrap().is_shut = false;
        self.changed.notify_all();
    }

    /// Let nobody wait any more, and nobody through: `pass` returns false from now on.
    pub fn remove(&self) {
        self.state.lock().unwrap().is_removed = true;
        self.changed.notify_all();
    }

    /// Wait for the gate to be open, do something in it, and return true; or false, when it was removed first.
    pub fn pass(&self, act: impl FnOnce()) -> bool {
        let mut state = self.state.lock().unwrap();
        while state.is_shut && !state.is_removed {
            state = self.changed.wait(state).unwrap();
        }
        if state.is_removed {
            return false;
        }
        state.through += 1;
        drop(state);
        let _leaving = Leaving(self);
        act();
        true
    }
}

/// Counts one out of the gate, whichever way the act ended.
struct Leaving<'a>(&'a Gate);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap().through -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::Arc;

    use super::Gate;

    #[test]
    fn an_open_gate_lets_through() {
        let mut passed = false;
        assert!(Gate::default().pass(|| passed = true));
        assert!(passed);
    }

    #[test]
    fn a_shut_gate_holds_back_until_it_is_opened() {
        let gate = Arc::new(Gate::default());
        gate.shut();
        let (told, tells) = channel();
        let held = std::thread::spawn({
            let gate = gate.clone();
            move || gate.pass(|| told.send("through").unwrap())
        });
        assert!(tells.try_recv().is_err());
        gate.open();
        assert_eq!(tells.recv(), Ok("through"));
        assert!(held.join().unwrap());
    }

    #[test]
    fn shutting_waits_for_who_is_through() {
        let gate = Arc::new(Gate::default());
        let (enter, entered) = channel();
        let (leave, left) = channel::<()>();
        let (told, tells) = channel();
        let through = std::thread::spawn({
            let (gate, told) = (gate.clone(), told.clone());
            move || {
                gate.pass(|| {
                    enter.send(()).unwrap();
                    left.recv().unwrap();
                    told.send("read").unwrap();
                })
            }
        });
        entered.recv().unwrap();
        let shutting = std::thread::spawn({
            let gate = gate.clone();
            move || {
                gate.shut();
                told.send("shut").unwrap();
            }
        });
        leave.send(()).unwrap();
        assert_eq!((tells.recv(), tells.recv()), (Ok("read"), Ok("shut")));
        through.join().unwrap();
        shutting.join().unwrap();
    }

    #[test]
    fn who_shuts_the_gate_behind_himself_does_not_wait_for_himself() {
        let gate = Gate::default();
        assert!(gate.pass(|| gate.shut_behind()));
        gate.remove();
        assert!(!gate.pass(|| unreachable!()));
    }

    #[test]
    fn a_gate_that_is_removed_lets_nobody_through_and_nobody_wait() {
        let gate = Gate::default();
        gate.shut();
        gate.remove();
        assert!(!gate.pass(|| unreachable!()));
    }
}
