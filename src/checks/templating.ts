import { randomInt, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import dayjs from 'dayjs';
import advancedFormat from 'dayjs/plugin/advancedFormat.js';
import utc from 'dayjs/plugin/utc.js';
import Handlebars from 'handlebars';
import { toError } from '../lib/errors.ts';
import { LruMap } from '../lib/lru.ts';

/**
 * How values get into a text. `raw`: as they are. `url`: `{{NAME}}` percent-encoded, `{{{NAME}}}` as it is; a value at
 * the very start that is itself an http or https URL stays as it is, so that `{{BASE_URL}}/path` works. `query`: as
 * `url`, and the text around the templates is percent-encoded too.
 */
export type TemplateMode = 'raw' | 'url' | 'query';

/** A template that cannot be evaluated: its syntax is wrong, or it uses something unknown. */
export class TemplateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TemplateError';
  }
}

type Template = (values: Readonly<Record<string, unknown>>) => string;

/** What templates of one kind may use, and what becomes of what they put out. */
export interface TemplateLanguage {
  readonly helpers: Readonly<Record<string, (...given: never[]) => unknown>>;
  /** The helper that every `{{x}}` goes through, and the one instead for one at the very start; `{{{x}}}` goes through none. */
  readonly encoder?: { readonly name: string; readonly atStart?: string } | undefined;
  /** Percent-encodes the text around the templates too. */
  readonly isTextEncoded?: boolean;
}

/**
 * Fills the `{{templates}}` of a text (Handlebars). Names that are not there give an empty text. Helpers:
 * `$UUID`, `$RANDOM_NUMBER` (0 to 10000) and `moment` with an optional moment in words and a format, in UTC.
 *
 * @throws TemplateError
 */
export function render(text: string, values: Readonly<Record<string, string>>, mode: TemplateMode): string {
  if (!text.includes('{{')) return mode === 'query' ? encodeURIComponent(text.toWellFormed()) : text;
  try {
    const template = templates.getOrMake(`${mode}:${text}`, () => compile(text, mode));
    return template(values);
  } catch (thrown) {
    if (thrown instanceof TemplateError) throw thrown;
    throw templateError(text, toError(thrown));
  }
}

/** What is wrong with a template, from what its parser or a helper threw. */
export function templateError(text: string, thrown: Error): TemplateError {
  // The parser's message: where, the line, a pointer to the place, and what it expected there.
  const lines = thrown.message.split('\n');
  const reason = [lines[0], ...(lines.length > 1 ? lines.slice(-1) : [])].join(' ');
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new TemplateError(`the template ${JSON.stringify(shown)} cannot be evaluated: ${reason}`);
}

const templates = new LruMap<string, Template>(1000);

const builtInHelpers = { if: true, unless: true, each: true, with: true, lookup: true };
/** What templates of every kind may use. */
export const commonHelpers = {
  $UUID: () => randomUUID(),
  $RANDOM_NUMBER: () => randomInt(0, 10_001),
  moment: (...given: unknown[]) => formatMoment(given.slice(0, -1).map(String)),
};
const helpers = {
  ...commonHelpers,
  $encode: (value: unknown) => encodeURIComponent(shown(value).toWellFormed()),
  $encodeUnlessUrl: (value: unknown) =>
    /^https?:\/\//i.test(shown(value)) ? shown(value) : encodeURIComponent(shown(value).toWellFormed()),
};

function shown(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

function compile(text: string, mode: TemplateMode): Template {
  const atStart = mode === 'url' ? { atStart: '$encodeUnlessUrl' } : {};
  const encoder = mode === 'raw' ? undefined : { name: '$encode', ...atStart };
  return compileTemplate(text, { helpers, encoder, isTextEncoded: mode === 'query' });
}

/**
 * Compiles a template of a language. Objects' prototypes are out of its reach, and only the helpers it names, and the
 * blocks built into Handlebars, can be called.
 *
 * @throws Error of the parser.
 */
export function compileTemplate(text: string, language: TemplateLanguage): Template {
  const engine = Handlebars.create();
  // The lexer takes `$` only inside a bracketed segment.
  const program = engine.parse(
    markClosingBraces(text).replaceAll(/(\{\{\{?[#/]?~?\s*|\(\s*)\$(\w+)/g, '$1[$$$2]'),
  );
  new BraceRestorer().accept(program);
  encodeOutput(program, language);
  const known = Object.fromEntries(Object.keys(language.helpers).map((name) => [name, true]));
  const template = engine.compile(program, {
    noEscape: true,
    knownHelpersOnly: true,
    knownHelpers: {
      ...builtInHelpers,
      ...known,
      log: false,
      helperMissing: false,
      blockHelperMissing: false,
    },
  });
  const options = {
    helpers: language.helpers as Record<string, Handlebars.HelperDelegate>,
    allowProtoPropertiesByDefault: false,
    allowProtoMethodsByDefault: false,
  };
  return (values) => template(Object.assign(Object.create(null), values), options);
}

/** Stands for a closing brace of the text behind a template; from the private use area, so that no text has it. */
const closingBrace = '\u{F8FE}';

/**
 * `{"count":{{N}}}` is a template and the end of a JSON object, but the parser takes the three braces for the end of a
 * `{{{N}}}`, and four for the end of a block. What closes more than was opened belongs to the text.
 */
function markClosingBraces(text: string): string {
  return text.replaceAll(
    /(\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\})(\}*)/g,
    (_whole, template: string, braces: string) => template + closingBrace.repeat(braces.length),
  );
}

class BraceRestorer extends Handlebars.Visitor {
  override ContentStatement(content: hbs.AST.ContentStatement): void {
    content.value = content.value.replaceAll(closingBrace, '}');
  }
}

/** Rewrites every `{{x}}` of a parsed template to `{{encoder x}}`; `{{{x}}}` stays as it is. */
function encodeOutput(
  program: hbs.AST.Program,
  { helpers: known, encoder, isTextEncoded }: TemplateLanguage,
): void {
  const first = program.body[0];
  class Encoder extends Handlebars.Visitor {
    override MustacheStatement(mustache: hbs.AST.MustacheStatement): void {
      if (!mustache.escaped || !encoder) return;
      const name = mustache === first ? (encoder.atStart ?? encoder.name) : encoder.name;
      const { path, params, hash, loc } = mustache;
      const isCall = params.length > 0 || isHelper(path, known);
      const value = isCall ? { type: 'SubExpression', path, params, hash, loc } : path;
      mustache.path = pathTo(name, loc);
      mustache.params = [value as hbs.AST.Expression];
      mustache.hash = undefined as unknown as hbs.AST.Hash;
    }

    override ContentStatement(content: hbs.AST.ContentStatement): void {
      if (isTextEncoded) content.value = encodeURIComponent(content.value.toWellFormed());
    }
  }
  new Encoder().accept(program);
}

function isHelper(
  path: hbs.AST.Expression | hbs.AST.PathExpression,
  known: TemplateLanguage['helpers'],
): boolean {
  return 'original' in path && Object.keys(known).some((name) => path.original === name);
}

function pathTo(name: string, loc: hbs.AST.SourceLocation): hbs.AST.PathExpression {
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc };
}

type ChronoParser = {
  parseDate(text: string, reference: { readonly instant: Date; readonly timezone: number }): Date | null;
};
let chronoParser: ChronoParser | undefined;

/** chrono takes a fifth of a second and 20 MB to load: only who uses words for a moment pays for it. */
function chrono(): ChronoParser {
  chronoParser ??= (createRequire(import.meta.url)('chrono-node') as { casual: ChronoParser }).casual;
  return chronoParser;
}

let isDayjsReady = false;

/** `moment "FORMAT"`, or `moment "2 days ago" "FORMAT"`; without a format ISO 8601. All in UTC. */
function formatMoment(given: readonly string[]): string {
  if (!isDayjsReady) {
    dayjs.extend(utc);
    dayjs.extend(advancedFormat);
    isDayjsReady = true;
  }
  const words = given.length > 1 ? given[0] : undefined;
  const format = given.at(-1);
  const now = new Date();
  // Words such as "today at 9:00" mean UTC hours, wherever the agent runs.
  const moment = words === undefined ? now : chrono().parseDate(words, { instant: now, timezone: 0 });
  if (!moment) throw new TemplateError(`moment: ${JSON.stringify(words)} is not a moment in time`);
  return dayjs.utc(moment).format(format ?? 'YYYY-MM-DDTHH:mm:ss[Z]');
}
