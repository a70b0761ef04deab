//! File systems where others can change a file without this system hearing of it.

use std::path::Path;

use nix::sys::statfs::statfs;

/// By the magic numbers of Linux (statfs(2)).
const REMOTE: [(u32, &str); 13] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x0bd0_0bd0, "Lustre"),
    (0x7375_7245, "Coda"),
    (0x786f_4256, "vboxsf"),
    (0x0116_1970, "GFS2"),
];

/// The name of the file system that a folder is on, if it is such a one.
pub(super) fn file_system(folder: &Path) -> Option<&'static str> {
    #[allow(clippy::useless_conversion, reason = "it has 32 bits elsewhere")]
    let kind = i64::from(statfs(folder).ok()?.filesystem_type().0);
    named(u32::try_from(kind & 0xffff_ffff).ok()?)
}

fn named(kind: u32) -> Option<&'static str> {
    REMOTE.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_of_this_machine_is_none() {
        assert_eq!(file_system(Path::new("/proc")), None);
        assert_eq!(file_system(Path::new("/no/such/folder")), None);
        assert_eq!((named(0x6969), named(0xfe53_4d42), named(0xef53)), (Some("NFS"), Some("SMB"), None));
    }
}
