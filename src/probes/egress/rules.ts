import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { hostNetwork, type IpNetwork, isIpv6, parseAddress } from './address.ts';

/** One entry of `EGRESS_ALLOW` or `EGRESS_DENY`: networks, or a pattern for host names in lower case. */
export type EgressRule =
  | { readonly text: string; readonly networks: readonly IpNetwork[] }
  | { readonly text: string; readonly hostPattern: string };

const everywhere = ['0.0.0.0/0', '::/0'].map((text) => ipaddr.parseCIDR(text));

/** Parses a list of rules; returns a sentence for each invalid entry. */
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
    // Connecting accepts other spellings of an address; a rule must be clear to its reader.
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

/** Normalises a host name for rules: lower case, without a trailing dot. */
export function plainName(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/** Converts IPv4-mapped networks to IPv4 networks. */
function plainNetwork([address, prefixBits]: IpNetwork): IpNetwork {
  if (!isIpv6(address) || !address.isIPv4MappedAddress() || prefixBits < 96) return [address, prefixBits];
  return [address.toIPv4Address(), prefixBits - 96];
}
