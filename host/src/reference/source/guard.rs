//! Which addresses may be connected to.
//!
//! Only what is reached over the public internet: a server that fetches what strangers name must not become their way into the network it
//! stands in. The lists are the IANA special-purpose registries for IPv4 and IPv6. An IPv6 address that carries an IPv4 one is as good as
//! what it carries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not public: first address, bits, and what they are.
const V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier-grade NAT"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "AMT"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 3, "multicast or reserved"),
];

/// Blocks inside the global unicast space of IPv6 (2000::/3) that are not public; nothing outside of it is.
const V6: [(Ipv6Addr, u32, &str); 5] = [
    // 2001::/23 holds Teredo, benchmarking, ORCHID and other protocols.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "6bone"),
];

/// Prefixes of IPv6 addresses that carry an IPv4 address, and the bit at which it begins.
const CARRIERS: [(Ipv6Addr, u32, u32); 5] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 96),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, 96),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 96, 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, 96),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 16),
];

/// What an address is that may not be connected to; nothing for one that may.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let holds = |(first, len, _): &&(Ipv4Addr, u32, &str)| (bits ^ u32::from(*first)) >> (32 - len) == 0;
    V4.iter().find(holds).map(|(.., what)| *what)
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let within = |first: &Ipv6Addr, len: u32| (bits ^ u128::from(*first)) >> (128 - len) == 0;
    // Unspecified and loopback also look like IPv4 addresses in the compatible form, 0.0.0.0 and 0.0.0.1, which are refused as well.
    if let Some((.., at)) = CARRIERS.iter().find(|(first, len, _)| within(first, *len)) {
        return refusal_v4(Ipv4Addr::from((bits >> (96 - at)) as u32));
    }
    if !within(&Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3) {
        return Some("not global unicast");
    }
    V6.iter().find(|(first, len, _)| within(first, *len)).map(|(.., what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_refused(address: &str) -> bool {
        refusal(address.parse().expect("an address")).is_some()
    }

    #[test]
    fn public_addresses_are_let_through() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "172.15.255.255",
            "172.32.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "192.0.1.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:4860:4860::8888",
        ] {
            assert!(!is_refused(address), "{address}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001::1",
            "2001:0:53aa:64c::1",
            "2001:db8::1",
            "2001:2::1",
            "3fff::1",
            "3ffe::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
            "4000::1",
            "8000::1",
        ] {
            assert!(is_refused(address), "{address}");
        }
    }

    /// The guard's decision by another road: the standard library's, and the registries that it does not know.
    fn is_special(address: Ipv4Addr) -> bool {
        let [a, b, c, _] = address.octets();
        address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_documentation()
            || a == 0
            || a >= 240
            || (a == 100 && (64..128).contains(&b))
            || (a == 198 && (b == 18 || b == 19))
            || matches!((a, b, c), (192, 0, 0) | (192, 88, 99) | (192, 31, 196) | (192, 52, 193) | (192, 175, 48))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn ipv4_agrees_with_another_reading_of_the_registry(bits in prop_oneof![any::<u32>(), (0_u32..256, any::<u32>()).prop_map(|(top, low)| {
            // Half of the draws lie where the special blocks are.
            [10 << 24, 100 << 24, 127 << 24, 169 << 24, 172 << 24, 192 << 24, 198 << 24, 203 << 24][top as usize % 8] | (low & 0x00FF_FFFF)
        })]) {
            let address = Ipv4Addr::from(bits);
            prop_assert_eq!(refusal(address.into()).is_some(), is_special(address), "{}", address);
        }

        #[test]
        fn an_ipv6_address_is_as_good_as_the_ipv4_address_it_carries(bits: u32, low: u128) {
            let inner = refusal(Ipv4Addr::from(bits).into()).is_some();
            let wide = u128::from(bits);
            for carrier in [wide, 0xFFFF << 32 | wide, 0xFFFF << 48 | wide, 0x64_ff9b << 96 | wide, 0x2002 << 112 | wide << 80 | low >> 48] {
                let address = Ipv6Addr::from(carrier);
                prop_assert_eq!(refusal(address.into()).is_some(), inner, "{}", address);
            }
        }

        #[test]
        fn nothing_outside_global_unicast_passes_but_carriers_of_public_addresses(bits: u128) {
            let address = Ipv6Addr::from(bits);
            if refusal(address.into()).is_none() {
                prop_assert!(bits >> 125 == 1 || CARRIERS.iter().any(|(first, len, _)| (bits ^ u128::from(*first)) >> (128 - len) == 0));
                prop_assert!(!address.is_loopback() && !address.is_multicast() && !address.is_unique_local() && !address.is_unicast_link_local());
            }
        }
    }
}
