import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EchoAnswer } from '../../../src/probes/icmp/echo/answers.ts';
import { type BackendChoice, IcmpProcess, type Rights } from '../../helpers/wire/icmp-process.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();

const kinds = (answers: readonly EchoAnswer[]) => answers.map(({ kind }) => kind);
const lossOf = (answers: readonly EchoAnswer[]) =>
  (100 * answers.filter(({ kind }) => kind !== 'reply').length) / answers.length;

describe.skipIf(reason)(`ICMP over a separate network${reason ? ` (${reason})` : ''}`, () => {
  let lab: NetworkLab;

  beforeAll(() => {
    lab = new NetworkLab();
  });
  afterAll(() => lab[Symbol.dispose]());

  describe.each<[string, Rights, string, RegExp, BackendChoice]>([
    ['datagram sockets without any privilege', 'without-capabilities', '0 2147483647', /datagram/, 'best'],
    ['raw sockets', 'root', '1 0', /raw/, 'best'],
    ['net-ping', 'root', '1 0', /net-ping/, 'net-ping'],
  ])('%s', (_name, rights, groupRange, description, backend) => {
    let icmp: IcmpProcess;

    beforeAll(async () => {
      lab.exec('agent', `sysctl -qw net.ipv4.ping_group_range=${groupRange.replace(' ', '\t')}`);
      icmp = await IcmpProcess.start(lab, rights, backend);
      // Each host must resolve its neighbours first.
      for (const address of ['10.80.2.1', 'fd80:2::1'])
        await icmp.ping({ address, count: 2, intervalMs: 200 });
    });
    afterAll(async () => {
      lab.restore();
      expect(await icmp.end()).toBe(0);
    });

    it('are the chosen ones', () => {
      expect(icmp.announcement.description).toMatch(description);
    });

    it.each([
      ['10.80.2.1', 63, 0],
      ['fd80:2::1', 63, 129],
    ])('measure every reply of %s', async (address, ttl, type) => {
      const answers = await icmp.ping({ address });
      expect(answers.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      for (const answer of answers) {
        // net-ping cannot read the hop limit of IPv6 replies.
        const toldTtl = backend === 'net-ping' && address.includes(':') ? null : ttl;
        expect(answer).toMatchObject({ kind: 'reply', ttl: toldTtl, type, code: 0 });
        expect(answer.kind === 'reply' && answer.rttMs).toBeGreaterThan(0);
      }
    });

    it.each([[[]], [[3]], [[0, 9]], [[0, 2, 4, 6, 8]], [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]])(
      'count losses exactly: %j of ten',
      async (places) => {
        for (const address of ['10.80.2.1', 'fd80:2::1']) {
          lab.drop(places);
          const answers = await icmp.ping({ address });
          expect(kinds(answers)).toEqual(
            Array.from({ length: 10 }, (_, place) => (places.includes(place) ? 'silence' : 'reply')),
          );
          expect(lossOf(answers)).toBe(places.length * 10);
        }
        lab.restore();
      },
    );

    it.each([
      ['unreachable', { address: '10.80.3.1' }, { type: 3, code: 1, from: '10.80.1.2' }],
      ['prohibited', { address: '10.80.4.1' }, { type: 3, code: 13, from: '10.80.1.2' }],
      ['prohibited over IPv6', { address: 'fd80:4::1' }, { type: 1, code: 1, from: 'fd80:1::2' }],
      ['time exceeded', { address: '10.80.2.1', ttl: 1 }, { type: 11, code: 0, from: '10.80.1.2' }],
      ['time exceeded over IPv6', { address: 'fd80:2::1', ttl: 1 }, { type: 3, code: 0, from: 'fd80:1::2' }],
    ])('report who said "%s"', async (_words, train, error) => {
      const answers = await icmp.ping({ ...train, count: 3 });
      expect(answers).toHaveLength(3);
      for (const answer of answers) expect(answer).toMatchObject({ kind: 'error', ...error });
    });

    it('report the largest packet if one is too large', async () => {
      for (const family of ['-4', '-6']) lab.exec('agent', `ip ${family} route flush cache`);
      const [tooLarge] = await icmp.ping({ address: '10.80.2.1', count: 1, dataBytes: 1440 });
      expect(tooLarge).toMatchObject({ kind: 'error', type: 3, code: 4, from: '10.80.1.2', mtuBytes: 1400 });
      const [tooLargeV6] = await icmp.ping({ address: 'fd80:2::1', count: 1, dataBytes: 1440 });
      expect(tooLargeV6).toMatchObject({ kind: 'error', type: 2, from: 'fd80:1::2', mtuBytes: 1400 });
    });

    it('probe the path each time whether a packet fits unfragmented, and send fragments if allowed', async () => {
      for (const [address, type] of [
        ['10.80.2.1', 3],
        ['fd80:2::1', 2],
      ] as const) {
        const large = { address, count: 2, dataBytes: 1440 };
        for (const answer of await icmp.ping({ ...large, dontFragment: true }))
          expect(answer).toMatchObject({ kind: 'error', type, mtuBytes: 1400 });
        expect(kinds(await icmp.ping({ ...large, dontFragment: false }))).toEqual(['reply', 'reply']);
      }
    });

    it('send the smallest and the largest packets', async () => {
      for (const dataBytes of [0, 1, 7, 8000, 65_000]) {
        const answers = await icmp.ping({ address: '10.80.1.2', count: 2, dataBytes });
        expect(kinds(answers), `${dataBytes} bytes`).toEqual(['reply', 'reply']);
      }
    });

    it('do not count unroutable packets as lost', async () => {
      for (const address of ['10.99.0.1', 'fd99::1']) {
        const answers = await icmp.ping({ address, count: 3 });
        expect(answers).toHaveLength(3);
        for (const answer of answers) expect(answer).toMatchObject({ kind: 'unsent', errno: 'ENETUNREACH' });
      }
    });

    it('do not count packets as lost that a firewall of this host drops', async () => {
      lab.exec('agent', 'iptables -A OUTPUT -d 10.80.2.77 -j DROP');
      const answers = await icmp.ping({ address: '10.80.2.77', count: 2 });
      for (const answer of answers) expect(answer).toMatchObject({ kind: 'unsent', errno: 'EPERM' });
    });

    it('stop when their time is over, and leave nothing running', async () => {
      const { failure } = await icmp.check({ request: { hostname: '10.80.2.1', pingCount: 50 } }, 150);
      expect(failure).toMatchObject({ code: 'RESPONSE_TIMEOUT' });
      // net-ping's own process remains.
      await expect.poll(() => lab.processIds('agent')).toHaveLength(backend === 'net-ping' ? 2 : 1);
      expect(kinds(await icmp.ping({ address: '10.80.2.1', count: 2 }))).toEqual(['reply', 'reply']);
    });

    it('separate concurrent runs', async () => {
      const other = await IcmpProcess.start(lab, rights, backend);
      const [good, late, bad, otherGood] = await Promise.all([
        icmp.ping({ address: '10.80.2.1', count: 20, intervalMs: 5 }),
        other.ping({ address: '10.80.2.1', ttl: 1, count: 20, intervalMs: 5 }),
        icmp.ping({ address: '10.80.3.1', count: 20, intervalMs: 5 }),
        other.ping({ address: '10.80.2.1', count: 20, intervalMs: 5 }),
      ]);
      expect(new Set(kinds(good))).toEqual(new Set(['reply']));
      expect(new Set(kinds(otherGood))).toEqual(new Set(['reply']));
      expect(new Set(kinds(late))).toEqual(new Set(['error']));
      expect(new Set(kinds(bad))).toEqual(new Set(['error']));
      expect(await other.end()).toBe(0);
    });
  });

  it('names the setting to change if pings are not allowed', async () => {
    lab.exec('agent', 'sysctl -qw net.ipv4.ping_group_range=1\t0');
    await using icmp = await IcmpProcess.start(lab, 'without-capabilities');
    const { unavailable } = icmp.announcement;
    expect(unavailable).toContain('ICMP is unavailable on this host');
    expect(unavailable).toContain('EACCES: net.ipv4.ping_group_range is "1 0"');
    expect(unavailable).toContain('EPERM: no NET_RAW');
    expect(unavailable).toContain("net-ping's raw sockets are refused (EPERM: no NET_RAW)");
    expect(unavailable).toContain('Set the sysctl net.ipv4.ping_group_range');
  });
});
