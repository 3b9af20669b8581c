//! The interface version: the one place that states it.

/// Version of the plugin interface, `major.minor.patch`.
///
/// While the major is 0, a host loads a plugin whose minor is equal to or newer than its own; from 1.0 on, any plugin of the same
/// major. New trait methods raise the minor and go below the last prefix field of the ABI; everything else raises the major.
pub const INTERFACE_VERSION: &str = "0.2.0";

/// Parses `major.minor.patch`; a missing part reads as 0.
fn parts(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok());
    let major = numbers.next()??;
    let minor = numbers.next().unwrap_or(Some(0))?;
    Some((major, minor))
}

/// Whether a host that speaks `host` may load a plugin that was built for `plugin`.
pub fn is_compatible(host: &str, plugin: &str) -> bool {
    match (parts(host), parts(plugin)) {
        (Some((0, host_minor)), Some((0, plugin_minor))) => plugin_minor >= host_minor,
        (Some((host_major, _)), Some((plugin_major, _))) => host_major == plugin_major,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_compatible;

    #[test]
    fn an_older_minor_is_refused_while_the_major_is_zero() {
        assert!(is_compatible("0.2.0", "0.2.7"));
        assert!(is_compatible("0.2.0", "0.3.0"));
        assert!(!is_compatible("0.2.0", "0.1.9"));
        assert!(!is_compatible("0.2.0", "1.2.0"));
        assert!(is_compatible("1.4.0", "1.2.0"));
        assert!(!is_compatible("1.4.0", "2.0.0"));
        assert!(!is_compatible("1.0.0", "newest"));
    }
}
