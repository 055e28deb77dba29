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
