import { networkInterfaces } from 'node:os';
import { LruMap } from '@picket/lib/lru.ts';
import { matchesGlob } from '@picket/lib/text.ts';
import ipaddr from 'ipaddr.js';
import {
  hostNetwork,
  type IpAddress,
  type IpNetwork,
  isInNetwork,
  isIpv6,
  meantAddresses,
  narrowness,
  parseAddress,
} from './address.ts';
import { parseEgressRules, plainName } from './rules.ts';

/** Destination of a connection. */
export interface EgressDestination {
  /** The requested name, or the address itself. */
  readonly hostname: string;
  /**
   * The exact address to connect to. Omitted only if a proxy resolves the name: then the policy checks the name and any
   * address that it spells.
   */
  readonly address?: string | undefined;
  /** Omitted for protocols without ports (ICMP). */
  readonly port?: number | undefined;
}

/** Explains why the policy refuses a connection or a lookup. */
export interface EgressRefusal {
  /** Message for users. */
  readonly message: string;
  /** The rule that matched, such as `by the rule 10.0.0.0/8 of EGRESS_DENY`. */
  readonly rule: string;
}

/** Decides which destinations probes may connect to. */
export interface ConnectionPolicy {
  /**
   * Returns why a connection is refused; undefined if it is allowed. Call it for every connection and every packet's
   * destination, right before sending, with the resolved address: a name that is checked and then resolved again may
   * have another address by then.
   */
  refusal(destination: EgressDestination): EgressRefusal | undefined;
}

/** Decides which destinations probes may connect to, and which names they may resolve. */
export interface EgressPolicy extends ConnectionPolicy {
  /**
   * Returns why a name must not be resolved at the name servers of this host: every address that it could have is
   * closed, so a lookup would only disclose the name. undefined if the lookup is allowed.
   */
  lookupRefusal(hostname: string): EgressRefusal | undefined;
}

/** The settings of a policy; plain data, so that they can be passed to a thread. */
export interface EgressSettings {
  /** Comma-separated lists of addresses, networks and host patterns. */
  readonly allow: string;
  readonly deny: string;
  /** Ports that this process listens on. */
  readonly ownPorts: readonly number[];
  /** Whether loopback is closed unless a rule opens it; defaults to false: agents check their own hosts. */
  readonly isLoopbackClosed?: boolean;
}

export const defaultEgressSettings: EgressSettings = { allow: '', deny: '', ownPorts: [] };

const metadata = 'cloud metadata services are';
/** Networks that are closed unless a rule opens them. All are reachable only from inside, and disclose credentials. */
const closedNetworks: readonly (readonly [network: string, subject: string])[] = [
  ['169.254.0.0/16', 'link-local addresses, and with them cloud metadata services, are'],
  ['fe80::/10', 'link-local addresses are'],
  ['fd00:ec2::254/128', metadata],
  ['fd20:ce::254/128', metadata],
  ['fd00:42::42/128', metadata],
  ['100.100.100.200/32', metadata],
  ['168.63.129.16/32', metadata],
  ['192.0.0.192/32', metadata],
];
const loopbackNetworks: typeof closedNetworks = [
  ['127.0.0.0/8', 'loopback addresses are'],
  ['::1/128', 'loopback addresses are'],
];
/** Names of metadata services: a proxy in a cloud would resolve them to the metadata service of that cloud. */
const closedNames = ['metadata.google.internal', 'instance-data.ec2.internal', 'metadata.tencentyun.com'];

type Effect = 'allow' | 'deny';

/** A rule's effect and, for a refusal, the end of the sentence "a connection to … is refused". */
interface Judgement {
  readonly effect: Effect;
  readonly because: string;
}
interface NetworkRule extends Judgement {
  readonly network: IpNetwork;
}
interface HostRule extends Judgement {
  readonly pattern: string;
}

/**
 * Creates the policy for some settings. Everything is open unless a rule closes it. The name is checked first, then the
 * address; both must be allowed.
 *
 * - Of the host patterns that match a name, the one with the most characters besides `*` decides.
 * - Of the networks that contain an address, the narrowest decides. A port of our own is closed at every address
 *   of this host, as if by a rule for that single address.
 * - In a tie, `deny` precedes `allow`, and both precede the defaults.
 * - An explicitly allowed name opens its addresses if only a rule for all addresses (`*`, `0.0.0.0/0`, `::/0`)
 *   closes them; narrower rules and defaults still apply, because the owner of a name chooses its addresses.
 * - A name may be resolved unless a rule closes it, or no address is open to it: every address is closed (`*`), no
 *   pattern allows the name, and no network is allowed that it could resolve to.
 *
 * @throws Error if a list contains an invalid rule; configuration is validated before (`parseEgressRules`).
 */
export function createEgressPolicy(settings: EgressSettings = defaultEgressSettings): EgressPolicy {
  const networkRules: NetworkRule[] = [];
  const hostRules: HostRule[] = [];
  for (const effect of ['deny', 'allow'] as const) {
    const { rules, problems } = parseEgressRules(settings[effect]);
    if (problems.length > 0) throw new Error(`egress rules: ${problems.join('; ')}`);
    for (const rule of rules) {
      const because = `by the rule ${rule.text} of EGRESS_${effect.toUpperCase()}`;
      if ('hostPattern' in rule) hostRules.push({ effect, because, pattern: rule.hostPattern });
      else networkRules.push(...rule.networks.map((network) => ({ effect, because, network })));
    }
  }
  for (const [text, subject] of settings.isLoopbackClosed
    ? [...closedNetworks, ...loopbackNetworks]
    : closedNetworks) {
    networkRules.push({
      effect: 'deny',
      because: `${subject} closed by default (${text}); EGRESS_ALLOW can open them`,
      network: ipaddr.parseCIDR(text),
    });
  }
  for (const pattern of closedNames) {
    const because = `${metadata} closed by default (${pattern}); EGRESS_ALLOW can open them`;
    hostRules.push({ effect: 'deny', because, pattern });
  }
  return new RuleBook(networkRules, hostRules, new Set(settings.ownPorts));
}

/** Result of checking a host name: whether it is in fact an address, and otherwise the rule that matches it. */
interface JudgedName {
  readonly isAddress: boolean;
  readonly rule: HostRule | undefined;
}

/** Result of checking the text of an address: every address it may mean, and the rule that matches them. */
interface JudgedAddress {
  readonly isAddress: boolean;
  readonly meant: readonly IpAddress[];
  readonly rule: NetworkRule | undefined;
}

/** Judgements are cached, because they are made between two measured instants. */
const keptJudgements = 1000;

class RuleBook implements EgressPolicy {
  readonly #names = new LruMap<string, JudgedName>(keptJudgements);
  readonly #addresses = new LruMap<string, JudgedAddress>(keptJudgements);
  readonly #networkRules: readonly NetworkRule[];
  readonly #hostRules: readonly HostRule[];
  readonly #ownPorts: ReadonlySet<number>;
  /** The rule that closes every address, for allowed names and for others; each computed once. */
  readonly #closing = new Map<boolean, { readonly rule: NetworkRule | undefined }>();
  /** A rule of those that together close every address, if they do. */
  readonly #closesEverything: NetworkRule | undefined;

  /** Both lists are sorted so that the winner of a tie comes first. */
  constructor(
    networkRules: readonly NetworkRule[],
    hostRules: readonly HostRule[],
    ownPorts: ReadonlySet<number>,
  ) {
    this.#networkRules = networkRules;
    this.#hostRules = hostRules;
    this.#ownPorts = ownPorts;
    const closing = networkRules.filter((rule) => rule.effect === 'deny' && isEverywhere(rule));
    const families = new Set(closing.map(({ network: [address] }) => address.kind()));
    this.#closesEverything = families.size === 2 ? closing[0] : undefined;
  }

  refusal({ hostname, address, port }: EgressDestination): EgressRefusal | undefined {
    const name = this.#names.getOrMake(hostname, () => this.#judgeName(hostname));
    const shownName = name.isAddress ? '' : ` (${hostname})`;
    if (name.rule?.effect === 'deny') return refusedConnection(hostname, name.rule.because);
    if (address === undefined && !name.isAddress) {
      const closing = name.rule ? undefined : this.#closesEverything;
      return closing && refusedConnection(hostname, closing.because);
    }
    const text = address ?? hostname;
    const target = this.#addresses.getOrMake(text, () => this.#judgeAddress(text));
    if (!target.isAddress) return refusedConnection(`${text}${shownName}`, 'it is no IP address');
    const rule = this.#ownPortRule(target, port) ?? target.rule;
    if (rule?.effect !== 'deny') return undefined;
    if (name.rule?.effect === 'allow' && isEverywhere(rule)) return undefined;
    return refusedConnection(`${text}${shownName}`, rule.because);
  }

  lookupRefusal(hostname: string): EgressRefusal | undefined {
    // A name server only receives names, even if they spell an address.
    const rule = this.#hostRule(hostname);
    const closing = rule?.effect === 'deny' ? rule : this.#closingAll(rule?.effect === 'allow');
    return closing && refused(`a look-up of ${hostname}`, closing.because);
  }

  #judgeName(hostname: string): JudgedName {
    if (parseAddress(hostname)) return { isAddress: true, rule: undefined };
    return { isAddress: false, rule: this.#hostRule(hostname) };
  }

  #hostRule(hostname: string): HostRule | undefined {
    const name = plainName(hostname);
    return best(
      this.#hostRules.filter(({ pattern }) => matchesGlob(name, pattern)),
      ({ pattern }) => pattern.replaceAll('*', '').length,
    );
  }

  /**
   * Returns a closing rule if no address is open. The verdict changes only at the start or end of a rule's network, so
   * it is enough to check those addresses.
   */
  #closingAll(isNameAllowed: boolean): NetworkRule | undefined {
    const known = this.#closing.get(isNameAllowed);
    if (known) return known.rule;
    const rules = this.#networkRules;
    const closing = edges(rules).map((address) => {
      const { rule } = this.#judgeAddress(address);
      return rule?.effect === 'deny' && !(isNameAllowed && isEverywhere(rule)) ? rule : undefined;
    });
    const rule = closing.includes(undefined) ? undefined : (this.#closesEverything ?? closing[0]);
    this.#closing.set(isNameAllowed, { rule });
    return rule;
  }

  #judgeAddress(text: string): JudgedAddress {
    const address = parseAddress(text);
    const meant = address ? meantAddresses(address) : [];
    const fitting = this.#networkRules.filter(({ network }) =>
      meant.some((candidate) => isInNetwork(candidate, network)),
    );
    return {
      isAddress: address !== undefined,
      meant,
      rule: best(fitting, ({ network }) => narrowness(network)),
    };
  }

  /** The rule that closes a port of our own; rebuilt each time, because addresses of this host change. */
  #ownPortRule({ meant, rule }: JudgedAddress, port: number | undefined): NetworkRule | undefined {
    if (port === undefined || !this.#ownPorts.has(port)) return undefined;
    const own = meant.find(isOwnAddress);
    if (!own) return undefined;
    const network = hostNetwork(own);
    if (rule && narrowness(rule.network) >= narrowness(network)) return undefined;
    const because = `port ${port} of this host is the agent's own; EGRESS_ALLOW can open it with this very address`;
    return { effect: 'deny', because, network };
  }
}

/** The first element with the highest score. */
function best<Rule>(rules: readonly Rule[], score: (rule: Rule) => number): Rule | undefined {
  let found: Rule | undefined;
  for (const rule of rules) {
    if (found === undefined || score(rule) > score(found)) found = rule;
  }
  return found;
}

function isEverywhere({ network: [, prefixBits] }: NetworkRule): boolean {
  return prefixBits === 0;
}

/** Sample addresses, at least one from each part of the address space as the networks divide it. */
function edges(rules: readonly NetworkRule[]): string[] {
  const found = ['1.0.0.1', '1::1'];
  for (const {
    network: [address, prefixBits],
  } of rules) {
    const bytes = address.toByteArray();
    const bits = bytes.length * 8;
    const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
    const sizeBits = BigInt(bits - prefixBits);
    const first = (value >> sizeBits) << sizeBits;
    const after = first + (1n << sizeBits);
    // Some addresses have a special meaning, such as 0.0.0.0: their neighbours represent the network.
    for (const edge of [first, first + 1n, first + 2n, after, after + 1n, after + 2n]) {
      if (edge < 1n << BigInt(bits)) found.push(addressOf(edge, bytes.length));
    }
  }
  return found;
}

function addressOf(value: bigint, byteCount: number): string {
  const bytes = Array.from({ length: byteCount }, (_, index) =>
    Number((value >> BigInt(8 * (byteCount - 1 - index))) & 255n),
  );
  return ipaddr.fromByteArray(bytes).toString();
}

function refusedConnection(destination: string, rule: string): EgressRefusal {
  return refused(`a connection to ${destination}`, rule);
}

function refused(what: string, rule: string): EgressRefusal {
  return { message: `${what} is refused${rule.startsWith('by ') ? ' ' : ': '}${rule}`, rule };
}

/** Returns whether an address belongs to this host: loopback, or a current address of one of its interfaces. */
function isOwnAddress(address: IpAddress): boolean {
  if (address.range() === 'loopback') return true;
  const text = address.toNormalizedString();
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => {
      const own = parseAddress(entry.address);
      return own !== undefined && isIpv6(own) === isIpv6(address) && own.toNormalizedString() === text;
    }),
  );
}
