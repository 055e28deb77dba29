import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

type Host = 'agent' | 'r1' | 'r2' | 'r3' | 'target';
const hosts: readonly Host[] = ['agent', 'r1', 'r2', 'r3', 'target'];

export const addressOf = (last: number) => `10.90.100.${last}`;
export const addressOf6 = (last: number) => `fd90:100::${last}`;

/** Treatment of packets to an address, by the last part of that address; `plain` is not affected. */
export const shapes = {
  plain: 1,
  dropped: 3,
  rejectedByTarget: 4,
  netUnreachable: 5,
  hostUnreachable: 6,
  netProhibited: 7,
  hostProhibited: 8,
  filtered: 9,
  portUnreachableOnTheWay: 10,
  protocolUnreachable: 11,
  droppedOnTheWay: 12,
  silentHop: 13,
  silentHops: 14,
  silentWay: 15,
  loop: 16,
  longLoop: 17,
  lossy: 18,
  blackholeRoute: 20,
  rejectedAsPort: 21,
} as const;
export type Shape = keyof typeof shapes;

/** The same for IPv6, which has fewer kinds of errors. */
export const shapes6 = {
  plain: 1,
  dropped: 3,
  rejectedByTarget: 4,
  noRoute: 5,
  prohibited: 6,
  addressUnreachable: 7,
  silentHop: 13,
  loop: 16,
  rejectedAsPort: 21,
} as const;

/** Addresses that r3 forwards to a host behind it: to one that replies, one that drops, and one that rejects. */
export const forwarded = { answers: 31, silent: 32, rejected: 33 } as const;
/**
 * Packets to this address of the target take two paths from r1, and one path bypasses r2. Each connection keeps to one
 * path.
 */
export const twoWays = addressOf(41);

const behindForwarded = {
  answers: shapes.plain,
  silent: shapes.dropped,
  rejected: shapes.rejectedByTarget,
} as const;

/**
 * Five hosts in a row, each in its own namespace, and a second link, so that replies take another route:
 *
 *     agent ── r1 ── r2 ── r3 ── target (10.90.100.x, fd90:100::x)
 *                └─── back ───┘
 *
 * Link n is 10.90.n.0/24 and fd90:n::/64, the nearer side .1, the farther .2. No host limits its ICMP errors.
 */
export class RouteLab implements Disposable {
  readonly #prefix = `pr${randomBytes(3).toString('hex')}`;

  constructor() {
    for (const host of hosts) {
      this.#run('ip', ['netns', 'add', this.name(host)]);
      this.script(
        host,
        `ip link set lo up
sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 net.ipv4.icmp_ratemask=0 net.ipv6.icmp.ratemask=
sysctl -qw net.ipv4.icmp_msgs_per_sec=1000000 net.ipv4.icmp_msgs_burst=1000000 || true
sysctl -qw "net.ipv4.ping_group_range=0 2147483647" net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1`,
      );
    }
    this.#link(1, 'agent', 'r1');
    this.#link(2, 'r1', 'r2');
    this.#link(3, 'r2', 'r3');
    this.#link(4, 'r3', 'target');
    this.#link(9, 'r1', 'r3');
    const onward = (n: number) =>
      `ip route add 10.90.100.0/24 via 10.90.${n}.2; ip -6 route add fd90:100::/64 via fd90:${n}::2`;
    const back = (via: number) =>
      `ip route add 10.90.1.0/24 via 10.90.${via}.1; ip -6 route add fd90:1::/64 via fd90:${via}::1`;
    this.script('agent', 'ip route add default via 10.90.1.2; ip -6 route add default via fd90:1::2');
    this.script('r1', `${onward(2)}; ip route add 10.90.4.0/24 via 10.90.2.2`);
    this.script('r2', `${onward(3)}; ${back(2)}; ip route add 10.90.4.0/24 via 10.90.3.2`);
    // Replies take the other route.
    this.script('r3', `${onward(4)}; ${back(9)}`);
    const own = [
      ...Object.values(shapes).map((last) => `ip addr add ${addressOf(last)}/32 dev lo`),
      ...Object.values(shapes6).map((last) => `ip -6 addr add ${addressOf6(last)}/128 dev lo nodad`),
    ];
    this.script('target', `${own.join('\n')}\n${back(4)}`);
    this.#shape();
  }

  #shape(): void {
    const { dropped, rejectedByTarget, lossy, droppedOnTheWay, silentHop, silentHops, silentWay } = shapes;
    const reject = (last: number, how: string) =>
      `iptables -A FORWARD -d ${addressOf(last)} -j REJECT --reject-with icmp-${how}`;
    const reject6 = (last: number, how: string) =>
      `ip6tables -A FORWARD -d ${addressOf6(last)} -j REJECT --reject-with icmp6-${how}`;
    const silent = (last: number) =>
      `iptables -t mangle -A PREROUTING -d ${addressOf(last)} -m ttl --ttl-eq 1 -j DROP`;
    this.script(
      'target',
      `iptables -A INPUT -d ${addressOf(dropped)} -j DROP
ip6tables -A INPUT -d ${addressOf6(shapes6.dropped)} -j DROP
iptables -A INPUT -d ${addressOf(rejectedByTarget)} -j REJECT --reject-with icmp-admin-prohibited
ip6tables -A INPUT -d ${addressOf6(shapes6.rejectedByTarget)} -j REJECT --reject-with icmp6-adm-prohibited
iptables -A INPUT -d ${addressOf(shapes.rejectedAsPort)} -j REJECT
ip6tables -A INPUT -d ${addressOf6(shapes6.rejectedAsPort)} -j REJECT
iptables -A INPUT -d ${addressOf(lossy)} -m statistic --mode nth --every 3 --packet 0 -j DROP`,
    );
    this.script('r1', [silent(silentHops), silent(silentWay)].join('\n'));
    this.script(
      'r2',
      `${silent(silentHop)}
${silent(silentHops)}
${silent(silentWay)}
ip6tables -t mangle -A PREROUTING -d ${addressOf6(shapes6.silentHop)} -m hl --hl-eq 1 -j DROP
${reject(shapes.netUnreachable, 'net-unreachable')}
${reject(shapes.netProhibited, 'net-prohibited')}
${reject(shapes.filtered, 'admin-prohibited')}
${reject(shapes.portUnreachableOnTheWay, 'port-unreachable')}
${reject6(shapes6.prohibited, 'adm-prohibited')}
ip route add blackhole ${addressOf(shapes.blackholeRoute)}/32`,
    );
    this.script(
      'r3',
      `${silent(silentWay)}
${reject(shapes.hostUnreachable, 'host-unreachable')}
${reject(shapes.hostProhibited, 'host-prohibited')}
${reject(shapes.protocolUnreachable, 'proto-unreachable')}
${reject6(shapes6.noRoute, 'no-route')}
${reject6(shapes6.addressUnreachable, 'addr-unreachable')}
iptables -A FORWARD -d ${addressOf(droppedOnTheWay)} -j DROP
ip route add ${addressOf(shapes.loop)}/32 via 10.90.3.1
ip -6 route add ${addressOf6(shapes6.loop)}/128 via fd90:3::1
ip route add ${addressOf(shapes.longLoop)}/32 via 10.90.9.1`,
    );
    this.script('target', `ip addr add ${twoWays}/32 dev lo`);
    this.script(
      'r1',
      `sysctl -qw net.ipv4.fib_multipath_hash_policy=1
ip route add ${twoWays}/32 nexthop via 10.90.2.2 nexthop via 10.90.9.2`,
    );
    this.script('r3', Object.entries(forwarded).map(forwarding).join('\n'));
  }

  /** The namespace of a host. */
  name(host: Host): string {
    return `${this.#prefix}-${host}`;
  }

  /** Runs shell lines on a host; each must succeed. */
  script(host: Host, lines: string): void {
    const { status, stderr } = spawnSync('ip', ['netns', 'exec', this.name(host), 'sh', '-e'], {
      input: lines,
    });
    if (status !== 0) throw new Error(`on ${host}: ${String(stderr).trim()}`);
  }

  /** Command and arguments that start a program on a host. */
  commandOn(host: Host, command: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', this.name(host), ...command];
  }

  /** The route that the distribution's traceroute finds from the agent. */
  async traceroute(args: readonly string[]): Promise<OtherRoute> {
    const [command = '', ...rest] = this.commandOn('agent', ['traceroute', '-n', ...args]);
    const { stdout } = await promisify(execFile)(command, rest);
    return parsedRoute(stdout);
  }

  [Symbol.dispose](): void {
    for (const host of hosts) spawnSync('ip', ['netns', 'delete', this.name(host)]);
  }

  #link(n: number, near: Host, far: Host): void {
    const [inner, outer] = [`${this.#prefix}n${n}`, `${this.#prefix}f${n}`];
    this.#run('ip', ['link', 'add', inner, 'type', 'veth', 'peer', 'name', outer]);
    for (const [device, host, last] of [
      [inner, near, 1],
      [outer, far, 2],
    ] as const) {
      this.#run('ip', ['link', 'set', device, 'netns', this.name(host)]);
      this.script(
        host,
        `sysctl -qw net.ipv6.conf.${device}.accept_dad=0 net.ipv4.conf.${device}.rp_filter=0
ip addr add 10.90.${n}.${last}/24 dev ${device}
ip -6 addr add fd90:${n}::${last}/64 dev ${device} nodad
ip link set ${device} up`,
      );
    }
  }

  #run(command: string, words: readonly string[]): void {
    const { status, stderr } = spawnSync(command, words);
    if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${String(stderr).trim()}`);
  }
}

function forwarding([name, last]: [string, number]): string {
  const behind = behindForwarded[name as keyof typeof behindForwarded];
  return `ip addr add ${addressOf(last)}/32 dev lo; ip -6 addr add ${addressOf6(last)}/128 dev lo nodad
iptables -t nat -A PREROUTING -d ${addressOf(last)} -j DNAT --to ${addressOf(behind)}
ip6tables -t nat -A PREROUTING -d ${addressOf6(last)} -j DNAT --to ${addressOf6(behind)}`;
}

/** A route as the distribution's traceroute prints it. */
export interface OtherRoute {
  /** The addresses of each hop, without trailing hops that did not reply. */
  readonly hops: readonly (readonly string[])[];
  /** Whether further hops were probed without a reply. */
  readonly endsInSilence: boolean;
  /** `!H`, `!N`, `!X` … of its last line. */
  readonly marks: readonly string[];
}

function parsedRoute(text: string): OtherRoute {
  const lines = text.split('\n').filter((line) => /^ *\d+ /.test(line));
  const hops = lines.map((line) =>
    [...new Set(line.match(/\d+\.\d+\.\d+\.\d+|fd90:[0-9a-f:]+/g) ?? [])].sort(),
  );
  const last = hops.findLastIndex((addresses) => addresses.length > 0);
  const endsInSilence = last < hops.length - 1;
  return {
    hops: hops.slice(0, last + 1),
    endsInSilence,
    marks: [...new Set(lines[last]?.match(/![A-Z0-9<>]*/g) ?? [])],
  };
}

/** Reason why that program cannot be used here. In CI that is an error instead. */
export function whyNoTraceroute(): string | undefined {
  if (!spawnSync('traceroute', ['--version']).error) return undefined;
  if (process.env.CI === 'true') throw new Error('CI has to run these tests: traceroute is missing');
  return 'the program traceroute is missing (Debian package traceroute)';
}
