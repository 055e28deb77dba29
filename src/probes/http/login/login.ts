import type { X509Certificate } from 'node:crypto';
import type { ResponseHeaders } from '../answer-head.ts';

/** Schemes by which a request logs in once the server asks for it, by their names in `WWW-Authenticate`. */
export type LoginScheme = 'Digest' | 'NTLM' | 'Negotiate';

/**
 * State of a login. `accepted`: the server took the credentials, whatever its answer; `refused`: it answered 401 to
 * complete credentials; `not-asked`: it answered without a challenge; `not-offered`: it offers other schemes only;
 * `unusable`: its challenge cannot be answered.
 */
export type LoginState = 'accepted' | 'refused' | 'not-asked' | 'not-offered' | 'unusable';

/** The request that a login belongs to. */
export interface LoginRequest {
  readonly method: string;
  /** Path and query, also if a proxy forwards the request. */
  readonly path: string;
  readonly hostname: string;
  readonly body: Buffer | undefined;
}

/** A response with 401, and the connection that it came on. */
export interface Challenged {
  readonly headers: ResponseHeaders;
  /** Returns the certificate of the target; undefined without TLS. Bound to the login, it stops relayed logins. */
  certificate(): X509Certificate | undefined;
}

/** Reaction of a login to a 401. */
export type Reaction =
  | {
      readonly kind: 'continue';
      /** Value of `Authorization` for the next request; a rejection ends the exchange. */
      readonly authorization: string | Promise<string>;
      /** Whether the next request has to use the same connection. */
      readonly isBound: boolean;
    }
  | { readonly kind: 'end' };

/** How far a login came. */
export interface LoginProgress {
  readonly state: LoginState;
  /** Facts in words, such as what is wrong with a challenge; null if there is nothing to say. */
  readonly reason: string | null;
  /** Schemes of the last challenge, in its order. */
  readonly offered: readonly string[];
  /** Algorithm of the credentials that were sent, such as `SHA-256`; null if the scheme has only one. */
  readonly algorithm: string | null;
}

/** The login of one run at one origin. */
export interface Login {
  readonly scheme: LoginScheme;
  readonly progress: LoginProgress;
  /** A new connection begins: a login of the last one is over. */
  begin(): void;
  /** Returns the value of `Authorization` for a request before any challenge, if the server named all it needs. */
  preemptive(request: LoginRequest): string | undefined;
  /** Reads a 401. */
  react(response: Challenged, request: LoginRequest): Reaction;
  /** Reads the headers of the final response, if it is not a 401. */
  accept(headers: ResponseHeaders): void;
  /** The run is over: ends what is still under way. */
  release?(): void;
}

/** Longest reason, in characters: parts of it come from servers. */
const longestReason = 300;

/** The progress of a login, which its scheme moves on. */
export class Progress implements LoginProgress {
  state: LoginState = 'not-asked';
  reason: string | null = null;
  offered: readonly string[] = [];
  algorithm: string | null = null;

  /** Ends the login after a 401. */
  end(state: Exclude<LoginState, 'accepted'>, reason: string | null = null): Reaction {
    this.state = state;
    this.reason = reason === null ? null : reason.slice(0, longestReason);
    return { kind: 'end' };
  }
}
