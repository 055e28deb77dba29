import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createEgressPolicy, type EgressSettings } from './policy.ts';

function policy(settings: Partial<EgressSettings> = {}) {
  return createEgressPolicy({ allow: '', deny: '', ownPorts: [], ...settings });
}

/** Whether a connection to an address, reached by a name, is allowed. */
function isOpen(settings: Partial<EgressSettings>, address: string, hostname = 'name.example'): boolean {
  return policy(settings).refusal({ hostname, address, port: 443 }) === undefined;
}

/** Spellings of 169.254.169.254 and 127.0.0.1 that some software accepts. */
const metadataSpellings = [
  '169.254.169.254',
  '169.254.43518',
  '169.16689662',
  '2852039166',
  '0xa9fea9fe',
  '0xA9.0xFE.0xA9.0xFE',
  '0251.0376.0251.0376',
  '0251.254.0xa9fe',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '[::ffff:a9fe:a9fe]',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::a9fe:a9fe',
  '::ffff:0:a9fe:a9fe',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::',
  '2002:a9fe:a9fe::1',
];
const loopbackSpellings = [
  '127.0.0.1',
  '127.1',
  '0177.1',
  '0x7f.1',
  '2130706433',
  '017700000001',
  '::ffff:7f00:1',
  '::7f00:1',
  '64:ff9b::7f00:1',
  '0.0.0.0',
  '0',
  '::ffff:0.0.0.0',
];

describe('the default policy', () => {
  it.each([
    '169.254.0.1',
    '169.254.255.255',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
  ])('closes %s', (address) => {
    const refusal = policy().refusal({ hostname: 'innocent.example', address, port: 80 });
    expect(refusal?.message).toMatch(
      /^a connection to \S+ \(innocent\.example\) is refused: .* closed by default/,
    );
    expect(refusal?.message).toContain(address);
  });

  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '127.0.0.1',
    '::1',
    'fd00::1',
    '8.8.8.8',
    '100.100.100.201',
  ])('leaves %s open', (address) => {
    expect(isOpen({}, address)).toBe(true);
  });

  it.each(metadataSpellings)('recognizes the metadata service as %s', (spelling) => {
    expect(isOpen({}, spelling)).toBe(false);
    expect(policy().refusal({ hostname: spelling })?.rule).toContain('169.254.0.0/16');
  });

  it('closes the names of metadata services to callers that cannot see their address', () => {
    expect(policy().refusal({ hostname: 'Metadata.Google.Internal.' })?.rule).toContain(
      'metadata.google.internal',
    );
    expect(policy().refusal({ hostname: 'example.com' })).toBeUndefined();
  });

  it('refuses a value that is not an address', () => {
    expect(policy().refusal({ hostname: 'a.example', address: 'b.example' })?.message).toBe(
      'a connection to b.example (a.example) is refused: it is no IP address',
    );
  });
});

describe('our own ports', () => {
  const own = { ownPorts: [8081] };

  it.each([...loopbackSpellings, '127.8.8.8', '::1', '::'])('are closed at %s', (address) => {
    const refusal = policy(own).refusal({ hostname: 'me.example', address, port: 8081 });
    expect(refusal?.rule).toContain("port 8081 of this host is the agent's own");
    expect(policy(own).refusal({ hostname: 'me.example', address, port: 8082 })).toBeUndefined();
  });

  it('are closed at every address of this host, and at no other', () => {
    for (const { address } of Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])) {
      expect(policy(own).refusal({ hostname: 'me.example', address, port: 8081 }), address).toBeDefined();
    }
    expect(policy(own).refusal({ hostname: 'other', address: '192.0.2.1', port: 8081 })).toBeUndefined();
  });

  it('are opened only by a rule for that very address', () => {
    const refused = (allow: string) =>
      policy({ ...own, allow }).refusal({ hostname: 'me', address: '127.0.0.1', port: 8081 }) !== undefined;
    expect([refused('127.0.0.0/8'), refused('*'), refused('me'), refused('127.0.0.1')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it('do not matter if there are no ports', () => {
    expect(policy(own).refusal({ hostname: '127.0.0.1', address: '127.0.0.1' })).toBeUndefined();
  });
});

describe('rules', () => {
  it.each(loopbackSpellings)('for 127.0.0.1 apply to %s', (spelling) => {
    expect(isOpen({ deny: '127.0.0.1' }, spelling)).toBe(false);
    expect(isOpen({ deny: '127.0.0.0/8' }, spelling)).toBe(false);
    expect(isOpen({ deny: '*', allow: '127.0.0.0/8' }, spelling)).toBe(true);
  });

  it.each([
    // The narrowest network decides, whichever list contains it.
    [{ deny: '10.0.0.0/8' }, '10.1.2.3', false],
    [{ deny: '10.0.0.0/8' }, '11.1.2.3', true],
    [{ deny: '10.0.0.0/8', allow: '10.1.0.0/16' }, '10.1.2.3', true],
    [{ deny: '10.0.0.0/8', allow: '10.1.0.0/16' }, '10.2.2.3', false],
    [{ deny: '10.1.2.3', allow: '10.1.0.0/16' }, '10.1.2.3', false],
    [{ deny: 'fd00::/8', allow: 'fd00:1::/32' }, 'fd00:1::5', true],
    // If both are equal, deny wins.
    [{ deny: '10.0.0.0/8', allow: '10.0.0.0/8' }, '10.1.2.3', false],
    // Only listed addresses.
    [{ deny: '*', allow: '10.0.0.0/8' }, '10.1.2.3', true],
    [{ deny: '*', allow: '10.0.0.0/8' }, '8.8.8.8', false],
    [{ deny: '*', allow: '10.0.0.0/8' }, '2001:db8::1', false],
    [{ deny: '*', allow: '10.0.0.0/8' }, '::ffff:10.1.2.3', true],
    [{ deny: '0.0.0.0/0' }, '2001:db8::1', true],
    [{ deny: '::ffff:10.0.0.0/104' }, '10.1.2.3', false],
    // Defaults are opened by an entry that is as narrow or narrower.
    [{ allow: '169.254.0.0/16' }, '169.254.169.254', true],
    [{ allow: '169.254.169.254' }, '169.254.169.254', true],
    [{ allow: '169.254.169.254' }, '169.254.169.253', false],
    [{ allow: '*' }, '169.254.169.254', false],
    [{ allow: '100.64.0.0/10' }, '100.100.100.200', false],
    [{ allow: '169.254.0.0/16', deny: '169.254.169.254' }, '169.254.169.254', false],
    [{ allow: 'fe80::/10' }, 'fe80::1%eth0', true],
  ] as const)('%j: %s is open: %s', (settings, address, open) => {
    expect(isOpen(settings, address)).toBe(open);
  });

  it.each([
    [{ deny: '*.prod.example' }, 'db.prod.example', '10.0.0.1', false],
    [{ deny: '*.prod.example' }, 'DB.Prod.Example.', '10.0.0.1', false],
    [{ deny: '*.prod.example' }, 'prod.example', '10.0.0.1', true],
    [{ deny: '*.example', allow: '*.prod.example' }, 'db.prod.example', '10.0.0.1', true],
    [{ deny: '*.prod.example', allow: '*.example' }, 'db.prod.example', '10.0.0.1', false],
    // A name and its address must both pass.
    [{ deny: '*.prod.example', allow: '10.0.0.0/8' }, 'db.prod.example', '10.0.0.1', false],
    [{ deny: '10.0.0.0/8', allow: '*.prod.example' }, 'db.prod.example', '10.0.0.1', false],
    // An allowed name overrides only a rule for everything.
    [{ deny: '*', allow: '*.prod.example' }, 'db.prod.example', '10.0.0.1', true],
    [{ deny: '*', allow: '*.prod.example' }, 'db.test.example', '10.0.0.1', false],
    [{ deny: '*', allow: '*.prod.example' }, 'db.prod.example', '169.254.169.254', false],
    [{ allow: 'metadata.google.internal' }, 'metadata.google.internal', '169.254.169.254', false],
    [
      { allow: 'metadata.google.internal,169.254.169.254' },
      'metadata.google.internal',
      '169.254.169.254',
      true,
    ],
  ] as const)('%j: %s at %s is open: %s', (settings, hostname, address, open) => {
    expect(isOpen(settings, address, hostname)).toBe(open);
  });

  it('judge a target by its name if a proxy resolves it', () => {
    const refused = (settings: Partial<EgressSettings>, hostname: string) =>
      policy(settings).refusal({ hostname, port: 80 }) !== undefined;
    expect(refused({ deny: '*', allow: '*.example' }, 'a.example')).toBe(false);
    expect(refused({ deny: '*', allow: '10.0.0.0/8' }, 'a.example')).toBe(true);
    expect(refused({ deny: '*', allow: '10.0.0.0/8' }, '10.0.0.1')).toBe(false);
    expect(refused({ deny: '::/0' }, 'a.example')).toBe(false);
    expect(refused({ deny: '10.0.0.0/8' }, '0xa.1')).toBe(true);
  });

  it('are named in the refusal', () => {
    const refusal = (deny: string) =>
      policy({ deny }).refusal({ hostname: 'db.prod.example', address: '10.0.0.1', port: 5432 });
    expect(refusal('1.1.1.1, 10.0.0.0/8')).toEqual({
      message: 'a connection to 10.0.0.1 (db.prod.example) is refused by the rule 10.0.0.0/8 of EGRESS_DENY',
      rule: 'by the rule 10.0.0.0/8 of EGRESS_DENY',
    });
    expect(refusal('*.prod.example')?.message).toBe(
      'a connection to db.prod.example is refused by the rule *.prod.example of EGRESS_DENY',
    );
  });

  it.each([
    [{}, 'a.example', true],
    [{ deny: '*' }, 'a.example', false],
    [{ deny: '*' }, 'data.1.2.3.4', false],
    [{ deny: '*' }, '10.0.0.1', false],
    [{ deny: '0.0.0.0/0, ::/0' }, 'a.example', false],
    [{ deny: '0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1' }, 'a.example', false],
    // The name may resolve to an allowed address.
    [{ deny: '0.0.0.0/0' }, 'a.example', true],
    [{ deny: '0.0.0.0/1, ::/0' }, 'a.example', true],
    [{ deny: '*', allow: '10.0.0.0/8' }, 'a.example', true],
    [{ deny: '*', allow: '10.1.2.3' }, 'a.example', true],
    [{ deny: '*, 10.0.0.0/8', allow: '10.0.0.0/8' }, 'a.example', false],
    // Only names that patterns allow.
    [{ deny: '*', allow: '*.shop.example' }, 'a.example', false],
    [{ deny: '*', allow: '*.shop.example' }, 'www.Shop.example.', true],
    [{ deny: '*, *.prod.shop.example', allow: '*.shop.example' }, 'db.prod.shop.example', false],
    [
      { deny: '*, 0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1', allow: '*.shop.example' },
      'www.shop.example',
      false,
    ],
    [{ deny: '*.prod.example' }, 'db.prod.example', false],
    [{ deny: '*.prod.example' }, 'db.test.example', true],
    [{ allow: '10.0.0.1' }, 'metadata.google.internal', false],
  ] as const)('%j: %s is looked up: %s', (settings, name, isLookedUp) => {
    const refusal = policy(settings).lookupRefusal(name);
    expect(refusal === undefined, refusal?.message).toBe(isLookedUp);
  });

  it('that prevent a lookup are named', () => {
    expect(policy({ deny: '*' }).lookupRefusal('a.example')).toEqual({
      message: 'a look-up of a.example is refused by the rule * of EGRESS_DENY',
      rule: 'by the rule * of EGRESS_DENY',
    });
    expect(policy({ deny: '*.example' }).lookupRefusal('a.example')?.message).toBe(
      'a look-up of a.example is refused by the rule *.example of EGRESS_DENY',
    );
  });

  it('that are invalid are an error', () => {
    expect(() => policy({ deny: '10.0.0.0/33' })).toThrow('10.0.0.0/33');
  });
});
