import { randomBytes } from 'node:crypto';
import { challengesOf } from './challenges.ts';
import { serverEndPoint } from './channel-binding.ts';
import { type Challenged, type Login, type LoginRequest, Progress, type Reaction } from './login.ts';
import {
  authenticateMessage,
  type NtlmCredentials,
  negotiateMessage,
  readChallenge,
} from './ntlm-messages.ts';

/** Most characters of a challenge in Base64: real ones have a few hundred. */
const longestToken = 64 * 1024;

/**
 * NTLM over HTTP (MS-NTHT) with NTLMv2 responses. It logs in a connection: the server's challenge and the response to it
 * have to go over the same one. Over TLS the response is bound to the server's certificate ("extended protection").
 */
export class NtlmLogin implements Login {
  readonly scheme = 'NTLM';
  readonly progress = new Progress();
  readonly #credentials: NtlmCredentials;
  /** The first message, until the connection ends. */
  #negotiate: Buffer | undefined;
  #isComplete = false;

  constructor(credentials: NtlmCredentials) {
    this.#credentials = withDomain(credentials);
  }

  begin(): void {
    this.#negotiate = undefined;
    this.#isComplete = false;
  }

  preemptive(): undefined {
    return undefined;
  }

  accept(): void {
    if (this.#isComplete) this.progress.state = 'accepted';
  }

  react({ headers, certificate }: Challenged, { hostname }: LoginRequest): Reaction {
    const challenges = challengesOf(headers);
    this.progress.offered = challenges.map(({ scheme }) => scheme);
    const own = challenges.filter(({ scheme }) => scheme.toLowerCase() === 'ntlm');
    const token = own.find((challenge) => challenge.token !== undefined)?.token;
    if (this.#isComplete) return this.progress.end('refused');
    if (own.length === 0) return this.progress.end('not-offered');
    if (!this.#negotiate) {
      this.#negotiate = negotiateMessage();
      return this.#continue(this.#negotiate, false);
    }
    if (token === undefined) {
      return this.progress.end('unusable', 'the server answered the first NTLM message without a challenge');
    }
    const challenge =
      token.length > longestToken ? 'it is too long' : readChallenge(Buffer.from(token, 'base64'));
    if (typeof challenge === 'string') {
      return this.progress.end('unusable', `the NTLM challenge cannot be answered: ${challenge}`);
    }
    this.#isComplete = true;
    const message = authenticateMessage(this.#credentials, challenge, {
      negotiate: this.#negotiate,
      hostname,
      binding: serverEndPoint(certificate()),
      clientNonce: randomBytes(8),
      nowMs: Date.now(),
    });
    return this.#continue(message, true);
  }

  #continue(message: Buffer, isBound: boolean): Reaction {
    return { kind: 'continue', authorization: `NTLM ${message.toString('base64')}`, isBound };
  }
}

/** `DOMAIN\user` names both. A name with an @ stays whole, with an empty domain: the server resolves it. */
function withDomain({ username, password, domain }: NtlmCredentials): NtlmCredentials {
  const at = username.indexOf('\\');
  if (domain !== '' || at < 0) return { username, password, domain };
  return { username: username.slice(at + 1), password, domain: username.slice(0, at) };
}
