import type { IpFamily } from '../resolver.ts';

interface ErrorWords {
  readonly family: IpFamily;
  readonly type: number;
  readonly code: number;
  readonly words: string;
}

/**
 * The ICMP errors that can come back for an echo request (RFC 792, RFC 1812, RFC 4443), in the words the `ping` program uses
 * for them.
 */
const table: readonly ErrorWords[] = [
  ...unreachables(4, 3, [
    'destination net unreachable',
    'destination host unreachable',
    'destination protocol unreachable',
    'destination port unreachable',
    'frag needed and df set',
    'source route failed',
    'destination net unknown',
    'destination host unknown',
    'source host isolated',
    'destination net prohibited',
    'destination host prohibited',
    'destination net unreachable for type of service',
    'destination host unreachable for type of service',
    'packet filtered',
    'precedence violation',
    'precedence cutoff',
  ]),
  ...unreachables(4, 11, ['time to live exceeded', 'frag reassembly time exceeded']),
  ...unreachables(6, 1, [
    'destination unreachable: no route',
    'destination unreachable: administratively prohibited',
    'destination unreachable: beyond scope of source address',
    'destination unreachable: address unreachable',
    'destination unreachable: port unreachable',
    'destination unreachable: source address failed policy',
    'destination unreachable: reject route',
  ]),
  ...unreachables(6, 2, ['packet too big']),
  ...unreachables(6, 3, ['time exceeded: hop limit', 'time exceeded: defragmentation failure']),
];

function unreachables(family: IpFamily, type: number, words: readonly string[]): ErrorWords[] {
  return words.map((text, code) => ({ family, type, code, words: text }));
}

/** What an ICMP error says, such as `destination host unreachable (type 3, code 1)`. */
export function describeIcmpError(family: IpFamily, type: number, code: number): string {
  const known = table.find((entry) => entry.family === family && entry.type === type && entry.code === code);
  return `${known?.words ?? 'ICMP error'} (type ${type}, code ${code})`;
}

/** The type and code that words of the `ping` program stand for, or undefined when it uses others. */
export function findIcmpError(
  family: IpFamily,
  words: string,
): { readonly type: number; readonly code: number } | undefined {
  const text = words.toLowerCase();
  // The longest that fits: some begin like others.
  const fitting = table.filter((entry) => entry.family === family && text.startsWith(entry.words));
  return fitting.sort((left, right) => right.words.length - left.words.length)[0];
}
