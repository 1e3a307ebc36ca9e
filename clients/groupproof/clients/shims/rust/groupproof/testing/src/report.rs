use roxmltree::{Document, Node};

/// A case, or the run as a whole, and what became of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Judged {
    pub name: String,
    pub outcome: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// Unimplemented, a known failure or a preview, and why.
    Ignored(String),
    /// The sentence, and below it the trace and the command that replays it.
    Failed(String),
}

/// Read `junit.xml` of a run that ended with this status and these last words. Where no case failed, and the run did not pass, one of the
/// name `groupproof` fails; that a selection makes no grade (2) is no failure.
pub fn judged(junit: &str, status: Option<i32>, said: &str, is_selection: bool) -> Vec<Judged> {
    let mut cases = match Document::parse(junit) {
        Ok(document) => document.descendants().filter(|node| node.has_tag_name("testcase")).map(case).collect(),
        Err(_) => Vec::new(),
    };
    let has_failed = cases.iter().any(|case: &Judged| matches!(case.outcome, Outcome::Failed(_)));
    let ended = status.map_or("a signal".to_owned(), |code| code.to_string());
    let failure = match status {
        _ if cases.is_empty() => Some(format!("groupproof could judge nothing, and ended with {ended}:\n{said}")),
        Some(0) => None,
        Some(2) if is_selection => None,
        _ if has_failed => None,
        _ => Some(format!("no case failed, and groupproof ended with {ended}:\n{said}")),
    };
    cases.extend(failure.map(|why| Judged { name: "groupproof".into(), outcome: Outcome::Failed(why) }));
    cases
}

fn case(node: Node) -> Judged {
    let name = format!("{}/{}", attribute(node, "classname").replace('.', "/"), attribute(node, "name"));
    let outcome = node.children().find_map(outcome).unwrap_or(Outcome::Passed);
    Judged { name, outcome }
}

fn outcome(node: Node) -> Option<Outcome> {
    let sentence = format!("{}: {}", attribute(node, "type"), attribute(node, "message"));
    match node.tag_name().name() {
        "skipped" => Some(Outcome::Ignored(sentence)),
        "failure" | "error" => Some(Outcome::Failed(format!("{sentence}\n{}", node.text().unwrap_or_default().trim()))),
        _ => None,
    }
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{judged, Outcome};

    const PASSED: &str = r#"<testcase classname="join.classic" name="first"><system-out>OK</system-out></testcase>"#;
    const FAILED: &str =
        "<testcase classname=\"join.classic\" name=\"second\"><failure type=\"FAILED\" message=\"It left.\">\ntrace: a\n</failure></testcase>";
    const BROKEN: &str = r#"<testcase classname="join.classic" name="second"><error type="BROKEN" message="It lied."/></testcase>"#;
    const LACKING: &str = r#"<testcase classname="static.classic" name="first"><skipped type="UNIMPLEMENTED" message="no static"/></testcase>"#;

    fn judge(cases: &[&str], status: i32, is_selection: bool) -> Vec<(String, Outcome)> {
        let junit = format!("<testsuites><testsuite>{}</testsuite></testsuites>", cases.concat());
        judged(&junit, Some(status), "last words", is_selection).into_iter().map(|each| (each.name, each.outcome)).collect()
    }

    #[test]
    fn a_case_is_a_test_with_its_outcome() {
        let found = judge(&[PASSED, FAILED, LACKING], 1, false);
        let failed = Outcome::Failed("FAILED: It left.\ntrace: a".into());
        assert_eq!(found[0], ("join/classic/first".into(), Outcome::Passed));
        assert_eq!(found[1], ("join/classic/second".into(), failed));
        assert_eq!(found[2], ("static/classic/first".into(), Outcome::Ignored("UNIMPLEMENTED: no static".into())));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_broken_shim_fails() {
        assert_eq!(judge(&[BROKEN], 4, false)[0].1, Outcome::Failed("BROKEN: It lied.\n".into()));
    }

    #[test]
    fn a_run_that_did_not_pass_fails_as_a_whole_where_no_case_did() {
        for (cases, status, is_selection, says) in [
            (&[PASSED][..], 2, false, Some("no case failed, and groupproof ended with 2:\nlast words")),
            (&[PASSED], 2, true, None),
            (&[PASSED], 0, false, None),
            (&[PASSED, FAILED], 1, false, None),
            (&[], 4, true, Some("groupproof could judge nothing, and ended with 4:\nlast words")),
        ] {
            let last = judge(cases, status, is_selection).pop().filter(|(name, _)| name == "groupproof");
            assert_eq!(last.map(|(_, outcome)| outcome), says.map(|why| Outcome::Failed(why.into())));
        }
        assert!(matches!(&judged("", None, "", false)[..], [only] if only.name == "groupproof"));
    }
}
