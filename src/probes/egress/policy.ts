import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { LruMap } from '../../lib/lru.ts';
import { matchesGlob } from '../../lib/text.ts';
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

/** Decides where probes may connect to. */
export interface EgressPolicy {
  /**
   * Why that connection is refused, as a sentence that names the rule; undefined when it may be made. To be
   * asked for every connection and every packet's destination, right before it, with the resolved address: a
   * name that is checked and then resolved again can lead elsewhere by then.
   */
  refusal(destination: EgressDestination): string | undefined;
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

  refusal({ hostname, address, port }: EgressDestination): string | undefined {
    const name = this.#names.getOrMake(hostname, () => this.#judgeName(hostname));
    const shownName = name.isAddress ? '' : ` (${hostname})`;
    if (name.rule?.effect === 'deny') return sentence(hostname, name.rule);
    if (address === undefined && !name.isAddress) {
      const closing = name.rule ? undefined : this.#closesEverything;
      return closing && sentence(hostname, closing);
    }
    const text = address ?? hostname;
    const target = this.#addresses.getOrMake(text, () => this.#judgeAddress(text));
    if (!target.isAddress) return `a connection to ${text}${shownName} is refused: it is no IP address`;
    const rule = this.#ownPortRule(target, port) ?? target.rule;
    if (rule?.effect !== 'deny') return undefined;
    if (name.rule?.effect === 'allow' && isEverywhere(rule)) return undefined;
    return sentence(`${text}${shownName}`, rule);
  }

  #judgeName(hostname: string): JudgedName {
    if (parseAddress(hostname)) return { isAddress: true, rule: undefined };
    const name = plainName(hostname);
    const rule = best(
      this.#hostRules.filter(({ pattern }) => matchesGlob(name, pattern)),
      ({ pattern }) => pattern.replaceAll('*', '').length,
    );
    return { isAddress: false, rule };
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

function sentence(destination: string, { because }: Judgement): string {
  const joint = because.startsWith('by ') ? ' ' : ': ';
  return `a connection to ${destination} is refused${joint}${because}`;
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
