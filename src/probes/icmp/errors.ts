import type { IpFamily } from '../address.ts';
import type { IcmpBackend } from './backend.ts';

/** Why a train of echo requests has no answers to evaluate; the kinds are a subset of those of connections. */
export type IcmpErrorKind =
  | 'name-not-found'
  | 'resolver-unavailable'
  | 'egress-denied'
  /** The time limit passed before every request had its full timeout. */
  | 'response-timeout'
  | 'network-unavailable'
  | 'out-of-resources'
  | 'aborted';

/** Returned as a value, never thrown across the probe's boundary. */
export class IcmpProbeError extends Error {
  readonly kind: IcmpErrorKind;
  readonly details: { readonly egressRule?: string };

  constructor(kind: IcmpErrorKind, message: string, details: IcmpProbeError['details'] = {}) {
    super(message);
    this.name = 'IcmpProbeError';
    this.kind = kind;
    this.details = details;
  }
}

const resourceErrnos: ReadonlySet<string> = new Set(['ENOBUFS', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE']);

/** Explains why this host did not send a request: the location's network, or this agent's resources. */
export function unsentError(
  errno: string,
  address: string,
  { description }: Pick<IcmpBackend, 'description'>,
  what = 'echo requests',
): IcmpProbeError {
  if (errno === 'EMSGSIZE') {
    const message = `${what} to ${address} of this size exceed the MTU of this location without fragmentation`;
    return new IcmpProbeError('network-unavailable', `${message} (${errno}, ${description})`);
  }
  const kind = resourceErrnos.has(errno) ? 'out-of-resources' : 'network-unavailable';
  return new IcmpProbeError(kind, `${what} to ${address} cannot be sent: ${errno} (${description})`);
}

interface ErrorWords {
  readonly family: IpFamily;
  readonly type: number;
  readonly code: number;
  readonly words: string;
}

/** ICMP errors in response to an echo request (RFC 792, RFC 1812, RFC 4443), in the wording of `ping`. */
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

/** Describes an ICMP error, such as `destination host unreachable (type 3, code 1)`. */
export function describeIcmpError(family: IpFamily, type: number, code: number): string {
  const known = table.find((entry) => entry.family === family && entry.type === type && entry.code === code);
  return `${known?.words ?? 'ICMP error'} (type ${type}, code ${code})`;
}
