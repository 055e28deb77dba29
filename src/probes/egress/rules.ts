import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { hostNetwork, type IpNetwork, isIpv6, parseAddress } from './address.ts';

/** One entry of `EGRESS_ALLOW` or `EGRESS_DENY`: networks, or a pattern for host names in lower case. */
export type EgressRule =
  | { readonly text: string; readonly networks: readonly IpNetwork[] }
  | { readonly text: string; readonly hostPattern: string };

const everywhere = ['0.0.0.0/0', '::/0'].map((text) => ipaddr.parseCIDR(text));

/** What a list of rules says, and what in it cannot be understood: a sentence for each entry. */
export function parseEgressRules(list: string): {
  readonly rules: readonly EgressRule[];
  readonly problems: readonly string[];
} {
  const rules: EgressRule[] = [];
  const problems: string[] = [];
  for (const text of list.split(',').map((entry) => entry.trim())) {
    if (text === '') continue;
    const rule = parseRule(text);
    if (typeof rule === 'string') problems.push(`${JSON.stringify(text)} ${rule}`);
    else rules.push(rule);
  }
  return { rules, problems };
}

function parseRule(text: string): EgressRule | string {
  if (text === '*') return { text, networks: everywhere };
  const [start = '', prefix, ...rest] = text.split('/');
  if (prefix !== undefined) {
    // Other spellings of an address are understood when they are connected to; a rule has to be plain to its
    // reader.
    if (isIP(start) === 0 || start.includes('%') || rest.length > 0 || !ipaddr.isValidCIDR(text)) {
      return 'is not a network: it must look like 10.0.0.0/8 or fd00::/8';
    }
    return { text, networks: [plainNetwork(ipaddr.parseCIDR(text))] };
  }
  if (isIP(text) !== 0 && !text.includes('%')) {
    return { text, networks: [plainNetwork(hostNetwork(ipaddr.parse(text)))] };
  }
  if (parseAddress(text) || /(^|\.)[\d*]+$/.test(text)) {
    return 'is neither a plain address nor a name: networks are written like 10.0.0.0/8';
  }
  if (!/^(?!\.)[a-z0-9_*.-]+$/i.test(text)) {
    return 'is not an address, a network or a host name (without port; * stands for any characters)';
  }
  return { text, hostPattern: plainName(text) };
}

/** A host name as rules compare it: in lower case, and without the dot that marks it as complete. */
export function plainName(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/** IPv4-mapped networks are networks of IPv4. */
function plainNetwork([address, prefixBits]: IpNetwork): IpNetwork {
  if (!isIpv6(address) || !address.isIPv4MappedAddress() || prefixBits < 96) return [address, prefixBits];
  return [address.toIPv4Address(), prefixBits - 96];
}
