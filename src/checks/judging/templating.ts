import { randomInt, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ThreadStarved } from '@picket/lib/bounds/cpu-limit.ts';
import { WorkBudget } from '@picket/lib/bounds/work-budget.ts';
import { toError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import dayjs from 'dayjs';
import advancedFormat from 'dayjs/plugin/advancedFormat.js';
import utc from 'dayjs/plugin/utc.js';
import type { Template, TemplateLanguage } from './template-engine.ts';

/**
 * How values are inserted into a text. `raw`: unchanged. `url`: `{{NAME}}` percent-encoded, `{{{NAME}}}` unchanged; a
 * value at the very start that is itself an http, https, ws or wss URL stays unchanged, so that `{{BASE_URL}}/path`
 * works. `query`: as `url`, and the text around the templates is percent-encoded too.
 */
export type TemplateMode = 'raw' | 'url' | 'query';

/** A template that cannot be evaluated: its syntax is wrong, or it uses something unknown. */
export class TemplateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TemplateError';
  }
}

/**
 * Fills in the `{{templates}}` of a text (Handlebars). Unknown names give an empty text. Helpers: `$UUID`,
 * `$RANDOM_NUMBER` (0 to 10000) and `moment` with an optional time in words and a format, in UTC.
 *
 * @throws TemplateError
 */
export function render(text: string, values: Readonly<Record<string, string>>, mode: TemplateMode): string {
  if (!text.includes('{{')) return mode === 'query' ? encodeURIComponent(text.toWellFormed()) : text;
  try {
    const template = templates.getOrMake(`${mode}:${text}`, () => compile(text, mode));
    const filled = isPlain(text) ? template(values) : timed(text, values, () => template(values));
    if (filled.length > maxFilledLength) {
      throw new TemplateError(`a template produces more than ${maxFilledLength} characters`);
    }
    return filled;
  } catch (thrown) {
    if (thrown instanceof TemplateError || thrown instanceof ThreadStarved) throw thrown;
    throw templateError(text, toError(thrown));
  }
}

const maxFilledLength = 10_000_000;

/** Whether the templates of a text are names only. Those are always fast, and measuring their time would cost more. */
function isPlain(text: string): boolean {
  return !text.replaceAll(/\{\{\{?[\w$.]+\}\}/g, '').includes('{{');
}

/** Users write the templates, and templates can loop: all of one run together may take this long. */
const maxCpuMs = 250;
/** Remaining time of the run with these values. */
const budgets = new WeakMap<object, WorkBudget>();

function timed(text: string, values: object, fill: () => string): string {
  const budget = budgets.get(values) ?? new WorkBudget({ steps: 0, cpuMs: maxCpuMs });
  budgets.set(values, budget);
  // Loading takes most of the time limit, which could interrupt it halfway.
  if (/\bmoment\s+\S+\s+[^\s}]/.test(text)) chrono();
  return budget.timed(fill);
}

/** Converts an error of the parser or a helper into a message about the template. */
export function templateError(text: string, thrown: Error): TemplateError {
  // The parser's message: position, line, a pointer to the place, and the expected tokens.
  const lines = thrown.message.split('\n');
  const reason = [lines[0], ...(lines.length > 1 ? lines.slice(-1) : [])].join(' ');
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new TemplateError(`the template ${JSON.stringify(shown)} cannot be evaluated: ${reason}`);
}

const templates = new LruMap<string, Template>(1000);

/** Helpers of every kind of template. */
export const commonHelpers = {
  $UUID: () => randomUUID(),
  $RANDOM_NUMBER: () => randomInt(0, 10_001),
  moment: (...given: unknown[]) => formatMoment(given.slice(0, -1).map(String)),
};
const helpers = {
  ...commonHelpers,
  $encode: (value: unknown) => encodeURIComponent(shown(value).toWellFormed()),
  $encodeUnlessUrl: (value: unknown) =>
    /^(?:https?|wss?|socks5h?):\/\//i.test(shown(value))
      ? shown(value)
      : encodeURIComponent(shown(value).toWellFormed()),
};

function shown(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

function compile(text: string, mode: TemplateMode): Template {
  const atStart = mode === 'url' ? { atStart: '$encodeUnlessUrl' } : {};
  const encoder = mode === 'raw' ? undefined : { name: '$encode', ...atStart };
  return compileTemplate(text, { helpers, encoder, isTextEncoded: mode === 'query' });
}

type TemplateEngine = typeof import('./template-engine.ts');
let engine: TemplateEngine | undefined;

/** Loads the engine. See compileTemplate of template-engine.ts. @throws Error of the parser. */
export function compileTemplate(text: string, language: TemplateLanguage): Template {
  const file = new URL(`./template-engine${extname(import.meta.url)}`, import.meta.url);
  engine ??= createRequire(import.meta.url)(fileURLToPath(file)) as TemplateEngine;
  return engine.compileTemplate(text, language);
}

type ChronoParser = {
  parseDate(text: string, reference: { readonly instant: Date; readonly timezone: number }): Date | null;
};
let chronoParser: ChronoParser | undefined;

/** chrono takes a fifth of a second and 20 MB to load: only templates with times in words need it. */
function chrono(): ChronoParser {
  chronoParser ??= (createRequire(import.meta.url)('chrono-node') as { casual: ChronoParser }).casual;
  return chronoParser;
}

const maxMomentLength = 200;
let isDayjsReady = false;

/** Evaluates `moment "FORMAT"`, or `moment "2 days ago" "FORMAT"`; without a format ISO 8601. All in UTC. */
function formatMoment(given: readonly string[]): string {
  if (!isDayjsReady) {
    dayjs.extend(utc);
    dayjs.extend(advancedFormat);
    isDayjsReady = true;
  }
  const words = given.length > 1 ? given[0] : undefined;
  const format = given.at(-1);
  // The parsers' time grows faster than the length of the texts.
  for (const text of [words, format]) {
    if (text !== undefined && text.length > maxMomentLength) {
      throw new TemplateError(`moment: more than ${maxMomentLength} characters`);
    }
  }
  const now = new Date();
  // Words such as "today at 9:00" mean UTC hours, wherever the agent runs.
  const moment = words === undefined ? now : chrono().parseDate(words, { instant: now, timezone: 0 });
  if (!moment) throw new TemplateError(`moment: ${JSON.stringify(words)} is not a date or time`);
  return dayjs.utc(moment).format(format ?? 'YYYY-MM-DDTHH:mm:ss[Z]');
}
