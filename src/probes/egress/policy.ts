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

/** Where a probe is about to connect. */
export interface EgressDestination {
  /** The name it was asked for, or the address itself. */
  readonly hostname: string;
  /**
   * The very address that will be connected to. Left out only where somebody else looks the name up (a
   * proxy): then the name is judged, and the address it may spell.
   */
  readonly address?: string | undefined;
  /** Left out where there are no ports (ICMP). */
  readonly port?: number | undefined;
}

/** Why the policy refuses a connection or a look-up. */
export interface EgressRefusal {
  /** The sentence for people. */
  readonly message: string;
  /** The rule that decided, such as `by the rule 10.0.0.0/8 of EGRESS_DENY`. */
  readonly rule: string;
}

/** Decides where probes may connect to. */
export interface ConnectionPolicy {
  /**
   * Why that connection is refused; undefined when it may be made. To be asked for every connection and every
   * packet's destination, right before it, with the resolved address: a name that is checked and then resolved
   * again can lead elsewhere by then.
   */
  refusal(destination: EgressDestination): EgressRefusal | undefined;
}

/** Decides where probes may connect to, and which names they look up. */
export interface EgressPolicy extends ConnectionPolicy {
  /**
   * Why a name is not to be looked up at the name servers of this host: no address that it could have may be
   * connected to. To look it up would only tell others of it. undefined when it may be.
   */
  lookupRefusal(hostname: string): EgressRefusal | undefined;
}

/** The settings of a policy; plain data, so that they can go to a thread. */
export interface EgressSettings {
  /** Lists of addresses, networks and host patterns, separated by commas. */
  readonly allow: string;
  readonly deny: string;
  /** Ports this process itself listens on. */
  readonly ownPorts: readonly number[];
  /** Whether loopback is closed unless a rule opens it; false when absent: agents check their own hosts. */
  readonly isLoopbackClosed?: boolean;
}

export const defaultEgressSettings: EgressSettings = { allow: '', deny: '', ownPorts: [] };

const metadata = 'cloud metadata services are';
/** What is closed unless a rule opens it. All are reachable from inside only, and give credentials away. */
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
/** Names of metadata services: a proxy in a cloud would resolve them to its own. */
const closedNames = ['metadata.google.internal', 'instance-data.ec2.internal', 'metadata.tencentyun.com'];

type Effect = 'allow' | 'deny';

/** A rule with its effect and, for a refusal, the end of the sentence "a connection to … is refused". */
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
 * The policy that some settings describe. Everything is open that no rule closes. A name is judged first,
 * then the address; both have to pass.
 *
 * - Of the host patterns that fit a name, the one with the most characters besides `*` decides.
 * - Of the networks an address lies in, the narrowest decides. A port of our own is closed at every address
 *   of this host, as narrowly as can be.
 * - Of equals, `deny` goes before `allow`, and both before what is closed by default.
 * - A name that is explicitly allowed opens its addresses where only a rule for all addresses (`*`,
 *   `0.0.0.0/0`, `::/0`) closes them; narrower rules and defaults hold, because who owns a name chooses its
 *   addresses.
 * - A name is looked up unless a rule closes it, or no address at all is open to it: every address is closed (`*`), no
 *   pattern allows the name, and no network is allowed that it could lead to.
 *
 * @throws Error when a list holds something that is no rule; configuration is checked before
 *   (`parseEgressRules`).
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

/** What is known of a host name: whether it is an address in truth, and the rule for it otherwise. */
interface JudgedName {
  readonly isAddress: boolean;
  readonly rule: HostRule | undefined;
}

/** What is known of the text of an address: every address it may mean, and the rule for them. */
interface JudgedAddress {
  readonly isAddress: boolean;
  readonly meant: readonly IpAddress[];
  readonly rule: NetworkRule | undefined;
}

/** Judgements are kept, because they are made between two instants that are measured. */
const keptJudgements = 1000;

class RuleBook implements EgressPolicy {
  readonly #names = new LruMap<string, JudgedName>(keptJudgements);
  readonly #addresses = new LruMap<string, JudgedAddress>(keptJudgements);
  readonly #networkRules: readonly NetworkRule[];
  readonly #hostRules: readonly HostRule[];
  readonly #ownPorts: ReadonlySet<number>;
  /** What closes every address to names that are allowed, and to others; each found out once. */
  readonly #closing = new Map<boolean, { readonly rule: NetworkRule | undefined }>();
  /** The rules that together close every address, when there are such. */
  readonly #closesEverything: NetworkRule | undefined;

  /** Both lists have those rules first that win over their equals. */
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
    // Whatever is asked of a name server is a name, also what spells an address.
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
   * A rule that closes addresses, where no address at all is open. What rules say changes only where one of their networks
   * begins or ends, so it is enough to look there.
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

  /** The rule that closes a port of our own; addresses of this host change, so it is made anew. */
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

/** The first of those that score highest. */
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

/** Addresses of which every part of the address space, as some networks divide it, has at least one. */
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
    // Some addresses have a meaning of their own, such as 0.0.0.0: their neighbours stand for the network.
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

/**
 * Whether this host answers at that address: loopback, or an address of one of its interfaces at this moment.
 */
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
