package webhook

import (
	"fmt"
	"net/netip"
)

// refusePrivate returns an error for an address that is not a public one. The dialer calls it with the address that it
// connects to, whatever name resolved to it.
func refusePrivate(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := at.Addr().Unmap(); !public(ip) {
		return fmt.Errorf("%s is not a public address; a worker with --webhook-private may use it", ip)
	}
	return nil
}

// public reports whether an address is global unicast and has no special purpose.
func public(ip netip.Addr) bool {
	if ip.Zone() != "" || ip.Is6() && !unicast6.Contains(ip) {
		return false
	}
	for _, special := range special {
		if special.Contains(ip) {
			return false
		}
	}
	return true
}

// unicast6 is the range that IANA assigns to IPv6 global unicast. Local addresses and those that contain an IPv4
// address (mapped, compatible and NAT64) are outside it.
var unicast6 = netip.MustParsePrefix("2000::/3")

// special are the networks in IANA's registries of special-purpose addresses, and multicast.
// https://www.iana.org/assignments/iana-ipv4-special-registry
// https://www.iana.org/assignments/iana-ipv6-special-registry
var special = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // shared among the customers of a provider
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, with the metadata of clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // IETF protocol assignments
	"192.0.2.0/24",    // documentation
	"192.31.196.0/24", // AS112
	"192.52.193.0/24", // AMT
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"192.175.48.0/24", // AS112
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast

	"2001::/23",         // IETF protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, drones
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4
	"2620:4f:8000::/48", // AS112
	"3ffe::/16",         // 6bone, given back
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
