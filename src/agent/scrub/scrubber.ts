import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import {
  credentialHeaders,
  isCredentialHeader,
  mask,
  maskedHeaders,
} from '@picket/checks/judging/credential-headers.ts';
import { isJsonNumber, type JsonNumber, jsonNumber } from '@picket/lib/json/exact-number.ts';
import type { LogDestination } from '@picket/lib/log-destination.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import { Masking, masked } from './masking.ts';
import { SecretFinder } from './secret-finder.ts';
import { credentialHeaderShapes } from './shapes/credentials/credential-header-shape.ts';
import { minCutBytes } from './shapes/cut-secrets.ts';

declare const scrubbed: unique symbol;

/**
 * A value from which secrets were removed. Only this file can make one; what stores, logs or sends results
 * takes nothing else, so forgetting to scrub does not compile.
 */
export type Scrubbed<T> = T & { readonly [scrubbed]: true };

/** Texts that are longer may have been cut at their end without a mark of it: bodies, answers of DNS. */
const minLongTextBytes = 60 * 1024;
/** At least this much of a secret at such an end is taken for it. */
const minCutAtEndBytes = 6;

/** A credential header as a key in JSON text. Inside a string the quotes would be escaped. */
const credentialKey = new RegExp(`"(?:${[...credentialHeaders].join('|')})":`, 'i');

/**
 * Maps whose keys come from the outside and may therefore hold a secret, as may their numbers; others are
 * ours.
 */
const openMaps: ReadonlySet<string> = new Set(['headers', 'params', 'actual', 'target']);

/** `://user:password@` up to the last at sign. Literal start and bounded length: linear on any text. */
const userInfo = /:\/\/[^\s/?#"'<>\\]{1,1024}@/;
const everyUserInfo = new RegExp(userInfo, 'g');

/** The service accepts failure messages up to this length; a mask may be longer than what it hides. */
const maxFailureMessageLength = 4096;

/** A report without what the runner found out, which travels as a text of its own. */
export type Envelope = Omit<ResultReport, 'detail'>;

/**
 * Removes secrets from one run's report: the values of its secret variables, the agent's own secrets,
 * credential headers and user info in URLs. Covers texts, keys of header and parameter maps, and numbers that
 * assertions compare.
 */
export class Scrubber {
  /** Finds secrets in bytes; for what is scrubbed as a file. */
  readonly finder: SecretFinder;

  /** @param secrets values to remove; those that `isMaskable` refuses are skipped. */
  constructor(secrets: Iterable<string>) {
    this.finder = new SecretFinder(secrets, credentialHeaderShapes());
  }

  /** One text without secrets. */
  text(text: string): Scrubbed<string> {
    return this.#clean(text) as Scrubbed<string>;
  }

  /**
   * A report's envelope as JSON text. Only its messages and the facts of its failure come from outside; ids, times and
   * codes are left as they are, because an id must not change when a secret happens to look like a part of it.
   */
  envelope(envelope: Envelope): Scrubbed<string> {
    const { failure, errorMessages } = envelope;
    return JSON.stringify({
      ...envelope,
      failure: failure && {
        ...failure,
        message: this.#clean(failure.message).slice(0, maxFailureMessageLength),
        // Always there, even without any: services tell older agents by that.
        details: this.#walk(failure.details ?? {}, false),
      },
      errorMessages: errorMessages.map((message) => this.#clean(message)),
    }) as Scrubbed<string>;
  }

  /**
   * A value as JSON text without secrets.
   *
   * Most results hold no secret. Those are recognised by a search through their JSON text and need no second
   * walk.
   */
  json(value: unknown): Scrubbed<string> {
    return this.#json(this.#withCleanLog(value));
  }

  /**
   * The log of a run without secrets. Lines of one level are looked at together, because a secret may have
   * several lines; each line keeps its entry.
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

  /** A detail with its log cleaned: a list, or a list for each stage of the run. */
  #withCleanLog(value: unknown): unknown {
    if (this.finder.isEmpty || !hasLog(value)) return value;
    const { jobLog } = value;
    if (Array.isArray(jobLog)) return { ...value, jobLog: this.log(jobLog) };
    const stages = Object.entries(jobLog).map(([stage, entries]) => [stage, this.log(entries)]);
    return { ...value, jobLog: Object.fromEntries(stages) };
  }

  #json(value: unknown): Scrubbed<string> {
    let text = JSON.stringify(value) ?? 'null';
    // A replacer makes JSON.stringify five times as slow, so it is used only where there is something to
    // replace.
    if (credentialKey.test(text)) text = JSON.stringify(value, maskCredentialHeaders);
    if (!this.#isSuspect(text)) return text as Scrubbed<string>;
    // Never replaced in the JSON text itself: a secret such as `true,"x` or `123456` would match its
    // structure.
    return JSON.stringify(this.#walk(JSON.parse(text, withExactNumbers), false)) as Scrubbed<string>;
  }

  #isSuspect(jsonText: string): boolean {
    if (!this.finder.isEmpty) {
      if (jsonText.length >= minLongTextBytes) return true;
      if (this.finder.find(Buffer.from(jsonText)).length > 0) return true;
    }
    return jsonText.includes('@') && userInfo.test(jsonText);
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

  /** A mask where the digits of a number hold a secret. */
  #cleanNumber(value: JsonNumber): JsonNumber | string {
    const digits = String(value);
    return this.#withoutSecrets(digits) === digits ? value : mask;
  }

  /** Lines without the secrets that stand in them or go on from one into the next. */
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
    const clean = this.#withoutSecrets(text);
    return clean.includes('@') ? clean.replaceAll(everyUserInfo, `://${mask}@`) : clean;
  }

  #withoutSecrets(text: string): string {
    if (this.finder.isEmpty || text.length < minCutBytes) return text;
    const bytes = Buffer.from(text);
    const ranges = this.finder.find(bytes);
    const isLong = bytes.length >= minLongTextBytes;
    const cutAt = isLong ? this.finder.cut.beginningBefore(bytes, bytes.length, minCutAtEndBytes) : -1;
    const end = ranges.at(-1)?.end ?? 0;
    if (cutAt >= 0 && end < bytes.length) ranges.push({ start: Math.max(cutAt, end), end: bytes.length });
    return ranges.length === 0 ? text : masked(bytes, ranges, mask).toString();
  }
}

/** Reviver for JSON.parse: numbers that no double holds keep their digits. */
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

/** Whether it is an entry of a list of headers, with a name that says that its value is a credential. */
function namesCredential({ name, key }: Readonly<Record<string, unknown>>): boolean {
  return [name, key].some((one) => typeof one === 'string' && isCredentialHeader(one));
}

/** The value of a credential header: one, or a list of them. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  return typeof value === 'string' && value !== '' ? mask : value;
}

/** A text that was scrubbed before it was put on the disk, where nothing else gets to. */
export function readBack(text: string): Scrubbed<string> {
  return text as Scrubbed<string>;
}

/** A report as two texts, so that one whose detail is too large can go without it. */
export interface ReportTexts {
  readonly envelopeJson: Scrubbed<string>;
  readonly detailJson: Scrubbed<string>;
}

/** An envelope and its detail as one report. */
export function wholeReport({ envelopeJson, detailJson }: ReportTexts): Scrubbed<string> {
  return `${envelopeJson.slice(0, -1)},"detail":${detailJson}}` as Scrubbed<string>;
}

/** The texts of a report whose detail is left out because of its size; the report says so. */
export function withoutDetail({ envelopeJson }: ReportTexts): ReportTexts {
  const { errorMessages, ...rest } = JSON.parse(envelopeJson) as Envelope;
  const note = 'The service rejected the detail of this result, so it was omitted.';
  return {
    envelopeJson: JSON.stringify({
      ...rest,
      errorMessages: [...errorMessages.slice(0, 199), note],
    }) as Scrubbed<string>,
    detailJson: 'null' as Scrubbed<string>,
  };
}

/**
 * A destination whose lines hold none of the agent's own secrets. Nobody logs what checks are made of, but
 * the message of an error of a library can quote anything.
 */
export function scrubbedLog(destination: LogDestination, ownSecrets: readonly string[]): LogDestination {
  const scrubber = new Scrubber(ownSecrets);
  return {
    write(line) {
      // A URL of anybody's may hold a password that the agent does not know.
      const isClean = !line.includes('@') && scrubber.finder.find(Buffer.from(line)).length === 0;
      destination.write(isClean ? line : `${scrubber.json(JSON.parse(line))}\n`);
    },
    close: (graceMs) => destination.close(graceMs),
  };
}
