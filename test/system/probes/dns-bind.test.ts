import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RecordType, recordTypes } from '../../../src/lib/dns-record-type.ts';
import { type DnsProtocol, type DnsReply, queryDns } from '../../../src/probes/dns/query.ts';
import { queryName, reverseName } from '../../../src/probes/dns/wire/name.ts';
import { queryControls } from '../../helpers/dns/controls.ts';
import { dig, type NamedServer, startNamed, whyNoNamed } from '../../helpers/dns/named.ts';
import { bigStrings, dottedZone, fullZone, reverseZone } from '../../helpers/dns/zone.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const reason = whyNoNamed();

describe.skipIf(reason !== null)(`queries to BIND${reason === null ? '' : ` (${reason})`}`, () => {
  let named: NamedServer;
  beforeAll(async () => {
    const authority = await createAuthority();
    setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
    named = await startNamed({
      zones: {
        'example.test': fullZone,
        '2.0.192.in-addr.arpa': reverseZone,
        'dotted.test': dottedZone,
        'broken.test': 'no zone at all',
      },
      identity: await authority.issue({ hosts: ['localhost', '127.0.0.1'] }),
    });
  });
  afterAll(() => named?.stop());

  function ask(name: string, type: RecordType, protocol: DnsProtocol = 'UDP'): Promise<DnsReply> {
    const ports = { UDP: named.port, TCP: named.port, DOT: named.tlsPort, DOH: named.httpsPort };
    const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port: ports[protocol] };
    return queryDns({ name, type }, server, { protocol }, queryControls());
  }

  /** dig shows only TXT differently: quoted strings, bytes as \DDD. */
  function withoutQuotes(text: string): string {
    const strings = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, inner = '']) =>
      inner.replaceAll(/\\(\d{3})|\\(.)/g, (_, code: string | undefined, character: string) =>
        code === undefined ? character : String.fromCharCode(Number(code)),
      ),
    );
    return Buffer.from(strings.join(''), 'latin1').toString('utf8');
  }

  const names: readonly (readonly [RecordType, string])[] = [
    ['A', 'www.example.test'],
    ['AAAA', 'www.example.test'],
    ['AAAA', 'six.example.test'],
    ['AAAA', 'mapped.example.test'],
    ['AAAA', 'zeros.example.test'],
    ['AAAA', 'compatible.example.test'],
    // Bytes with a special meaning in zone files.
    ['CNAME', 'odd.example.test'],
    ['MX', 'odd-mail.example.test'],
    ['SRV', 'odd-service.example.test'],
    ['SVCB', 'odd-binding.example.test'],
    ['A', 'a@b.example.test'],
    ['SOA', 'dotted.test'],
    ['CNAME', 'alias.example.test'],
    ['MX', 'example.test'],
    ['TXT', 'example.test'],
    ['TXT', 'text.example.test'],
    ['TXT', 'big.example.test'],
    ['SOA', 'example.test'],
    ['NS', 'example.test'],
    ['CAA', 'example.test'],
    ['SRV', '_sip._tcp.example.test'],
    ['PTR', '1.2.0.192.in-addr.arpa'],
    ['DS', 'child.example.test'],
    ['DNSKEY', 'example.test'],
    ['TLSA', '_443._tcp.example.test'],
    ['HTTPS', 'example.test'],
    ['SVCB', 'svc.example.test'],
    // Aliases, wildcards, upper and lower case.
    ['A', 'alias3.example.test'],
    ['A', 'elsewhere.example.test'],
    ['A', 'dead.example.test'],
    ['A', 'loop1.example.test'],
    ['A', 'anything.at.wild.example.test'],
    ['A', 'WwW.eXample.TEST'],
    // No records: missing type, missing name, broken zone, and a zone on another server.
    ['MX', 'www.example.test'],
    ['A', 'nothing.example.test'],
    ['A', 'www.broken.test'],
    ['A', 'www.somebody-else.test'],
  ];

  it('cover every record type', () => {
    expect(new Set(names.map(([type]) => type))).toEqual(new Set(recordTypes));
  });

  it.each(names)('yield for %s %s what dig shows', async (type, name) => {
    const { message } = await ask(name, type);
    const seen = await dig(named.port, name, type);
    expect(message.responseCode).toBe(seen.status);
    const flags = Object.entries(message.flags).flatMap(([flag, isSet]) => (isSet ? flag.toLowerCase() : []));
    expect(flags.sort()).toEqual(seen.flags);
    const answers = message.answers.map((record) => ({
      name: record.name,
      type: record.type,
      text: record.text,
    }));
    const wanted = seen.answers.map((record) =>
      record.type === 'TXT' ? { ...record, text: withoutQuotes(record.text) } : record,
    );
    // Record sets are unordered.
    expect(new Set(answers)).toEqual(new Set(wanted));
    expect(answers).toHaveLength(wanted.length);
  });

  it.each(['UDP', 'TCP', 'DOT', 'DOH'] as const)('get the same reply over %s', async (protocol) => {
    const { message, isRetriedOverTcp, elapsedMs } = await ask('www.example.test', 'A', protocol);
    expect(message.responseCode).toBe('NOERROR');
    expect(message.answers.map(({ text }) => text).sort()).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(message.answers[0]).toMatchObject({ name: 'www.example.test.', type: 'A', ttlSeconds: 300 });
    expect(isRetriedOverTcp).toBe(false);
    expect(elapsedMs).toBeGreaterThan(0);
  });

  it('retry over TCP when the reply is truncated', async () => {
    const { message, isRetriedOverTcp } = await ask('big.example.test', 'TXT');
    expect(isRetriedOverTcp).toBe(true);
    expect(message.flags.TC).toBe(false);
    expect(message.answers[0]?.text).toBe(bigStrings.join(''));
    const whole = await ask('big.example.test', 'TXT', 'TCP');
    expect(whole.isRetriedOverTcp).toBe(false);
    expect(whole.message.answers).toEqual(message.answers);
  });

  it('reach a server over IPv6', async () => {
    const server = { hostname: '::1', address: '::1', family: 6 as const, port: named.port };
    const question = { name: 'www.example.test', type: 'AAAA' } as const;
    const { message } = await queryDns(question, server, { protocol: 'UDP' }, queryControls());
    expect(message.answers.map(({ text }) => text)).toEqual(['2001:db8::1']);
  });

  it('request no recursion if disabled, like dig', async () => {
    const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port: named.port };
    const question = { name: 'www.example.test', type: 'A', recursionDesired: false } as const;
    const { message } = await queryDns(question, server, { protocol: 'UDP' }, queryControls());
    const seen = await dig(named.port, 'www.example.test', 'A', '+norecurse');
    expect([message.flags.RD, seen.flags.includes('rd')]).toEqual([false, false]);
    expect((await ask('www.example.test', 'A')).message.flags.RD).toBe(true);
  });

  it("query the server's own information, in the class CH", async () => {
    const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port: named.port };
    for (const type of ['TXT', 'NS'] as const) {
      const question = { name: 'version.bind', type, class: 'CH' } as const;
      const { message } = await queryDns(question, server, { protocol: 'UDP' }, queryControls());
      const seen = await dig(named.port, 'version.bind', type, '-c', 'CH');
      expect(seen.answers).toHaveLength(1);
      const wanted = seen.answers.map(({ text }) => (type === 'TXT' ? withoutQuotes(text) : text));
      expect(message.answers.map(({ text }) => text)).toEqual(wanted);
    }
  });

  it('query names of other scripts and addresses', async () => {
    const idn = queryName('Bücher.example.test') ?? '';
    expect((await ask(idn, 'A')).message.answers[0]?.text).toBe('192.0.2.88');
    const reversed = reverseName('192.0.2.1') ?? '';
    expect((await ask(reversed, 'PTR')).message.answers[0]?.text).toBe('www.example.test.');
  });

  it.each(['DOT', 'DOH'] as const)(
    'refuse a server over %s whose certificate is for another name',
    async (protocol) => {
      const port = protocol === 'DOT' ? named.tlsPort : named.httpsPort;
      const server = { hostname: 'dns.example', address: '127.0.0.1', family: 4 as const, port };
      const asking = queryDns({ name: 'a.test', type: 'A' }, server, { protocol }, queryControls());
      await expect(asking).rejects.toMatchObject({ name: 'ProbeError', kind: 'certificate-invalid' });
    },
  );
});
