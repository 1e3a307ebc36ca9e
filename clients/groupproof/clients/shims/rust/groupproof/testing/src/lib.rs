//! The conformance cases of groupproof as tests of `cargo test`.
//!
//! A test target with `harness = false` calls [`conformance`] in its `main`. groupproof is asked once for all cases that the filter of
//! `cargo test` leaves; its `junit.xml` says what passed, failed or is ignored, and why.

mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

pub use report::{judged, Judged, Outcome};

const LAST_LINES: usize = 20;

/// Certify the client behind this shim and its arguments, or a registered client by its name, and return what `main` returns.
pub fn conformance(command: &[&str]) -> ExitCode {
    Certify::default().run(command)
}

/// Which cases are run, and how. The default runs all.
pub struct Certify {
    /// Further options of `groupproof certify client`, such as `--expect known.toml`.
    pub options: Vec<String>,
    /// The folder of the report.
    pub output: PathBuf,
    /// The command that runs groupproof: what the environment's `GROUPPROOF` says, else `groupproof`.
    pub program: Vec<String>,
}

impl Default for Certify {
    fn default() -> Self {
        let said = std::env::var("GROUPPROOF").unwrap_or_default();
        let program: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
        let program = if program.is_empty() { vec!["groupproof".to_owned()] } else { program };
        Certify { options: Vec::new(), output: "reports/groupproof".into(), program }
    }
}

impl Certify {
    /// Do what [`conformance`] does.
    pub fn run(&self, command: &[&str]) -> ExitCode {
        let arguments = Arguments::from_args();
        let cases = if arguments.list { self.list() } else { self.certify(command, &arguments) };
        libtest_mimic::run(&arguments, cases.into_iter().map(trial).collect()).exit_code()
    }

    /// The cases that there are, for `cargo test -- --list`.
    fn list(&self) -> Vec<Judged> {
        let listed = self.asked().args(["list", "cases", "--side", "client"]).output().map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
        let lines = listed.unwrap_or_default();
        let ids = lines.lines().filter_map(|line| line.split_whitespace().next()).filter(|id| id.matches('/').count() == 2);
        ids.map(|id| Judged { name: id.to_owned(), outcome: Outcome::Passed }).collect()
    }

    fn certify(&self, command: &[&str], arguments: &Arguments) -> Vec<Judged> {
        let junit = self.output.join("junit.xml");
        let _ = std::fs::remove_file(&junit); // what an earlier run left must not be read for this one's
        let selected = only(arguments);
        let mut certify = self.asked();
        certify.args(["certify", "client", "--output"]).arg(&self.output).args(&self.options).args(&selected);
        if command.len() != 1 || Path::new(command[0]).components().count() > 1 {
            certify.arg("--");
        }
        let done = match certify.args(command).stdin(Stdio::null()).output() {
            Ok(done) => done,
            Err(error) => {
                let said = format!("{} cannot be started: {error}; install groupproof, or say in GROUPPROOF how it is run", self.program[0]);
                return vec![Judged { name: "groupproof".into(), outcome: Outcome::Failed(said) }];
            }
        };
        let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
        let lines: Vec<&str> = said.lines().collect();
        let said = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        judged(&std::fs::read_to_string(junit).unwrap_or_default(), done.status.code(), &said, !selected.is_empty())
    }

    fn asked(&self) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        command
    }
}

/// What the filter of `cargo test` leaves of the cases, as options of groupproof. What is skipped is left to the harness.
fn only(arguments: &Arguments) -> Vec<String> {
    match &arguments.filter {
        Some(filter) if filter.contains('/') && arguments.exact => vec!["--only".into(), filter.clone()],
        Some(filter) if filter != "groupproof" => vec!["--only".into(), format!("*{filter}*")],
        _ => Vec::new(),
    }
}

fn trial(judged: Judged) -> Trial {
    Trial::ignorable_test(judged.name, move || match judged.outcome {
        Outcome::Passed => Ok(Completion::Completed),
        Outcome::Ignored(reason) => Ok(Completion::ignored_with(reason)),
        Outcome::Failed(message) => Err(Failed::from(message)),
    })
}

#[cfg(test)]
mod tests {
    use libtest_mimic::Arguments;

    use super::{only, Certify, Outcome};

    fn filtered(arguments: &[&str]) -> Vec<String> {
        only(&Arguments::from_iter([&["test"], arguments].concat()))
    }

    #[test]
    fn the_filter_chooses_cases() {
        assert_eq!(filtered(&["heartbeat/classic"]), ["--only", "*heartbeat/classic*"]);
        assert_eq!(filtered(&["join/classic/first", "--exact"]), ["--only", "join/classic/first"]);
        assert!(filtered(&[]).is_empty());
    }

    #[test]
    fn without_groupproof_the_failure_says_how_to_get_it() {
        let absent = Certify { program: vec!["/no/such/groupproof".into()], ..Certify::default() };
        let cases = absent.certify(&["./shim"], &Arguments::default());
        assert!(matches!(&cases[..], [only] if matches!(&only.outcome, Outcome::Failed(said) if said.contains("install groupproof"))));
    }

    #[test]
    fn groupproof_is_asked_for_the_shim_behind_hyphens_and_its_words_are_kept() {
        let echo = Certify { program: vec!["echo".into(), "asked:".into()], options: vec!["--seed".into(), "7".into()], output: "none".into() };
        let cases = echo.certify(&["./shim", "argument"], &Arguments::default());
        let Outcome::Failed(said) = &cases[0].outcome else { panic!("there was no report") };
        assert!(said.contains("asked: certify client --output none --seed 7 -- ./shim argument"), "{said}");
        let Outcome::Failed(said) = &echo.certify(&["krafka"], &Arguments::default())[0].outcome else { panic!("there was no report") };
        assert!(said.contains("--seed 7 krafka"), "{said}");
    }
}
