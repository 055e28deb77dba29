import { createHash, randomBytes } from 'node:crypto';
import { headerOfText } from '@picket/lib/wire/header-text.ts';
import type { ResponseHeaders } from '../answer-head.ts';
import { type Challenge, challengesOf } from './challenges.ts';
import { type Challenged, type Login, type LoginRequest, Progress, type Reaction } from './login.ts';

/** Hashes by algorithm (RFC 7616 section 6.1), the strongest first. */
const hashes: readonly (readonly [algorithm: string, hash: string])[] = [
  ['SHA-512-256', 'sha512-256'],
  ['SHA-256', 'sha256'],
  ['MD5', 'md5'],
];
/** Longest realm, nonce or opaque value, in characters: a response repeats them. */
const longestValue = 8_192;
/** Characters that no header may have (RFC 9110 section 5.5). */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** A challenge that can be answered. */
interface Space {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  /** As written; undefined if the challenge names none, which means MD5. */
  readonly algorithm: string | undefined;
  readonly hash: string;
  readonly isSession: boolean;
  readonly qop: 'auth' | 'auth-int' | undefined;
  readonly isUserHashed: boolean;
  readonly isUtf8: boolean;
  readonly rank: number;
}

/**
 * Digest access authentication (RFC 7616; without `qop` as in RFC 2069). Of several challenges it answers the one with
 * the strongest hash. Names and passwords are sent in UTF-8.
 */
export class DigestLogin implements Login {
  readonly scheme = 'Digest';
  readonly progress = new Progress();
  readonly #username: string;
  readonly #password: string;
  readonly #newNonce: () => string;
  #space: Space | undefined;
  /** The client's nonce, and how many requests have used it with the server's. */
  #clientNonce = '';
  #count = 0;
  #isSent = false;
  /** Challenges answered since the connection began, apart from those for a stale nonce. */
  #hasAnswered = false;
  #hasRenewed = false;

  /** @param newNonce returns a nonce of the client; random unless a test compares responses. */
  constructor(
    { username, password }: { readonly username: string; readonly password: string },
    newNonce: () => string = () => randomBytes(18).toString('base64url'),
  ) {
    this.#username = username;
    this.#password = password;
    this.#newNonce = newNonce;
  }

  /** A nonce outlives its connection. */
  begin(): void {
    this.#hasAnswered = false;
    this.#hasRenewed = false;
  }

  preemptive(request: LoginRequest): string | undefined {
    return this.#space && this.#credentials(this.#space, request);
  }

  react({ headers }: Challenged, request: LoginRequest): Reaction {
    const challenges = challengesOf(headers);
    this.progress.offered = challenges.map(({ scheme }) => scheme);
    const own = challenges.filter(({ scheme }) => scheme.toLowerCase() === 'digest');
    if (own.length === 0) return this.progress.end('not-offered');
    const [space] = own
      .flatMap((challenge) => spaceOf(challenge) ?? [])
      .toSorted((one, other) => one.rank - other.rank);
    if (!space) return this.progress.end('unusable', unusable(own));
    if (this.#hasAnswered && (this.#hasRenewed || !own.some(isStale))) return this.progress.end('refused');
    this.#hasRenewed = this.#hasAnswered;
    this.#hasAnswered = true;
    this.#adopt(space);
    return { kind: 'continue', authorization: this.#credentials(space, request), isBound: false };
  }

  accept(headers: ResponseHeaders): void {
    if (this.#isSent) this.progress.state = 'accepted';
    const info = headers['authentication-info'];
    const text = typeof info === 'object' ? info.join(', ') : (info ?? '');
    const [next] = challengesOf({ 'www-authenticate': `Info ${text}` });
    const nonce = next?.parameters.get('nextnonce');
    if (this.#space && nonce !== undefined && nonce.length <= longestValue)
      this.#adopt({ ...this.#space, nonce });
  }

  #adopt(space: Space): void {
    this.#space = space;
    this.#clientNonce = this.#newNonce();
    this.#count = 0;
  }

  #credentials(space: Space, { method, path, body }: LoginRequest): string {
    const { realm, nonce, opaque, algorithm, hash, qop, isSession, isUserHashed, isUtf8 } = space;
    // Texts of headers have one character per byte.
    const [username, password] = [headerOfText(this.#username), headerOfText(this.#password)];
    const hashed = (...parts: readonly string[]) =>
      createHash(hash).update(parts.join(':'), 'latin1').digest('hex');
    this.#isSent = true;
    this.#count += 1;
    this.progress.algorithm = algorithm ?? 'MD5';
    const count = this.#count.toString(16).padStart(8, '0');
    const cnonce = this.#clientNonce;
    const secret = hashed(username, realm, password);
    const first = isSession ? hashed(secret, nonce, cnonce) : secret;
    const entity = createHash(hash)
      .update(body ?? '')
      .digest('hex');
    const second = qop === 'auth-int' ? hashed(method, path, entity) : hashed(method, path);
    const response = qop ? hashed(first, nonce, count, cnonce, qop, second) : hashed(first, nonce, second);
    const isExtended = isUtf8 && !isUserHashed && /[^\x20-\x7e]/.test(username);
    const fields = [
      isExtended
        ? `username*=UTF-8''${extendedValue(this.#username)}`
        : `username=${inQuotes(isUserHashed ? hashed(username, realm) : username)}`,
      `realm=${inQuotes(realm)}`,
      `uri=${inQuotes(path)}`,
      ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
      `nonce=${inQuotes(nonce)}`,
      ...(qop || isSession ? [`nc=${count}`, `cnonce=${inQuotes(cnonce)}`] : []),
      ...(qop ? [`qop=${qop}`] : []),
      `response="${response}"`,
      ...(opaque === undefined ? [] : [`opaque=${inQuotes(opaque)}`]),
      ...(isUserHashed ? ['userhash=true'] : []),
    ];
    return `Digest ${fields.join(', ')}`;
  }
}

/** Reads a challenge; undefined if it has no usable nonce, or an unknown algorithm or quality of protection. */
function spaceOf({ parameters }: Challenge): Space | undefined {
  const realm = parameters.get('realm') ?? '';
  const nonce = parameters.get('nonce');
  const opaque = parameters.get('opaque');
  const algorithm = parameters.get('algorithm');
  const { name, isSession } = algorithmParts(algorithm);
  const rank = hashes.findIndex(([known]) => known === name);
  const hash = hashes[rank]?.[1];
  const offered = parameters
    .get('qop')
    ?.toLowerCase()
    .split(/[\s,]+/);
  const qop = (['auth', 'auth-int'] as const).find((one) => offered?.includes(one));
  const isOffered = offered === undefined || offered.every((one) => one === '') || qop !== undefined;
  if (nonce === undefined || hash === undefined || !isOffered) return undefined;
  if ([realm, nonce, opaque ?? ''].some((value) => value.length > longestValue || unsendable.test(value)))
    return undefined;
  return {
    ...{ realm, nonce, opaque, algorithm, hash, isSession, qop, rank },
    isUserHashed: parameters.get('userhash')?.toLowerCase() === 'true',
    isUtf8: parameters.get('charset')?.toLowerCase() === 'utf-8',
  };
}

function algorithmParts(algorithm = 'MD5'): { readonly name: string; readonly isSession: boolean } {
  const written = algorithm.toUpperCase();
  const isSession = written.endsWith('-SESS');
  return { name: isSession ? written.slice(0, -'-SESS'.length) : written, isSession };
}

function unusable(challenges: readonly Challenge[]): string {
  const shown = challenges.map(({ parameters }) => {
    if (!parameters.has('nonce')) return 'no nonce';
    return `algorithm ${parameters.get('algorithm') ?? 'MD5'}, qop ${parameters.get('qop') ?? 'absent'}`;
  });
  return `the Digest challenge cannot be answered: ${shown.join('; ')}`;
}

function isStale({ parameters }: Challenge): boolean {
  return parameters.get('stale')?.toLowerCase() === 'true';
}

function inQuotes(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Percent-encoding of RFC 8187 section 3.2. */
function extendedValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
