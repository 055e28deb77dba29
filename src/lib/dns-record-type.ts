/** Record types that checks accept and the engine queries. */
export const recordTypes = [
  'A',
  'AAAA',
  'CNAME',
  'MX',
  'TXT',
  'SOA',
  'NS',
  'CAA',
  'SRV',
  'PTR',
  'DS',
  'DNSKEY',
  'TLSA',
  'HTTPS',
  'SVCB',
] as const;
export type RecordType = (typeof recordTypes)[number];

/** Query classes and their numbers: the internet, Chaosnet (servers' information about themselves), Hesiod. */
export const dnsClasses = { IN: 1, CH: 3, HS: 4 } as const;
export type DnsClass = keyof typeof dnsClasses;
export const dnsClassNames = Object.keys(dnsClasses) as [DnsClass, ...DnsClass[]];

/** Types with the same meaning in every class; all others belong to the internet class. */
export const typesOfAnyClass: ReadonlySet<RecordType> = new Set(['CNAME', 'MX', 'NS', 'PTR', 'SOA', 'TXT']);

/** Types without a name in the codec, which would silently encode their own names as type 0. */
const codecNames: Readonly<Record<string, string>> = { HTTPS: 'UNKNOWN_65', SVCB: 'UNKNOWN_64' };
const ownNames: Readonly<Record<string, string>> = { UNKNOWN_65: 'HTTPS', UNKNOWN_64: 'SVCB' };

/** Returns the codec's name for a type. */
export function codecType(type: RecordType): string {
  return codecNames[type] ?? type;
}

/** Returns the usual name of a decoded type; `TYPE123` for types without one (RFC 3597 section 5). */
export function typeName(codecName: string): string {
  return ownNames[codecName] ?? codecName.replace(/^UNKNOWN_/, 'TYPE');
}
