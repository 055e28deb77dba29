import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** Programs that the lab needs, by Debian package. */
const programs = {
  ip: 'iproute2',
  iptables: 'iptables',
  setpriv: 'util-linux',
  sysctl: 'procps',
};

/**
 * Reason why network namespaces cannot be created here, or undefined. In CI that is an error instead: a test that is
 * always skipped tests nothing.
 */
export function whyNoNamespaces(): string | undefined {
  const reason = missing();
  if (reason !== undefined && process.env.CI === 'true')
    throw new Error(`CI has to run these tests: ${reason}`);
  return reason;
}

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are a matter of Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  for (const [program, debianPackage] of Object.entries(programs)) {
    const found = spawnSync(program, ['-V']);
    if (found.error) return `the program ${program} is missing (Debian package ${debianPackage})`;
  }
  const test = spawnSync('ip', ['netns', 'add', 'picket-test']);
  if (test.status !== 0) return `namespaces cannot be made: ${String(test.stderr).trim()}`;
  spawnSync('ip', ['netns', 'delete', 'picket-test']);
  return undefined;
}

/**
 * Three hosts in a row, each in its own namespace: `agent`, `router`, `target`. All have IPv4 and IPv6.
 *
 *     agent 10.80.1.1 ── 10.80.1.2 router 10.80.2.2 ── 10.80.2.1 target
 *           fd80:1::1    fd80:1::2        fd80:2::2    fd80:2::1
 *
 * The MTU of the link to the target is 1400 bytes. The router reports 10.80.3.0/24 as unreachable, and 10.80.4.0/24
 * and fd80:4::/64 as prohibited. There are no other routes.
 */
export class NetworkLab implements Disposable {
  readonly #prefix = `pk${randomBytes(3).toString('hex')}`;

  constructor() {
    for (const host of ['agent', 'router', 'target'] as const) {
      this.#run('ip', ['netns', 'add', this.name(host)]);
      this.exec(host, 'ip link set lo up');
      // Addresses are usable at once, without duplicate address detection.
      this.exec(host, 'sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0');
      this.exec(host, 'sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0');
    }
    this.#link('agent', 'router', { net: 1, mtu: 1500 });
    this.#link('target', 'router', { net: 2, mtu: 1400 });
    this.exec('router', 'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1');
    for (const net of [2, 3, 4]) {
      this.exec('agent', `ip route add 10.80.${net}.0/24 via 10.80.1.2`);
      this.exec('agent', `ip -6 route add fd80:${net}::/64 via fd80:1::2`);
    }
    this.exec('target', 'ip route add default via 10.80.2.2');
    this.exec('target', 'ip -6 route add default via fd80:2::2');
    // Rules instead of unreachable routes, because the kernel limits the errors of those to bursts of five.
    for (const net of [3, 4]) {
      this.exec('router', `ip route add 10.80.${net}.0/24 via 10.80.2.1`);
      this.exec('router', `ip -6 route add fd80:${net}::/64 via fd80:2::1`);
    }
    this.#reject('iptables', '10.80.3.0/24', 'icmp-host-unreachable');
    this.#reject('iptables', '10.80.4.0/24', 'icmp-admin-prohibited');
    this.#reject('ip6tables', 'fd80:4::/64', 'icmp6-adm-prohibited');
  }

  /** The namespace of a host. */
  name(host: Host): string {
    return `${this.#prefix}-${host}`;
  }

  /** Runs a command without quoted words on a host. */
  exec(host: Host, command: string): void {
    this.#run('ip', ['netns', 'exec', this.name(host), ...command.split(' ')]);
  }

  /** Ids of the processes on a host. */
  processIds(host: Host): number[] {
    const { stdout } = spawnSync('ip', ['netns', 'pids', this.name(host)]);
    return String(stdout).split('\n').filter(Boolean).map(Number);
  }

  /** Command and arguments that start a program on a host. */
  commandOn(host: Host, command: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', this.name(host), ...command];
  }

  /**
   * Drops echo requests at the target in both families until `restore` is called: those at the given places of every
   * ten, counted from the next request on.
   */
  drop(places: readonly number[]): void {
    this.restore();
    for (const [program, protocol, type] of [
      ['iptables', 'icmp', '--icmp-type'],
      ['ip6tables', 'icmpv6', '--icmpv6-type'],
    ]) {
      const match = `-p ${protocol} ${type} echo-request`;
      // Every rule must see every packet: a separate chain counts, and only the last rule drops.
      for (const place of places) {
        const nth = `-m statistic --mode nth --every 10 --packet ${place}`;
        this.exec('target', `${program} -t mangle -A PREROUTING ${match} ${nth} -j MARK --set-mark 1`);
      }
      this.exec('target', `${program} -A INPUT ${match} -m mark --mark 1 -j DROP`);
    }
  }

  restore(): void {
    for (const program of ['iptables', 'ip6tables']) {
      this.exec('target', `${program} -t mangle -F PREROUTING`);
      this.exec('target', `${program} -F INPUT`);
    }
  }

  [Symbol.dispose](): void {
    for (const host of ['agent', 'router', 'target'] as const) {
      spawnSync('ip', ['netns', 'delete', this.name(host)]);
    }
  }

  #reject(program: string, network: string, answer: string): void {
    this.exec('router', `${program} -A FORWARD -d ${network} -j REJECT --reject-with ${answer}`);
  }

  #link(host: 'agent' | 'target', router: 'router', { net, mtu }: { net: number; mtu: number }): void {
    const inner = `${this.#prefix}a${net}`;
    const outer = `${this.#prefix}b${net}`;
    this.#run('ip', [
      'link',
      'add',
      inner,
      'mtu',
      String(mtu),
      'type',
      'veth',
      'peer',
      'name',
      outer,
      'mtu',
      String(mtu),
    ]);
    for (const [name, owner, last] of [
      [inner, host, 1],
      [outer, router, 2],
    ] as const) {
      this.#run('ip', ['link', 'set', name, 'netns', this.name(owner)]);
      this.exec(owner, `ip link set ${name} name to-${owner === router ? host : router}`);
      const device = `to-${owner === router ? host : router}`;
      this.exec(owner, `sysctl -qw net.ipv6.conf.${device}.accept_dad=0`);
      this.exec(owner, `ip addr add 10.80.${net}.${last}/24 dev ${device}`);
      this.exec(owner, `ip -6 addr add fd80:${net}::${last}/64 dev ${device} nodad`);
      this.exec(owner, `ip link set ${device} up`);
    }
  }

  #run(command: string, words: readonly string[]): void {
    const { status, stderr, error } = spawnSync(command, words);
    if (error) throw error;
    if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${String(stderr).trim()}`);
  }
}

export type Host = 'agent' | 'router' | 'target';
