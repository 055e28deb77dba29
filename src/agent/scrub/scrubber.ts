import type { LogEntry } from '../../checks/contract/check-type.ts';
import { credentialHeaders, mask, maskedHeaders } from '../../checks/judging/credential-headers.ts';
import type { LogDestination } from '../../lib/log-destination.ts';
import type { ResultReport } from '../../protocol/agent/agent.ts';
import { minSecretLength, SecretFinder, secretValues } from './secret-finder.ts';
import { cutSpellings } from './shapes/secret-shapes.ts';
import { jsonEscaped } from './shapes/spellings.ts';

declare const scrubbed: unique symbol;

/**
 * A value from which secrets were removed. Only this file can make one; what stores, logs or sends results
 * takes nothing else, so forgetting to scrub does not compile.
 */
export type Scrubbed<T> = T & { readonly [scrubbed]: true };

/**
 * What cuts a text short writes this where something is missing; a secret next to it may have lost its other
 * part.
 */
const cutMark = '…';
/**
 * At least this much of a secret next to such a mark is taken for it; where nothing says that a text was cut,
 * it has to be `minSecretLength`.
 */
const minCutLength = 4;

/** A credential header as a key in JSON text. Inside a string the quotes would be escaped. */
const credentialKey = new RegExp(`"(?:${[...credentialHeaders].join('|')})":`, 'i');

/** Maps whose keys come from the outside and may therefore hold a secret; other keys are ours. */
const openMaps: ReadonlySet<string> = new Set(['headers', 'params', 'actual']);

/** `://user:password@` up to the last at sign. Literal start and bounded length: linear on any text. */
const userInfo = /:\/\/[^\s/?#"'<>\\]{1,1024}@/;
const everyUserInfo = new RegExp(userInfo, 'g');

/** The service accepts failure messages up to this length; a mask may be longer than what it hides. */
const maxFailureMessageLength = 4096;

/** A report without what the runner found out, which travels as a text of its own. */
export type Envelope = Omit<ResultReport, 'detail'>;

/**
 * Removes secrets from one run's report: the values of its secret variables, the agent's own secrets,
 * credential headers and user info in URLs. Covers texts, and keys of header and parameter maps; a secret
 * that a target prints as a JSON number, or split in pieces, is not found.
 */
export class Scrubber {
  /** Finds secrets in bytes; for what is scrubbed as a file. */
  readonly finder: SecretFinder;
  /** Spellings of which a beginning may be left where a text was cut. */
  readonly #cuttable: readonly string[];
  /** The beginnings of these: a text without any of them holds none that was cut. */
  readonly #starts: readonly string[];
  /** The same as they look in JSON text. */
  readonly #jsonStarts: readonly string[];

  /** @param secrets values to remove; those that `isMaskable` refuses are skipped. */
  constructor(secrets: Iterable<string>) {
    const values = secretValues(secrets);
    this.finder = new SecretFinder(values);
    this.#cuttable = [...new Set([...values].flatMap(cutSpellings))];
    this.#starts = [...new Set(this.#cuttable.map(startOf))];
    this.#jsonStarts = [...new Set(this.#starts.map(jsonEscaped))];
  }

  /** One text without secrets. */
  text(text: string): Scrubbed<string> {
    return this.#clean(text) as Scrubbed<string>;
  }

  /**
   * A report's envelope as JSON text. Only its messages come from outside; ids, times and codes are left as
   * they are, because an id must not change when a secret happens to look like a part of it.
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
    return JSON.stringify(this.#walk(JSON.parse(text), false)) as Scrubbed<string>;
  }

  #isSuspect(jsonText: string): boolean {
    for (const start of this.#jsonStarts) if (jsonText.includes(start)) return true;
    if (this.#cuttable.length > 0 && jsonText.includes(cutMark)) return true;
    if (!this.finder.isEmpty && this.finder.find(Buffer.from(jsonText)).length > 0) return true;
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

  /** Long texts are cut before they get here, so a part of a secret may stand where one was. */
  #withoutCutSecrets(text: string): string {
    const isCut = text.includes(cutMark);
    if (!isCut && !this.#starts.some((start) => text.includes(start))) return text;
    // Most spellings have nothing in the text that looks like them.
    const beginning = this.#cuttable.filter((spelling) => text.includes(spelling.slice(0, minCutLength)));
    const ending = isCut
      ? this.#cuttable.filter((spelling) => text.includes(spelling.slice(-minCutLength)))
      : [];
    const pieces = text.split(cutMark);
    const clean = pieces.map((piece, index) => {
      const isLast = index === pieces.length - 1;
      const rest = index === 0 ? piece : withoutStart(piece, ending);
      return withoutEnd(rest, beginning, isLast ? minSecretLength : minCutLength);
    });
    return clean.join(cutMark);
  }

  /** Lines without the secrets that stand in them or go on from one into the next. */
  #withoutSecretsAcross(lines: readonly string[]): readonly string[] {
    const bytes = lines.map((line) => Buffer.from(`${line}\n`));
    const ranges = this.finder.find(Buffer.concat(bytes));
    if (ranges.length === 0) return lines;
    let start = 0;
    return bytes.map((line, index) => {
      const end = start + line.length - 1;
      let clean = '';
      let at = start;
      for (const range of ranges) {
        if (range.end <= start || range.start >= end) continue;
        if (range.start > at) clean += line.toString('utf8', at - start, range.start - start);
        clean += mask;
        at = range.end;
      }
      const rest = at < end ? line.toString('utf8', at - start, line.length - 1) : '';
      start = end + 1;
      return clean === '' ? (lines[index] ?? '') : clean + rest;
    });
  }

  #clean(text: string): string {
    const clean = this.#withoutCutSecrets(this.#withoutSecrets(text));
    return clean.includes('@') ? clean.replaceAll(everyUserInfo, `://${mask}@`) : clean;
  }

  #withoutSecrets(text: string): string {
    if (this.finder.isEmpty || text.length < minSecretLength) return text;
    const bytes = Buffer.from(text);
    const ranges = this.finder.find(bytes);
    if (ranges.length === 0) return text;
    let clean = '';
    let at = 0;
    for (const { start, end } of ranges) {
      clean += bytes.toString('utf8', at, start) + mask;
      at = end;
    }
    return clean + bytes.toString('utf8', at);
  }
}

/** The first characters of a spelling, without half a character at their end. */
function startOf(spelling: string): string {
  const start = spelling.slice(0, minSecretLength);
  return start.isWellFormed() ? start : spelling.slice(0, minSecretLength - 1);
}

/** Without the beginning of a secret at the end. */
function withoutEnd(piece: string, spellings: readonly string[], minLength: number): string {
  // The one that begins first: it holds the others.
  const places = spellings.map((spelling) => cutSecretAt(piece, spelling, minLength)).filter((at) => at >= 0);
  return places.length > 0 ? piece.slice(0, Math.min(...places)) + mask : piece;
}

/** Without the end of a secret at the beginning. */
function withoutStart(piece: string, spellings: readonly string[]): string {
  const length = Math.max(0, ...spellings.map((spelling) => cutSecretLength(piece, spelling)));
  return length > 0 ? mask + piece.slice(length) : piece;
}

/**
 * Where a text ends with the beginning of a spelling, at least `minLength` characters of it; -1 where it does
 * not.
 */
function cutSecretAt(text: string, spelling: string, minLength: number): number {
  const first = spelling.slice(0, minLength);
  const from = Math.max(0, text.length - spelling.length + 1);
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (spelling.startsWith(text.slice(at))) return at;
  }
  return -1;
}

/**
 * How many characters at the beginning of a text are the end of a spelling, at least `minCutLength`; 0 where
 * there are none.
 */
function cutSecretLength(text: string, spelling: string): number {
  const last = spelling.slice(-minCutLength);
  for (let at = text.lastIndexOf(last, spelling.length); at >= 0; at = text.lastIndexOf(last, at - 1)) {
    if (spelling.endsWith(text.slice(0, at + last.length))) return at + last.length;
    if (at === 0) break;
  }
  return 0;
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
  const note = 'The service did not take the detail of this result; it is left out.';
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
