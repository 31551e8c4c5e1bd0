//! Which addresses a name may resolve to: the plainly public ones. Everything else has a class and is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Serialize;

/// What an address is for, as far as a proxy must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressClass {
    /// Reachable on the internet and nothing special: the only class that is dialled.
    Public,
    /// This machine.
    Loopback,
    /// A private network: RFC 1918, unique local, site-local.
    Private,
    /// The local link.
    LinkLocal,
    /// A cloud's instance-metadata or host service, which hands out credentials.
    Metadata,
    /// A carrier's shared space (RFC 6598), which some clouds use inside.
    SharedSpace,
    /// More than one receiver.
    Multicast,
    /// No address at all; many systems read it as this machine.
    Unspecified,
    /// An IPv6 address that carries an IPv4 address and is routed by it (mapped, compatible, NAT64, 6to4, Teredo,
    /// ISATAP): refused whatever it carries, because who routes it is not known here.
    Embedded,
    /// Documentation, benchmarking, protocol assignments, future use.
    Reserved,
}

impl AddressClass {
    /// The class as the request log spells it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Public => "address_public",
            Self::Loopback => "address_loopback",
            Self::Private => "address_private",
            Self::LinkLocal => "address_link_local",
            Self::Metadata => "address_metadata",
            Self::SharedSpace => "address_shared_space",
            Self::Multicast => "address_multicast",
            Self::Unspecified => "address_unspecified",
            Self::Embedded => "address_embedded",
            Self::Reserved => "address_reserved",
        }
    }
}

/// The class of an address. What no table names is [`AddressClass::Reserved`] in IPv6, where the public space is
/// the small part, and [`AddressClass::Public`] in IPv4, where it is the large one.
#[must_use]
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    let bits = u32::from(address);
    V4_TABLE
        .iter()
        .find(|(net, length, _)| prefix_v4(bits, *length) == prefix_v4(u32::from(Ipv4Addr::from(*net)), *length))
        .map_or(AddressClass::Public, |(_, _, class)| *class)
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    let bits = u128::from(address);
    if let Some((_, _, class)) = V6_TABLE
        .iter()
        .find(|(net, length, _)| prefix_v6(bits, *length) == prefix_v6(u128::from(Ipv6Addr::from(*net)), *length))
    {
        return *class;
    }
    // ISATAP writes the IPv4 address behind this interface identifier under any prefix.
    let [_, _, _, _, id_high, id_low, _, _] = address.segments();
    if id_low == 0x5efe && (id_high == 0 || id_high == 0x0200) {
        return AddressClass::Embedded;
    }
    if prefix_v6(bits, 3) == prefix_v6(0x2000_u128 << 112, 3) { AddressClass::Public } else { AddressClass::Reserved }
}

const fn prefix_v4(bits: u32, length: u32) -> u32 {
    match bits.checked_shr(32 - length) {
        Some(prefix) => prefix,
        None => 0,
    }
}

const fn prefix_v6(bits: u128, length: u32) -> u128 {
    match bits.checked_shr(128 - length) {
        Some(prefix) => prefix,
        None => 0,
    }
}

/// The first match wins, so a single address is above the block that holds it.
const V4_TABLE: &[([u8; 4], u32, AddressClass)] = &[
    ([0, 0, 0, 0], 32, AddressClass::Unspecified),
    ([169, 254, 169, 254], 32, AddressClass::Metadata), // most clouds
    ([169, 254, 170, 2], 32, AddressClass::Metadata),   // container credentials
    ([169, 254, 170, 23], 32, AddressClass::Metadata),  // pod identity
    ([100, 100, 100, 200], 32, AddressClass::Metadata), // a cloud that answers in the shared space
    ([192, 0, 0, 192], 32, AddressClass::Metadata),     // a cloud that answers in the protocol block
    ([168, 63, 129, 16], 32, AddressClass::Metadata),   // a cloud's host service at a public address
    ([0, 0, 0, 0], 8, AddressClass::Reserved),
    ([10, 0, 0, 0], 8, AddressClass::Private),
    ([100, 64, 0, 0], 10, AddressClass::SharedSpace),
    ([127, 0, 0, 0], 8, AddressClass::Loopback),
    ([169, 254, 0, 0], 16, AddressClass::LinkLocal),
    ([172, 16, 0, 0], 12, AddressClass::Private),
    ([192, 0, 0, 0], 24, AddressClass::Reserved),
    ([192, 0, 2, 0], 24, AddressClass::Reserved),
    ([192, 31, 196, 0], 24, AddressClass::Reserved),
    ([192, 52, 193, 0], 24, AddressClass::Reserved),
    ([192, 88, 99, 0], 24, AddressClass::Reserved),
    ([192, 168, 0, 0], 16, AddressClass::Private),
    ([192, 175, 48, 0], 24, AddressClass::Reserved),
    ([198, 18, 0, 0], 15, AddressClass::Reserved),
    ([198, 51, 100, 0], 24, AddressClass::Reserved),
    ([203, 0, 113, 0], 24, AddressClass::Reserved),
    ([224, 0, 0, 0], 4, AddressClass::Multicast),
    ([240, 0, 0, 0], 4, AddressClass::Reserved),
];

const V6_TABLE: &[([u16; 8], u32, AddressClass)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, AddressClass::Unspecified),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, AddressClass::Loopback),
    ([0, 0, 0, 0, 0, 0, 0, 0], 80, AddressClass::Embedded), // mapped and compatible
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, AddressClass::Embedded), // translated
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, AddressClass::Embedded), // NAT64
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, AddressClass::Embedded), // local NAT64
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, AddressClass::Embedded), // Teredo
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, AddressClass::Reserved), // protocol assignments
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, AddressClass::Reserved), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, AddressClass::Embedded), // 6to4
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, AddressClass::Reserved), // AS112
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, AddressClass::Reserved), // the old 6bone
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, AddressClass::Reserved), // documentation
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32, AddressClass::Metadata), // a cloud's services, ::254 among them
    ([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, AddressClass::Metadata), // another cloud
    ([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128, AddressClass::Metadata), // a private cloud
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, AddressClass::Private),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, AddressClass::LinkLocal),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, AddressClass::Private), // the old site-local
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, AddressClass::Multicast),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_fires_on_its_edges_and_is_quiet_beside_them() {
        for (address, class) in [
            ("0.0.0.0", AddressClass::Unspecified),
            ("0.0.0.1", AddressClass::Reserved),
            ("0.255.255.255", AddressClass::Reserved),
            ("1.0.0.0", AddressClass::Public),
            ("9.255.255.255", AddressClass::Public),
            ("10.0.0.0", AddressClass::Private),
            ("10.255.255.255", AddressClass::Private),
            ("11.0.0.0", AddressClass::Public),
            ("100.63.255.255", AddressClass::Public),
            ("100.64.0.0", AddressClass::SharedSpace),
            ("100.100.100.200", AddressClass::Metadata),
            ("100.127.255.255", AddressClass::SharedSpace),
            ("100.128.0.0", AddressClass::Public),
            ("126.255.255.255", AddressClass::Public),
            ("127.0.0.1", AddressClass::Loopback),
            ("127.255.255.255", AddressClass::Loopback),
            ("128.0.0.0", AddressClass::Public),
            ("168.63.129.15", AddressClass::Public),
            ("168.63.129.16", AddressClass::Metadata),
            ("169.253.255.255", AddressClass::Public),
            ("169.254.0.1", AddressClass::LinkLocal),
            ("169.254.169.254", AddressClass::Metadata),
            ("169.254.170.2", AddressClass::Metadata),
            ("169.255.0.0", AddressClass::Public),
            ("172.15.255.255", AddressClass::Public),
            ("172.16.0.0", AddressClass::Private),
            ("172.31.255.255", AddressClass::Private),
            ("172.32.0.0", AddressClass::Public),
            ("192.0.0.192", AddressClass::Metadata),
            ("192.0.0.8", AddressClass::Reserved),
            ("192.0.2.1", AddressClass::Reserved),
            ("192.0.3.0", AddressClass::Public),
            ("192.88.99.1", AddressClass::Reserved),
            ("192.167.255.255", AddressClass::Public),
            ("192.168.0.0", AddressClass::Private),
            ("192.168.255.255", AddressClass::Private),
            ("192.169.0.0", AddressClass::Public),
            ("198.17.255.255", AddressClass::Public),
            ("198.18.0.0", AddressClass::Reserved),
            ("198.19.255.255", AddressClass::Reserved),
            ("198.20.0.0", AddressClass::Public),
            ("198.51.100.7", AddressClass::Reserved),
            ("203.0.113.9", AddressClass::Reserved),
            ("223.255.255.255", AddressClass::Public),
            ("224.0.0.1", AddressClass::Multicast),
            ("239.255.255.255", AddressClass::Multicast),
            ("240.0.0.1", AddressClass::Reserved),
            ("255.255.255.255", AddressClass::Reserved),
            ("8.8.8.8", AddressClass::Public),
        ] {
            assert_eq!(classify(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn ipv6_is_refused_unless_it_is_global_unicast() {
        for (address, class) in [
            ("::", AddressClass::Unspecified),
            ("::1", AddressClass::Loopback),
            ("::2", AddressClass::Embedded),
            ("::127.0.0.1", AddressClass::Embedded),
            ("::ffff:127.0.0.1", AddressClass::Embedded),
            ("::ffff:8.8.8.8", AddressClass::Embedded),
            ("::ffff:0:127.0.0.1", AddressClass::Embedded),
            ("64:ff9b::7f00:1", AddressClass::Embedded),
            ("64:ff9b::808:808", AddressClass::Embedded),
            ("64:ff9b:1::a00:1", AddressClass::Embedded),
            ("64:ff9b:2::1", AddressClass::Reserved),
            ("100::1", AddressClass::Reserved),
            ("1fff:ffff::1", AddressClass::Reserved),
            ("2001::1", AddressClass::Embedded),
            ("2001:20::1", AddressClass::Reserved),
            ("2001:1ff:ffff::1", AddressClass::Reserved),
            ("2001:200::1", AddressClass::Public),
            ("2001:db8::1", AddressClass::Reserved),
            ("2001:4860:4860::8888", AddressClass::Public),
            ("2002:7f00:1::1", AddressClass::Embedded),
            ("2002:808:808::1", AddressClass::Embedded),
            ("2003::1", AddressClass::Public),
            ("2606:4700::1111", AddressClass::Public),
            ("2606:4700::5efe:7f00:1", AddressClass::Embedded),
            ("2606:4700::200:5efe:7f00:1", AddressClass::Embedded),
            ("2606:4700::201:5efe:7f00:1", AddressClass::Public),
            ("2620:4f:8000::1", AddressClass::Reserved),
            ("3ffe::1", AddressClass::Reserved),
            ("3fff:0fff::1", AddressClass::Reserved),
            ("3fff:1000::1", AddressClass::Public),
            ("4000::1", AddressClass::Reserved),
            ("fc00::1", AddressClass::Private),
            ("fd00:ec2::254", AddressClass::Metadata),
            ("fd00:ec3::254", AddressClass::Private),
            ("fd20:ce::254", AddressClass::Metadata),
            ("fdff:ffff::1", AddressClass::Private),
            ("fe80::1", AddressClass::LinkLocal),
            ("fe80::a9fe:a9fe", AddressClass::Metadata),
            ("febf::1", AddressClass::LinkLocal),
            ("fec0::1", AddressClass::Private),
            ("ff02::1", AddressClass::Multicast),
            ("5f00::1", AddressClass::Reserved),
        ] {
            assert_eq!(classify(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn the_standard_library_never_calls_a_public_address_special() {
        let step = 65_521_u32;
        for start in (0..u32::MAX).step_by(step as usize) {
            let v4 = Ipv4Addr::from(start);
            let special = v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.is_documentation()
                || v4.is_unspecified();
            assert!(!(special && classify(IpAddr::V4(v4)) == AddressClass::Public), "{v4}");
        }
    }
}
