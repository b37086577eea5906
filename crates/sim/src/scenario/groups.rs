//! Groups of links: `count` in `[[links]]`, and steps such as `"home/*"` of paths over them.
//!
//! A link of `count = 3` named `home` is three links: `home/1`, `home/2`, and `home/3`. Member i of a flow group, from 1 on, takes link
//! number ((i - 1) mod n) + 1 of a group of n links.

use super::problem::{Problem, quoted};
use super::reader::Reader;
use super::{FlowGroup, Link, Value};

/// Name of member `number` of a group of links.
pub fn member(group: &str, number: u64) -> String {
    format!("{group}/{number}")
}

/// Group that a step of a path names, as in `home/*`.
pub fn group(step: &str) -> Option<&str> {
    step.strip_suffix("/*").filter(|group| !group.is_empty())
}

/// Paths of the members of a flow group whose first member takes `path`, each with the number of members that take it.
pub fn paths(reader: &Reader, path: &[usize], links: &[Link], members: u32) -> Result<Vec<(Vec<usize>, u32)>, Problem> {
    let steps: Vec<(usize, usize)> = sizes(reader, path, links);
    let period = steps.iter().fold(1, |period, &(_, size)| lcm(period, size as u64)).min(members.into());
    let of_member = |number: u64| {
        let path: Vec<usize> = steps.iter().map(|&(first, size)| first + (number % size as u64) as usize).collect();
        if let Some(link) = (1..path.len()).find(|&place| path[..place].contains(&path[place])).map(|place| path[place])
        {
            let name = quoted(&links[link].name);
            return Err(reader
                .problem("path", format!("must cross each link once, got {name} twice for member {}", number + 1)));
        }
        Ok((path, (u64::from(members) - number).div_ceil(period) as u32))
    };
    (0..period).map(of_member).collect()
}

/// First link and number of links of each step of a path.
fn sizes(reader: &Reader, path: &[usize], links: &[Link]) -> Vec<(usize, usize)> {
    let steps = reader.value("path").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let size = |(place, &first): (usize, &usize)| {
        let is_a_link = |name: &str| links[first].name == name;
        let step = steps.get(place).and_then(Value::as_str).filter(|step| !is_a_link(step));
        let Some(group) = step.and_then(group) else { return (first, 1) };
        let of_group = |(link, number): &(&Link, u64)| link.name == member(group, *number);
        (first, links[first..].iter().zip(1..).take_while(of_group).count())
    };
    path.iter().enumerate().map(size).collect()
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

/// Index in the file of the link with this index.
pub fn written_link(links: &[Link], index: usize) -> usize {
    (1..=index).filter(|&place| !follows(&links[place - 1].name, &links[place].name)).count()
}

/// Whether the second name is that of the next link of the group of the first one.
pub fn follows(before: &str, name: &str) -> bool {
    let parts = |name: &str| {
        let (group, number) = name.rsplit_once('/')?;
        Some((group.len(), number.parse::<u64>().ok()?))
    };
    match (parts(before), parts(name)) {
        (Some((length, number)), Some((other, next))) => {
            (length, number + 1) == (other, next) && before[..length] == name[..length]
        }
        _ => false,
    }
}

/// Whether the second group of flows continues the first one over the next links of groups of links.
pub fn continues(links: &[Link], before: &FlowGroup, group: &FlowGroup) -> bool {
    let (path, other) = (&before.tcp.path, &group.tcp.path);
    let next = |(&a, &b): (&usize, &usize)| a == b || stem(&links[a].name) == stem(&links[b].name);
    if path == other || path.len() != other.len() || !path.iter().zip(other).all(next) {
        return false;
    }
    let mut alike = group.clone();
    alike.tcp.path.clone_from(path);
    alike.count = before.count;
    alike == *before
}

/// Group of a link; `None` for a link that is in no group.
fn stem(name: &str) -> Option<&str> {
    name.rsplit_once('/').filter(|(_, number)| number.parse::<u64>().is_ok()).map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members_follow_one_another() {
        assert!(follows("home/9", "home/10") && follows("a/b/1", "a/b/2"));
        assert!(!follows("home/1", "home/3") && !follows("home/1", "house/2") && !follows("home", "home/1"));
        assert_eq!([lcm(4, 6), lcm(1, 7), lcm(300, 300)], [12, 7, 300]);
    }
}
