// One-time codes (RFC 6238 over RFC 4226). Node's own crypto only: this runs wherever a script runs.
const { createHmac } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');

const algorithms = { SHA1: 'sha1', SHA256: 'sha256', SHA512: 'sha512' };
const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** A whole otpauth URL; secrets have some 16 to 128 characters. */
const longest = 4096;

/**
 * Returns a code, once it is valid for long enough. Nothing here shows the secret, errors neither.
 *
 * @param {string} secret in base32 (RFC 4648), with or without spaces, or an otpauth://totp URL.
 * @param {{ algorithm?: string, digits?: number, periodSeconds?: number, minRemainingSeconds?: number, at?: number | Date }} [options]
 *   override the parameters of the URL.
 * @param {((secret: string) => void)} [keepSecret] is told the secret, so that it is masked.
 */
async function totp(secret, options = {}, keepSecret = () => undefined) {
  if (typeof secret !== 'string' || secret.trim() === '') {
    throw new TypeError('totp: the secret is empty; is its variable set?');
  }
  if (secret.length > longest) throw new TypeError(`totp: the secret has more than ${longest} characters`);
  const parameters = /^\s*otpauth:/i.test(secret) ? parametersIn(secret.trim()) : { secret };
  // As it is written and as programs write it: both may turn up in a page or a log.
  const letters = lettersOf(parameters.secret);
  keepSecret(parameters.secret.trim());
  keepSecret(letters);
  const key = decoded(letters);
  const { algorithm, digits, periodSeconds } = settings({ ...parameters, ...given(options) });
  const { minRemainingSeconds = 0, at } = options;
  if (
    !(Number.isFinite(minRemainingSeconds) && minRemainingSeconds >= 0 && minRemainingSeconds < periodSeconds)
  ) {
    throw new RangeError(
      `totp: minRemainingSeconds must be from 0 to less than the period, ${periodSeconds}`,
    );
  }
  if (at !== undefined)
    return code(key, Math.floor(instant(at) / (periodSeconds * 1000)), { algorithm, digits });
  const periodMs = periodSeconds * 1000;
  for (;;) {
    const now = Date.now();
    const remainingMs = periodMs - (now % periodMs);
    if (remainingMs >= minRemainingSeconds * 1000) {
      return code(key, Math.floor(now / periodMs), { algorithm, digits });
    }
    // Timers may fire a little early.
    await sleep(remainingMs + 1);
  }
}

/** RFC 4226 section 5.3. */
function code(key, counter, { algorithm, digits }) {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const hash = createHmac(algorithm, key).update(message).digest();
  const offset = hash[hash.length - 1] & 0xf;
  const number = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

function settings({ algorithm = 'SHA1', digits = 6, periodSeconds = 30 }) {
  const name = String(algorithm)
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '');
  if (!Object.hasOwn(algorithms, name)) {
    throw new RangeError(`totp: the algorithm must be SHA1, SHA256 or SHA512, not ${algorithm}`);
  }
  if (!Number.isInteger(digits) || digits < 6 || digits > 10) {
    throw new RangeError(`totp: digits must be a whole number from 6 to 10, not ${digits}`);
  }
  if (!Number.isInteger(periodSeconds) || periodSeconds < 1 || periodSeconds > 3600) {
    throw new RangeError(`totp: periodSeconds must be a whole number from 1 to 3600, not ${periodSeconds}`);
  }
  return { algorithm: algorithms[name], digits, periodSeconds };
}

/** The options that were given; a misspelled one would be without effect. */
function given(options) {
  const known = ['algorithm', 'digits', 'periodSeconds', 'minRemainingSeconds', 'at'];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`totp: no option ${unknown}; there are ${known.join(', ')}`);
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Parameters of a URL as authenticator apps read it from a QR code. */
function parametersIn(text) {
  const url = URL.parse(text);
  if (!url) throw new TypeError('totp: the otpauth URL is not valid');
  if (url.host.toLowerCase() !== 'totp') {
    throw new TypeError(
      `totp: the URL is of type ${url.host}; only otpauth://totp codes depend on the time alone`,
    );
  }
  const secret = url.searchParams.get('secret') ?? '';
  if (secret.trim() === '') throw new TypeError('totp: the otpauth URL has no secret');
  const found = { secret };
  if (url.searchParams.has('algorithm')) found.algorithm = url.searchParams.get('algorithm');
  if (url.searchParams.has('digits')) found.digits = Number(url.searchParams.get('digits'));
  if (url.searchParams.has('period')) found.periodSeconds = Number(url.searchParams.get('period'));
  return found;
}

/** People copy secrets in any case, with spaces and hyphens, without padding. */
function lettersOf(text) {
  return text.replace(/[\s-]/g, '').replace(/=+$/, '').toUpperCase();
}

/** RFC 4648 section 6. */
function decoded(letters) {
  const bytes = [];
  let bits = 0;
  let value = 0;
  for (const letter of letters) {
    const index = base32.indexOf(letter);
    // The letter is part of a secret: it is not shown.
    if (index === -1)
      throw new TypeError(
        'totp: the secret is not base32: it has only the letters A to Z and the digits 2 to 7',
      );
    value = ((value << 5) | index) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >>> bits) & 0xff);
    }
  }
  if (bytes.length === 0) throw new TypeError('totp: the secret is too short');
  return Buffer.from(bytes);
}

function instant(at) {
  const ms = at instanceof Date ? at.getTime() : at;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) {
    throw new RangeError('totp: at must be a Date or milliseconds of Unix time');
  }
  return ms;
}

module.exports = { totp };
