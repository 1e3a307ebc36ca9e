/// The release of a crate in a `Cargo.lock`; "+patched" says that its sources were put in place of the registry's.
///
/// A shim includes the lock file that it is built with, so that `hello` names what is in the program.
pub fn release_in(lock: &str, name: &str) -> String {
    let field = |package: &str, field: &str| {
        let begin = format!("{field} = \"");
        package.lines().find_map(|line| line.strip_prefix(&begin)?.strip_suffix('"').map(str::to_owned))
    };
    let found = lock.split("[[package]]").find(|package| field(package, "name").as_deref() == Some(name));
    let Some(package) = found else { return "unknown".into() };
    let release = field(package, "version").unwrap_or_else(|| "unknown".into());
    if field(package, "source").is_some() {
        release
    } else {
        release + "+patched"
    }
}

#[cfg(test)]
mod tests {
    use super::release_in;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"client-sys\"\nversion = \"9.9.9\"\nsource = \"registry\"\n\n\
                        [[package]]\nname = \"client\"\nversion = \"1.2.3\"\nsource = \"registry\"\n\n[[package]]\nname = \"here\"\nversion = \"1.0.0\"\n";

    #[test]
    fn the_release_is_that_of_the_lock_file() {
        assert_eq!(release_in(LOCK, "client"), "1.2.3");
    }

    #[test]
    fn sources_of_ones_own_are_told() {
        assert_eq!(release_in(LOCK, "here"), "1.0.0+patched");
    }

    #[test]
    fn a_crate_that_is_not_there_is_unknown() {
        assert_eq!(release_in(LOCK, "another"), "unknown");
    }
}
