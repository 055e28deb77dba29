import { ProbeError } from '../../../connection/errors.ts';
import { challengesOf } from '../challenges.ts';
import { serverEndPoint } from '../channel-binding.ts';
import { type Challenged, type Login, type LoginRequest, Progress, type Reaction } from '../login.ts';
import { type KerberosIdentity, kerberosToken } from './kerberos.ts';

/** The Kerberos identity of the agent, and the hosts to which it may show it. */
export interface KerberosMeans extends KerberosIdentity {
  isAllowed(hostname: string): boolean;
}

/**
 * SPNEGO over HTTP (RFC 4559) with Kerberos and no other mechanism, by the identity of the agent. The token is bound to
 * the server's certificate over TLS, and delegates nothing.
 */
export class NegotiateLogin implements Login {
  readonly scheme = 'Negotiate';
  readonly progress = new Progress();
  readonly #means: KerberosMeans | undefined;
  readonly #stop = new AbortController();
  #isComplete = false;

  /** @param means absent if the agent has no Kerberos identity. */
  constructor(means: KerberosMeans | undefined) {
    this.#means = means;
  }

  begin(): void {
    this.#isComplete = false;
  }

  preemptive(): undefined {
    return undefined;
  }

  accept(): void {
    if (this.#isComplete) this.progress.state = 'accepted';
  }

  release(): void {
    this.#stop.abort();
  }

  react({ headers, certificate }: Challenged, { hostname }: LoginRequest): Reaction {
    const challenges = challengesOf(headers);
    this.progress.offered = challenges.map(({ scheme }) => scheme);
    if (this.#isComplete) return this.progress.end('refused');
    if (!challenges.some(({ scheme }) => scheme.toLowerCase() === 'negotiate')) {
      return this.progress.end('not-offered');
    }
    this.#isComplete = true;
    const binding = serverEndPoint(certificate())?.toString('base64');
    return { kind: 'continue', authorization: this.#token(hostname, binding), isBound: false };
  }

  async #token(hostname: string, binding: string | undefined): Promise<string> {
    if (!this.#means)
      throw refusal(
        'the agent has no Kerberos identity: its operator sets KERBEROS_KEYTAB or KERBEROS_TICKET_CACHE',
      );
    const { isAllowed, ...identity } = this.#means;
    if (!isAllowed(hostname)) throw refusal(`KERBEROS_SERVERS of the agent does not name ${hostname}`);
    return `Negotiate ${await kerberosToken({ ...identity, hostname, binding }, this.#stop.signal)}`;
  }
}

function refusal(message: string): ProbeError {
  return new ProbeError('login-unavailable', 'firstByte', message);
}
