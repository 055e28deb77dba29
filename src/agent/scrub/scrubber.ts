import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import {
  credentialHeaders,
  isCredentialHeader,
  mask,
  maskedHeaders,
} from '@picket/checks/judging/credential-headers.ts';
import {
  cleanText,
  hasUserInfo,
  minLongTextBytes,
  withoutSecrets,
} from '@picket/checks/secrets/clean-text.ts';
import { Masking } from '@picket/checks/secrets/masking.ts';
import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '@picket/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { isJsonNumber, type JsonNumber, jsonNumber } from '@picket/lib/json/exact-number.ts';
import { beginningOf } from '@picket/lib/text.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import { maxLiveLineLength } from '@picket/protocol/agent/live-log.ts';
import { withoutTokens } from './token-mask.ts';

declare const scrubbed: unique symbol;

/**
 * A value from which secrets were removed. Only this file can create one. Code that stores, logs or sends results
 * accepts no other type, so forgetting to scrub does not compile.
 */
export type Scrubbed<T> = T & { readonly [scrubbed]: true };

/** Values learned later that one scrubber removes. */
const maxLearned = 500;

/** A credential header as a key in JSON text. Inside a string the quotes would be escaped. */
const credentialKey = new RegExp(`"(?:${[...credentialHeaders].join('|')})":`, 'i');

/** Maps whose keys come from outside and may therefore contain a secret, as may their numbers; other maps are ours. */
const openMaps: ReadonlySet<string> = new Set(['headers', 'params', 'actual', 'target']);

/** The service's length limit for failure messages; a mask may be longer than the text it replaces. */
const maxFailureMessageLength = 4096;

/** A report without the runner's detail, which is sent as a separate text. */
export type Envelope = Omit<ResultReport, 'detail'>;

/**
 * Removes secrets from one run's report: the values of its secret variables, the agent's own secrets, credential
 * headers and user info in URLs. Covers texts, keys of header and parameter maps, and numbers that assertions compare.
 */
export class Scrubber {
  /** Finds secrets in bytes; for content that is scrubbed as a file. */
  get finder(): SecretFinder {
    // Made anew when it is needed: at the start of an agent many secrets are learned one after the other.
    this.#finder ??= new SecretFinder(this.#secrets.union(this.#learned), credentialHeaderShapes());
    return this.#finder;
  }

  #finder: SecretFinder | undefined;
  readonly #secrets: ReadonlySet<string>;
  readonly #learned = new Set<string>();

  /** @param secrets values to remove; values that `isMaskable` rejects are skipped. */
  constructor(secrets: Iterable<string>) {
    this.#secrets = new Set(secrets);
    this.#finder = new SecretFinder(this.#secrets, credentialHeaderShapes());
  }

  /**
   * Removes these values from now on, too: secrets that became known later. Of those the ones that were learned first
   * are forgotten, so that credentials that change every few minutes do not add up.
   */
  learn(secrets: readonly string[]): void {
    const isNew = secrets.some((secret) => !this.#learned.has(secret));
    for (const secret of secrets) {
      this.#learned.delete(secret);
      this.#learned.add(secret);
    }
    if (!isNew) return;
    const surplus = Math.max(0, this.#learned.size - maxLearned);
    for (const secret of [...this.#learned].slice(0, surplus)) this.#learned.delete(secret);
    this.#finder = undefined;
  }

  /** Scrubs one text. */
  text(text: string): Scrubbed<string> {
    return this.#clean(text) as Scrubbed<string>;
  }

  /**
   * A report's envelope as JSON text. Only its messages and failure details come from outside; ids, times and codes are
   * kept, because an id must not change if part of it happens to look like a secret.
   */
  envelope(envelope: Envelope): Scrubbed<string> {
    const { failure, errorMessages } = envelope;
    if (!failure && errorMessages.length === 0) return JSON.stringify(envelope) as Scrubbed<string>;
    return JSON.stringify({
      ...envelope,
      failure: failure && {
        ...failure,
        message: this.#clean(failure.message).slice(0, maxFailureMessageLength),
        // Always present, even if empty: services recognize older agents by its absence.
        details: this.#walk(failure.details ?? {}, false),
      },
      errorMessages: errorMessages.map((message) => this.#clean(message)),
    }) as Scrubbed<string>;
  }

  /**
   * Serializes a value as JSON text without secrets.
   *
   * Most results contain no secret. A search of their JSON text shows that, and saves a second walk.
   */
  json(value: unknown): Scrubbed<string> {
    return this.#json(this.#withCleanLog(value));
  }

  /**
   * Serializes a value without a log of a run, if a single search shows that there is nothing to remove.
   *
   * @returns undefined if there may be, or if the value cannot be serialized: `json` then does the rest.
   */
  cleanJson(value: unknown): Scrubbed<string> | undefined {
    let text: string;
    try {
      text = JSON.stringify(value) ?? 'null';
    } catch (thrown) {
      if (!(thrown instanceof RangeError || thrown instanceof TypeError)) throw thrown;
      return undefined;
    }
    return credentialKey.test(text) || this.#isSuspect(text) ? undefined : (text as Scrubbed<string>);
  }

  /**
   * Scrubs the log of a run. Lines of one level are searched together, because a secret may span several lines; each
   * line keeps its entry.
   */
  log(entries: readonly LogEntry[]): Scrubbed<LogEntry>[] {
    const clean = entries.map(({ msg }) => msg);
    for (const level of new Set(entries.map((entry) => entry.level))) {
      const places = [...entries.keys()].filter((place) => entries[place]?.level === level);
      const lines = this.#withoutSecretsAcross(places.map((place) => entries[place]?.msg ?? ''));
      for (const [index, place] of places.entries()) clean[place] = lines[index] ?? '';
    }
    return entries.map((entry, place) => ({
      ...entry,
      msg: this.#clean(clean[place] ?? ''),
    })) as unknown as Scrubbed<LogEntry>[];
  }

  /**
   * The same for lines that leave while their run goes. They also lose what looks like a token, because not all
   * credentials of the run are known yet.
   */
  liveLog(entries: readonly LogEntry[]): Scrubbed<LogEntry>[] {
    return this.log(entries).map((entry) => ({
      ...entry,
      msg: beginningOf(withoutTokens(entry.msg), maxLiveLineLength),
    })) as unknown as Scrubbed<LogEntry>[];
  }

  /** A detail with a scrubbed log: a list, or a list for each stage of the run. */
  #withCleanLog(value: unknown): unknown {
    if (this.finder.isEmpty || !hasLog(value)) return value;
    const { jobLog } = value;
    if (Array.isArray(jobLog)) return { ...value, jobLog: this.log(jobLog) };
    const stages = Object.entries(jobLog).map(([stage, entries]) => [stage, this.log(entries)]);
    return { ...value, jobLog: Object.fromEntries(stages) };
  }

  #json(value: unknown): Scrubbed<string> {
    let text = JSON.stringify(value) ?? 'null';
    // A replacer makes JSON.stringify five times slower, so it is used only if there is something to replace.
    if (credentialKey.test(text)) text = JSON.stringify(value, maskCredentialHeaders);
    if (!this.#isSuspect(text)) return text as Scrubbed<string>;
    // Never replace in the JSON text itself: a secret such as `true,"x` or `123456` would match its structure.
    return JSON.stringify(this.#walk(JSON.parse(text, withExactNumbers), false)) as Scrubbed<string>;
  }

  #isSuspect(jsonText: string): boolean {
    if (!this.finder.isEmpty) {
      if (jsonText.length >= minLongTextBytes) return true;
      if (this.finder.find(briefly(jsonText)).length > 0) return true;
    }
    return hasUserInfo(jsonText);
  }

  #walk(value: unknown, areKeysOpen: boolean): unknown {
    if (typeof value === 'string') return this.#clean(value);
    if (isJsonNumber(value)) return areKeysOpen ? this.#cleanNumber(value) : value;
    if (Array.isArray(value)) return value.map((item) => this.#walk(item, areKeysOpen));
    if (typeof value !== 'object' || value === null) return value;
    const isCredential = namesCredential(value as Record<string, unknown>);
    const copy: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const cleanKey = areKeysOpen ? this.#clean(key) : key;
      // Not an assignment: a key "__proto__" would set the prototype instead of a property.
      Object.defineProperty(copy, cleanKey, {
        value:
          isCredentialHeader(key) || (isCredential && key === 'value')
            ? withoutTexts(item)
            : this.#walk(item, areKeysOpen || openMaps.has(key)),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return copy;
  }

  /** Returns the mask if the digits of a number contain a secret. */
  #cleanNumber(value: JsonNumber): JsonNumber | string {
    const digits = String(value);
    return withoutSecrets(this.finder, digits) === digits ? value : mask;
  }

  /** Scrubs lines, including secrets that continue from one line to the next. */
  #withoutSecretsAcross(lines: readonly string[]): readonly string[] {
    const bytes = lines.map((line) => Buffer.from(`${line}\n`));
    const all = Buffer.concat(bytes);
    const ranges = this.finder.find(all);
    if (ranges.length === 0) return lines;
    const replacements = new Masking(mask).replacements(all, ranges);
    let start = 0;
    return bytes.map((line, index) => {
      const end = start + line.length - 1;
      let clean = '';
      let at = start;
      for (const replacement of replacements) {
        if (replacement.end <= start || replacement.start >= end) continue;
        if (replacement.start > at) clean += line.toString('utf8', at - start, replacement.start - start);
        clean += replacement.text;
        at = replacement.end;
      }
      const rest = at < end ? line.toString('utf8', at - start, line.length - 1) : '';
      start = end + 1;
      return clean === '' ? (lines[index] ?? '') : clean + rest;
    });
  }

  #clean(text: string): string {
    return cleanText(this.finder, text);
  }
}

let scratch: Buffer | undefined;

/** The bytes of a text that is not long, until the next call: a buffer for each result would be garbage at once. */
function briefly(text: string): Buffer {
  scratch ??= Buffer.allocUnsafeSlow(3 * minLongTextBytes);
  return scratch.subarray(0, scratch.write(text));
}

/** Reviver for JSON.parse: keeps the digits of numbers that a double cannot represent. */
function withExactNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? jsonNumber(context.source) : value;
}

/** Whether a detail has a log of its run: a list of entries, or one for each stage. */
function hasLog(value: unknown): value is { readonly jobLog: LogEntry[] | Record<string, LogEntry[]> } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'jobLog' in value &&
    value.jobLog !== null &&
    typeof value.jobLog === 'object'
  );
}

/** Replacer for JSON.stringify: masks the values of credential headers in every map called `headers`. */
function maskCredentialHeaders(key: string, value: unknown): unknown {
  if (key !== 'headers' || typeof value !== 'object' || value === null) return value;
  return maskedHeaders(value as Record<string, unknown>);
}

/** Whether it is an entry of a header list whose name marks its value as a credential. */
function namesCredential({ name, key }: Readonly<Record<string, unknown>>): boolean {
  return [name, key].some((one) => typeof one === 'string' && isCredentialHeader(one));
}

/** Masks the value of a credential header: a single one, or a list. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  return typeof value === 'string' && value !== '' ? mask : value;
}
