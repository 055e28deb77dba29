/** Record types that can be asked for: what checks accept, and what the engine sends. */
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

/** Classes that can be asked for, and their numbers: the internet, Chaosnet (what servers say of themselves), Hesiod. */
export const dnsClasses = { IN: 1, CH: 3, HS: 4 } as const;
export type DnsClass = keyof typeof dnsClasses;
export const dnsClassNames = Object.keys(dnsClasses) as [DnsClass, ...DnsClass[]];

/** Types that mean the same in every class; all others are of the internet. */
export const typesOfAnyClass: ReadonlySet<RecordType> = new Set(['CNAME', 'MX', 'NS', 'PTR', 'SOA', 'TXT']);

/** Types the codec has no name for: by their own names it would silently encode type 0. */
const codecNames: Readonly<Record<string, string>> = { HTTPS: 'UNKNOWN_65', SVCB: 'UNKNOWN_64' };
const ownNames: Readonly<Record<string, string>> = { UNKNOWN_65: 'HTTPS', UNKNOWN_64: 'SVCB' };

/** What the codec calls a type. */
export function codecType(type: RecordType): string {
  return codecNames[type] ?? type;
}

/** The usual name of a type as the codec decoded it; `TYPE123` for types without one (RFC 3597 section 5). */
export function typeName(codecName: string): string {
  return ownNames[codecName] ?? codecName.replace(/^UNKNOWN_/, 'TYPE');
}
