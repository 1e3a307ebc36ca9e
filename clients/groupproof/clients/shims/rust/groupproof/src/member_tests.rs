//! What a member reports, and when a record waits.

use std::sync::Arc;
use std::time::Duration;

use super::{Member, Partition};
use crate::lines::written::Written;
use crate::lines::Lines;
use crate::{Batch, Offsets, Problem};

fn member(overtakes: Duration) -> (Arc<Member>, Written) {
    let written = Written::default();
    let mut member = Member::new(Lines::new(written.clone()), |_| None);
    member.overtakes = overtakes;
    (Arc::new(member), written)
}

fn t(number: i32) -> Partition {
    ("t".into(), number)
}

fn names(written: &Written) -> Vec<String> {
    written.lines().iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_record_waits_for_the_news_that_its_partition_is_assigned() {
    let (member, written) = member(Duration::from_secs(3600));
    let handled = std::thread::spawn({
        let member = member.clone();
        move || member.handle("t", 1, 7)
    });
    member.assigned(&[t(0)], None);
    member.assigned(&[t(1)], None);
    assert!(handled.join().unwrap());
    assert_eq!(names(&written), ["partitions_assigned", "callback_done", "partitions_assigned", "callback_done", "records_consumed"]);
    assert_eq!(member.positions(), Offsets::from([(t(1), 8)]));
}

#[test]
fn a_record_waits_no_longer_than_the_member_is_open() {
    let (member, written) = member(Duration::from_secs(3600));
    let handled = std::thread::spawn({
        let member = member.clone();
        move || member.handle("t", 1, 7)
    });
    member.close();
    assert!(!handled.join().unwrap());
    assert!(written.lines().is_empty());
}

#[test]
fn a_record_of_a_partition_that_is_not_assigned_is_reported_in_the_end() {
    let (member, written) = member(Duration::ZERO);
    assert!(member.handle("t", 0, 7) && member.handle("t", 0, 8));
    assert_eq!(names(&written), ["records_consumed", "records_consumed"]);
    assert!(member.positions().is_empty());
}

#[test]
fn what_is_given_back_is_committed_as_the_plan_asks() {
    let (member, written) = member(Duration::ZERO);
    member.plan(false, Duration::ZERO, serde_json::json!({"commit": true}));
    member.assigned(&[t(0), t(1)], None);
    member.consumed(&Batch::from_iter([("t", 0, 4), ("t", 0, 5)]));
    member.give_back(&[t(0)], None, |offsets| {
        assert_eq!(offsets, &Offsets::from([(t(0), 6)]));
        Err(Problem::coded(27, "not now"))
    });
    assert_eq!(names(&written)[3..], ["partitions_revoked", "offsets_committed", "callback_done"]);
    assert_eq!(written.lines()[4]["error"], "REBALANCE_IN_PROGRESS");
    assert_eq!((member.owned(), member.positions()), (vec![t(1)], Offsets::new()));
    member.give_back(&[t(1)], None, |_| unreachable!("nothing was read"));
}
