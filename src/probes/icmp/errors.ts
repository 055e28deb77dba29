import type { IcmpBackend } from './backend.ts';

/** Why a train of echo requests has no answers that could be judged; the kinds are among those of connections. */
export type IcmpErrorKind =
  | 'name-not-found'
  | 'resolver-unavailable'
  | 'egress-denied'
  /** The time limit passed before all requests had their time. */
  | 'response-timeout'
  | 'network-unavailable'
  | 'out-of-resources'
  | 'aborted';

/** Returned as a value, never thrown across the probe's boundary. */
export class IcmpProbeError extends Error {
  readonly kind: IcmpErrorKind;

  constructor(kind: IcmpErrorKind, message: string) {
    super(message);
    this.name = 'IcmpProbeError';
    this.kind = kind;
  }
}

const resourceErrnos: ReadonlySet<string> = new Set(['ENOBUFS', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE']);

/** What it means that this host did not send a request: the location's network, or this agent's resources. */
export function unsentError(errno: string, address: string, { description }: IcmpBackend): IcmpProbeError {
  const kind = resourceErrnos.has(errno) ? 'out-of-resources' : 'network-unavailable';
  return new IcmpProbeError(kind, `echo requests to ${address} cannot be sent: ${errno} (${description})`);
}
