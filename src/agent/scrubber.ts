import type { ResultReport } from '../protocol/agent.ts';
import { jsonEscaped, secretForms } from './needle.ts';

declare const scrubbed: unique symbol;

/**
 * A value from which secrets were removed. Only this file can make one; what stores, logs or sends results takes
 * nothing else, so forgetting to scrub does not compile.
 */
export type Scrubbed<T> = T & { readonly [scrubbed]: true };

export const mask = '*********';

/** Secrets shorter than this are not masked: they would match by chance and destroy results. They are told by name. */
export const minSecretLength = 6;

/** Values that are in most texts anyway; masking them would hide everything and protect nothing. */
const neverMasked: ReadonlySet<string> = new Set(['https://', 'http://', '/artifact/']);

/** Headers that carry credentials, whoever set them. */
const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'proxy-authorization',
]);

/** One of them as a key in JSON text. Inside a string the quotes would be escaped. */
const credentialKey = new RegExp(`"(?:${[...credentialHeaders].join('|')})":`, 'i');

/** Maps whose keys come from the outside and may therefore hold a secret; other keys are ours. */
const openMaps: ReadonlySet<string> = new Set(['headers', 'params', 'actual']);

/** `://user:password@` up to the at sign. Literal start and bounded length: linear on any text. */
const userInfo = /:\/\/[^\s/?#@"'<>\\]{1,1024}@/;
const everyUserInfo = new RegExp(userInfo, 'g');

/** The service accepts failure messages up to this length; a mask may be longer than what it hides. */
const maxFailureMessageLength = 4096;

/** A report without what the runner found out, which travels as a text of its own. */
export type Envelope = Omit<ResultReport, 'detail'>;

/**
 * Removes secrets from one run's report: the values of its secret variables, the agent's own secrets, credential
 * headers and user info in URLs. Covers texts, and keys of header and parameter maps; a secret that a target prints as
 * a JSON number, compressed, or split in pieces is not found.
 */
export class Scrubber {
  readonly #needles: readonly string[];
  /** The needles as they look in JSON text. */
  readonly #jsonNeedles: readonly string[];

  /** @param secrets values to remove; those that `isMaskable` refuses are skipped. */
  constructor(secrets: Iterable<string>) {
    const needles = new Set<string>();
    for (const secret of secrets) {
      if (!isMaskable(secret)) continue;
      for (const form of secretForms(secret)) needles.add(form);
    }
    this.#needles = [...needles].sort((a, b) => b.length - a.length);
    this.#jsonNeedles = [...new Set(this.#needles.map(jsonEscaped))];
  }

  /** One text without secrets. */
  text(text: string): Scrubbed<string> {
    return this.#clean(text) as Scrubbed<string>;
  }

  /**
   * A report's envelope as JSON text. Only its messages come from outside; ids, times and codes are left as they are,
   * because an id must not change when a secret happens to look like a part of it.
   */
  envelope(envelope: Envelope): Scrubbed<string> {
    const { failure, errorMessages } = envelope;
    return JSON.stringify({
      ...envelope,
      failure: failure && {
        ...failure,
        message: this.#clean(failure.message).slice(0, maxFailureMessageLength),
      },
      errorMessages: errorMessages.map((message) => this.#clean(message)),
    }) as Scrubbed<string>;
  }

  /**
   * A value as JSON text without secrets.
   *
   * Most results hold no secret. Those are recognised by a search through their JSON text and need no second walk.
   */
  json(value: unknown): Scrubbed<string> {
    let text = JSON.stringify(value) ?? 'null';
    // A replacer makes JSON.stringify five times as slow, so it is used only where there is something to replace.
    if (credentialKey.test(text)) text = JSON.stringify(value, maskCredentialHeaders);
    if (!this.#isSuspect(text)) return text as Scrubbed<string>;
    // Never replaced in the JSON text itself: a secret such as `true,"x` or `123456` would match its structure.
    return JSON.stringify(this.#walk(JSON.parse(text), false)) as Scrubbed<string>;
  }

  #isSuspect(jsonText: string): boolean {
    for (const needle of this.#jsonNeedles) if (jsonText.includes(needle)) return true;
    return jsonText.includes('@') && userInfo.test(jsonText);
  }

  #walk(value: unknown, areKeysOpen: boolean): unknown {
    if (typeof value === 'string') return this.#clean(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item, areKeysOpen));
    if (typeof value !== 'object' || value === null) return value;
    const copy: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const cleanKey = areKeysOpen ? this.#clean(key) : key;
      // Not an assignment: a key "__proto__" would set the prototype instead of a property.
      Object.defineProperty(copy, cleanKey, {
        value: this.#walk(item, areKeysOpen || openMaps.has(key)),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return copy;
  }

  #clean(text: string): string {
    let clean = text;
    for (const needle of this.#needles) {
      if (clean.includes(needle)) clean = clean.replaceAll(needle, mask);
    }
    return clean.includes('@') ? clean.replaceAll(everyUserInfo, `://${mask}@`) : clean;
  }
}

/** Whether a secret's value is long and special enough to be masked. */
export function isMaskable(secret: string): boolean {
  return secret.length >= minSecretLength && !neverMasked.has(secret);
}

/** Replacer for JSON.stringify: masks the values of credential headers in every map called `headers`. */
function maskCredentialHeaders(key: string, value: unknown): unknown {
  if (key !== 'headers' || typeof value !== 'object' || value === null) return value;
  let masked: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    if (!credentialHeaders.has(name.toLowerCase())) continue;
    masked ??= { ...value };
    masked[name] = mask;
  }
  return masked ?? value;
}

/** An envelope and its detail as one report. */
export function wholeReport(envelope: Scrubbed<string>, detail: Scrubbed<string>): Scrubbed<string> {
  return `${envelope.slice(0, -1)},"detail":${detail}}` as Scrubbed<string>;
}

/** The texts of a report whose detail is left out because of its size; the report says so. */
export function withoutDetail(envelope: Scrubbed<string>): {
  readonly envelopeJson: Scrubbed<string>;
  readonly detailJson: Scrubbed<string>;
} {
  const { errorMessages, ...rest } = JSON.parse(envelope) as Envelope;
  const note = 'The detail of this result was too large for the service and is left out.';
  return {
    envelopeJson: JSON.stringify({
      ...rest,
      errorMessages: [...errorMessages.slice(0, 199), note],
    }) as Scrubbed<string>,
    detailJson: 'null' as Scrubbed<string>,
  };
}
