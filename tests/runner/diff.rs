//! Two texts beside each other, for somebody who wants to see where they part.

/// The lines of both texts in order: `-` before what was expected, `+` before what came.
pub fn diff(expected: &str, got: &str) -> String {
    let (left, right): (Vec<&str>, Vec<&str>) = (expected.split('\n').collect(), got.split('\n').collect());
    // Length of the longest common part of what follows each pair of lines.
    let mut common = vec![vec![0_u32; right.len() + 1]; left.len() + 1];
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            common[i][j] = if a == b { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < left.len() || j < right.len() {
        if i < left.len() && j < right.len() && left[i] == right[j] {
            lines.push(format!("    {}", shorten(left[i], 0)));
            (i, j) = (i + 1, j + 1);
        } else if i < left.len() && (j == right.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(format!("  - {}", shorten(left[i], parting(left[i], right.get(j)))));
            i += 1;
        } else {
            lines.push(format!("  + {}", shorten(right[j], parting(right[j], left.get(i.saturating_sub(1))))));
            j += 1;
        }
    }
    lines.join("\n")
}

/// How many characters two lines have in common at their beginning.
fn parting(line: &str, other: Option<&&str>) -> usize {
    other.map_or(0, |other| line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count())
}

/// A long line as what stands around character `at`.
fn shorten(line: &str, at: usize) -> String {
    const WIDTH: usize = 400;
    let length = line.chars().count();
    if length <= WIDTH {
        return line.escape_debug().collect::<String>().replace("\\\"", "\"").replace("\\'", "'");
    }
    let start = at.saturating_sub(WIDTH / 2).min(length - WIDTH);
    let part: String = line.chars().skip(start).take(WIDTH).collect();
    format!("…{part}… ({length} characters, from {start})")
}
