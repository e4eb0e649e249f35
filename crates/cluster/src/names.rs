//! Names of group members: `db` in a group of one, otherwise `db-1`, `db-2` and so on.

use std::collections::BTreeMap;

/// Name of member `number` (from 1) of a group of `count`.
pub(crate) fn member_name(group: &str, count: u32, number: u32) -> String {
    if count == 1 {
        group.to_owned()
    } else {
        format!("{group}-{number}")
    }
}

/// Names of all members of a group, in order of number.
pub fn member_names(group: &str, count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| member_name(group, count, number))
}

/// Every member of every group, with its group's entry: groups in order of name, members in order of number.
pub(crate) fn members<T>(groups: &BTreeMap<String, T>, count: impl Fn(&T) -> u32) -> Vec<(String, &T)> {
    let mut all = Vec::new();
    for (name, group) in groups {
        all.extend(member_names(name, count(group)).map(|member| (member, group)));
    }
    all
}

/// The number of the member of a group of `count` with this name; `None` if there is none.
pub(crate) fn member_number(name: &str, group: &str, count: u32) -> Option<u32> {
    let digits = name.strip_prefix(group)?.strip_prefix('-')?;
    let number: u32 = digits.parse().ok()?;
    let exists = count > 1 && (1..=count).contains(&number) && number.to_string() == digits;
    exists.then_some(number)
}
