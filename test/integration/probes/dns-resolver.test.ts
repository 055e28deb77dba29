import { describe, expect, it, vi } from 'vitest';
import type { IpFamily } from '../../../src/probes/address.ts';
import { HostResolver } from '../../../src/probes/dns/host/host-resolver.ts';
import { isForSystem, parseNameServiceSwitch } from '../../../src/probes/dns/host/name-service-switch.ts';
import { parseResolvConf } from '../../../src/probes/dns/host/resolv-conf.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import type { ResolveError } from '../../../src/probes/resolver.ts';
import { a, answerTo, type Behaviour, cname, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { createHostFiles } from '../../helpers/dns/host-files.ts';

/** A server with some A records by name; other names do not exist. */
const knows =
  (records: Readonly<Record<string, string>>): Behaviour =>
  (query) => {
    const address = records[query.question.name.toLowerCase()];
    if (address === undefined) return [answerTo(query, [], { rcode: 3 })];
    return [answerTo(query, query.question.type === 'A' ? [a(query.question.name, address)] : [])];
  };
const answersWith =
  (rcode: number): Behaviour =>
  (query) => [answerTo(query, [], { rcode })];
const silence: Behaviour = () => [];

/** Runs a resolver with these servers as the only ones in resolv.conf. */
async function withResolver(
  behaviours: readonly Behaviour[],
  options: { readonly conf?: string; readonly hosts?: string },
  use: (parts: {
    resolve(name: string, family?: IpFamily | 'any'): Promise<string[]>;
    fail(name: string, family?: IpFamily | 'any'): Promise<ResolveError>;
    readonly servers: readonly Awaited<ReturnType<typeof startDnsServer>>[];
    readonly files: ReturnType<typeof createHostFiles>;
  }) => Promise<void>,
): Promise<void> {
  const servers = await Promise.all(behaviours.map((behaviour) => startDnsServer(behaviour)));
  const lines = servers.map(({ nameserver }) => `nameserver ${nameserver}`);
  using files = createHostFiles([...lines, options.conf ?? ''].join('\n'), options.hosts);
  const resolver = new HostResolver(files);
  const resolve = async (name: string, family: IpFamily | 'any' = 4) =>
    (await resolver.resolve(name, family)).map(({ address }) => address);
  const fail = (name: string, family: IpFamily | 'any' = 4) =>
    resolve(name, family).then(
      (addresses) => expect.unreachable(`${name} has ${addresses.join()}`),
      (error: ResolveError) => error,
    );
  try {
    await use({ resolve, fail, servers, files });
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

const asked = (
  servers: readonly { readonly queries: readonly { readonly question: { name: string } }[] }[],
) => servers[0]?.queries.map(({ question }) => question.name);

describe('our resolver', () => {
  it('sends no query for a name that the egress policy blocks, nor for one of /etc/hosts', async () => {
    await withResolver(
      [knows({ 'www.shop.test': '192.0.2.1' })],
      { hosts: '192.0.2.7 listed.test\n', conf: 'search shop.test' },
      async ({ servers, files }) => {
        const policy = createEgressPolicy({ allow: '*.shop.test', deny: '*', ownPorts: [] });
        const resolver = new HostResolver(files, 'linux', (name) => policy.lookupRefusal(name));
        for (const name of ['data.evil.test', 'data.evil.test.', 'plain', 'data.shop.test.evil.test']) {
          await expect(resolver.resolve(name, 'any')).rejects.toMatchObject({
            kind: 'refused',
            message: `a look-up of ${name} is refused by the rule * of EGRESS_DENY`,
          });
        }
        expect(await resolver.resolve('listed.test', 4)).toMatchObject([{ address: '192.0.2.7' }]);
        expect(await resolver.resolve('127.1', 4)).toMatchObject([{ address: '127.0.0.1' }]);
        expect(asked(servers)).toEqual([]);
        expect(await resolver.resolve('www.shop.test', 4)).toMatchObject([{ address: '192.0.2.1' }]);
        expect(asked(servers)).toEqual(['www.shop.test']);
      },
    );
  });

  it('queries DNS for A and AAAA records', async () => {
    const both: Behaviour = (query) => {
      const { name, type } = query.question;
      return [
        answerTo(query, [type === 'A' ? a(name, '192.0.2.1') : { type: 'AAAA', name, data: '2001:db8::1' }]),
      ];
    };
    await withResolver([both], {}, async ({ resolve }) => {
      expect(await resolve('www.example.test', 4)).toEqual(['192.0.2.1']);
      expect(await resolve('www.example.test', 6)).toEqual(['2001:db8::1']);
      expect(await resolve('www.example.test', 'any')).toEqual(['192.0.2.1', '2001:db8::1']);
    });
  });

  it('returns addresses in any spelling as they are', async () => {
    await withResolver([silence], {}, async ({ resolve, servers }) => {
      expect(await resolve('192.0.2.1', 6)).toEqual(['192.0.2.1']);
      expect(await resolve('127.1')).toEqual(['127.0.0.1']);
      expect(await resolve('::1')).toEqual(['::1']);
      expect(servers[0]?.queries).toHaveLength(0);
    });
  });

  it('keeps localhost on this host, whatever DNS says', async () => {
    await withResolver(
      [knows({ localhost: '192.0.2.66', 'app.localhost': '192.0.2.66' })],
      { hosts: '' },
      async ({ resolve, servers }) => {
        expect(await resolve('localhost')).toEqual(['127.0.0.1']);
        expect(await resolve('App.LocalHost.', 6)).toEqual(['::1']);
        expect(servers[0]?.queries).toHaveLength(0);
      },
    );
  });

  it('uses the hosts file first, in any case and by family', async () => {
    const hosts = '192.0.2.7 App.internal app # a remark\n192.0.2.8 app\n2001:db8::7 app\nnonsense app\n';
    await withResolver([knows({ app: '203.0.113.1' })], { hosts }, async ({ resolve, servers }) => {
      expect(await resolve('APP')).toEqual(['192.0.2.7', '192.0.2.8']);
      expect(await resolve('app.internal.')).toEqual(['192.0.2.7']);
      expect(await resolve('app', 6)).toEqual(['2001:db8::7']);
      expect(servers[0]?.queries).toHaveLength(0);
    });
  });

  it.each(['::ffff:192.0.2.7', '::FFFF:c000:207', '0:0:0:0:0:ffff:192.0.2.7'])(
    'treats %s of the hosts file as an IPv4 address, like getaddrinfo',
    async (address) => {
      const hosts = `${address} mapped # aliases\tOLD.name\n\t${address}\tother OLD.name#last\n`;
      await withResolver([knows({})], { hosts }, async ({ resolve }) => {
        expect(await resolve('mapped')).toEqual(['192.0.2.7']);
        expect(await resolve('old.Name', 4)).toEqual(['192.0.2.7']);
        await expect(resolve('mapped', 6)).rejects.toMatchObject({ kind: 'not-found' });
      });
    },
  );

  it('tries short names in the search list first, and names with enough dots as they are first', async () => {
    const conf = 'search one.test two.test\noptions ndots:2';
    const records = { 'api.two.test': '192.0.2.2', 'a.b.c': '192.0.2.3', 'x.y': '192.0.2.4' };
    await withResolver([knows(records)], { conf }, async ({ resolve, servers }) => {
      expect(await resolve('api')).toEqual(['192.0.2.2']);
      expect(asked(servers)).toEqual(['api.one.test', 'api.two.test']);
      expect(await resolve('a.b.c')).toEqual(['192.0.2.3']);
      expect(await resolve('x.y')).toEqual(['192.0.2.4']);
      expect(asked(servers)?.slice(2)).toEqual(['a.b.c', 'x.y.one.test', 'x.y.two.test', 'x.y']);
    });
  });

  it('takes a name with a dot at its end as complete', async () => {
    await withResolver(
      [knows({ api: '192.0.2.5' })],
      { conf: 'search one.test' },
      async ({ resolve, servers }) => {
        expect(await resolve('api.')).toEqual(['192.0.2.5']);
        expect(asked(servers)).toEqual(['api']);
      },
    );
  });

  it('queries names of other scripts, with underscores and in capitals', async () => {
    const records = { 'xn--bcher-kva.test': '192.0.2.6', 'a_b.test': '192.0.2.7' };
    await withResolver([knows(records)], {}, async ({ resolve }) => {
      expect(await resolve('Bücher.test')).toEqual(['192.0.2.6']);
      expect(await resolve('A_B.TEST')).toEqual(['192.0.2.7']);
    });
  });

  it('follows aliases within a reply', async () => {
    const aliased: Behaviour = (query) => [
      answerTo(query, [
        cname('www.test', 'Edge.cdn.test'),
        cname('edge.cdn.test', 'pop.cdn.test'),
        a('pop.cdn.test', '192.0.2.9'),
      ]),
    ];
    await withResolver([aliased], {}, async ({ resolve, fail }) => {
      expect(await resolve('www.test')).toEqual(['192.0.2.9']);
      expect(await fail('www.test', 6)).toMatchObject({ kind: 'not-found', code: 'ENODATA' });
    });
  });

  it('gives up on aliases that go round or on for too long', async () => {
    const circle: Behaviour = (query) => [
      answerTo(query, [cname('a.test', 'b.test'), cname('b.test', 'a.test')]),
    ];
    const hops = Array.from({ length: 40 }, (_, index) => cname(`h${index}.test`, `h${index + 1}.test`));
    const long: Behaviour = (query) => [answerTo(query, [...hops, a('h40.test', '192.0.2.1')])];
    for (const [behaviour, name] of [
      [circle, 'a.test'],
      [long, 'h0.test'],
    ] as const) {
      await withResolver([behaviour], {}, async ({ fail }) => {
        const error = await fail(name);
        expect(error).toMatchObject({ kind: 'not-found', code: 'ENODATA' });
        expect(error.message).toContain('CNAME');
      });
    }
  });

  it('tells a name that does not exist from one without an address', async () => {
    await withResolver([knows({ 'four.test': '192.0.2.4' })], {}, async ({ fail }) => {
      const missing = await fail('none.test');
      expect(missing).toMatchObject({ name: 'ResolveError', kind: 'not-found', code: 'ENOTFOUND' });
      expect(missing.message).toMatch(/^none\.test has no IPv4 address .* answered NXDOMAIN$/);
      expect(await fail('four.test', 6)).toMatchObject({ kind: 'not-found', code: 'ENODATA' });
    });
  });

  it('sends no query for invalid names', async () => {
    await withResolver([silence], {}, async ({ fail, servers }) => {
      for (const name of ['a.invalid', 'x.onion', '', '.', 'a..b', 'a b', `${'a'.repeat(64)}.test`]) {
        expect(await fail(name), name).toMatchObject({ kind: 'not-found', code: 'ENOTFOUND' });
      }
      expect(servers[0]?.queries).toHaveLength(0);
    });
  });

  it.each([
    ['SERVFAIL', 2],
    ['REFUSED', 5],
  ])('continues with the next server at %s, and blames the resolver if all say so', async (code, rcode) => {
    await withResolver([answersWith(rcode), knows({ 'www.test': '192.0.2.1' })], {}, async ({ resolve }) => {
      expect(await resolve('www.test')).toEqual(['192.0.2.1']);
    });
    await withResolver([answersWith(rcode)], { conf: 'options attempts:2' }, async ({ fail, servers }) => {
      const error = await fail('www.test');
      expect(error.kind).toBe('unavailable');
      expect(error.message).toContain(code);
      expect(servers[0]?.queries).toHaveLength(2);
    });
  });

  it('goes on to the next server when one is silent or gone', async () => {
    const gone = await startDnsServer(silence);
    await gone.close();
    const conf = `nameserver ${gone.nameserver}\noptions timeout:1 attempts:1`;
    await withResolver([silence, knows({ 'www.test': '192.0.2.1' })], { conf }, async ({ resolve }) => {
      expect(await resolve('www.test')).toEqual(['192.0.2.1']);
    });
    await withResolver([silence], { conf: `${conf}\nsearch one.test` }, async ({ fail, servers }) => {
      const error = await fail('www.test');
      expect(error.kind).toBe('unavailable');
      expect(error.message).toContain('ECONNREFUSED');
      // A silent server is not queried for the search list as well.
      expect(asked(servers)).toEqual(['www.test']);
    });
  });

  it('takes turns with rotate, and uses TCP only with use-vc', async () => {
    const server = knows({ 'www.test': '192.0.2.1' });
    await withResolver([server, server], { conf: 'options rotate use-vc' }, async ({ resolve, servers }) => {
      for (let index = 0; index < 4; index += 1) await resolve('www.test');
      expect(servers.map(({ queries }) => queries.length)).toEqual([2, 2]);
      expect(servers[0]?.queries.every(({ transport }) => transport === 'TCP')).toBe(true);
    });
  });

  it('detects that its files have changed', async () => {
    await withResolver([knows({ 'www.test': '192.0.2.1' })], {}, async ({ resolve, files }) => {
      expect(await resolve('www.test')).toEqual(['192.0.2.1']);
      await using other = await startDnsServer(knows({ 'www.test': '192.0.2.2' }));
      files.write({ resolvConf: `nameserver ${other.nameserver}\n`, hosts: '192.0.2.3 new.test\n' });
      await vi.waitFor(async () => expect(await resolve('www.test')).toEqual(['192.0.2.2']), {
        timeout: 10_000,
        interval: 100,
      });
      expect(await resolve('new.test')).toEqual(['192.0.2.3']);
    });
  });

  it('does not hold up other names while 100 hang', async () => {
    const hanging: Behaviour = (query) =>
      query.question.name.startsWith('hang') ? [] : knows({ 'www.test': '192.0.2.1' })(query);
    await withResolver(
      [hanging],
      { conf: 'options timeout:1 attempts:1' },
      async ({ resolve, fail, servers }) => {
        const events: string[] = [];
        const hung = Array.from({ length: 100 }, async (_, index) => {
          const error = await fail(`hang${index}.test`);
          events.push(error.kind);
        });
        await servers[0]?.received(100);
        for (let index = 0; index < 20; index += 1) {
          expect(await resolve('www.test')).toEqual(['192.0.2.1']);
          events.push('answered');
        }
        await Promise.all(hung);
        // All replies arrived while all the others were still waiting.
        expect(events).toEqual([...Array(20).fill('answered'), ...Array(100).fill('unavailable')]);
      },
    );
  });

  it('lists the servers of this host', () => {
    using files = createHostFiles('nameserver 192.0.2.53\nnameserver fe80::1%eth0\n');
    expect(new HostResolver(files).nameServers()).toMatchObject([
      { address: '192.0.2.53', family: 4, port: 53 },
      { address: 'fe80::1%eth0', family: 6, port: 53 },
    ]);
  });

  it('uses the local name server without a resolv.conf', () => {
    const missing = '/nonexistent/picket';
    const resolver = new HostResolver({
      resolvConfPath: missing,
      hostsPath: missing,
      nameServiceSwitchPath: missing,
    });
    expect(resolver.nameServers()).toMatchObject([{ address: '127.0.0.1', port: 53 }]);
  });
});

describe('resolv.conf', () => {
  it('has its defaults and limits', () => {
    expect(parseResolvConf('')).toMatchObject({
      servers: [{ address: '127.0.0.1', port: 53 }],
      search: [],
      ndots: 1,
      timeoutMs: 5000,
      attempts: 2,
      isRotated: false,
      isTcpOnly: false,
      isEdns: false,
    });
    expect(parseResolvConf('options ndots:99 timeout:99 attempts:99 edns0')).toMatchObject({
      ndots: 15,
      timeoutMs: 30_000,
      attempts: 5,
      isEdns: true,
    });
  });

  it('ignores comments, garbage and a fourth server; the last search list counts', () => {
    const text = `# nameserver 192.0.2.9
; nameserver 192.0.2.9
nameserver not-an-address
nameserver 192.0.2.1
nameserver [2001:db8::1]:5353
  nameserver 2001:db8::2
nameserver 192.0.2.4
domain old.test
search one.test. two.test
options ndots:x unknown:1`;
    const conf = parseResolvConf(text);
    expect(conf.servers.map(({ address, port }) => `${address} ${port}`)).toEqual([
      '192.0.2.1 53',
      '2001:db8::1 5353',
      '2001:db8::2 53',
    ]);
    expect(conf).toMatchObject({ search: ['one.test', 'two.test'], ndots: 1 });
  });
});

describe('nsswitch.conf', () => {
  const isSystems = (line: string, name: string) =>
    isForSystem(name, () => 'box', parseNameServiceSwitch(line));

  it.each([
    ['', false],
    ['hosts: files dns', false],
    ['hosts:\tfiles resolve [!UNAVAIL=return] dns # ldap', false],
    ['passwd: files sss\nhosts: files dns myhostname', false],
    ['hosts: files mdns4_minimal [NOTFOUND=return] dns', false],
    ['hosts: files', true],
    ['hosts: dns files', true],
    ['hosts: files [NOTFOUND=return] dns', true],
    ['hosts: files mdns4 dns', true],
    ['hosts: files nis dns', true],
    ['hosts: files sss dns', true],
  ])('%j leaves names to the system: %s', (line, expected) => {
    expect(isSystems(line, 'www.test')).toBe(expected);
  });

  it('leaves the few names of some modules to the system', () => {
    const line = 'hosts: files myhostname mdns4_minimal [NOTFOUND=return] dns';
    expect(
      ['printer.local', 'Printer.LOCAL.', 'box', '_gateway'].map((name) => isSystems(line, name)),
    ).toEqual(Array(4).fill(true));
    expect(['www.test', 'nonlocal', 'box.test'].map((name) => isSystems(line, name))).toEqual(
      Array(3).fill(false),
    );
    expect(isSystems('hosts: files dns', 'printer.local')).toBe(false);
  });

  it('does not apply to other systems', async () => {
    using files = createHostFiles('nameserver 192.0.2.1', '192.0.2.7 only-here.test\n');
    expect(await new HostResolver(files, 'linux').resolve('only-here.test', 4)).toMatchObject([
      { address: '192.0.2.7' },
    ]);
    await expect(new HostResolver(files, 'darwin').resolve('only-here.test', 4)).rejects.toMatchObject({
      name: 'ResolveError',
    });
  });
});
