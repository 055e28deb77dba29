import {
  commonHelpers,
  compileTemplate,
  TemplateError,
  templateError,
} from '@picket/checks/judging/templating.ts';
import { toError } from '@picket/lib/errors.ts';
import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc.js';
import Handlebars from 'handlebars';

/**
 * Target format of a text. In `json`, `{{X}}` is escaped as the inside of a JSON string; in `url`, percent-encoded;
 * `{{{X}}}` is never changed.
 */
export type TextPlace = 'json' | 'url' | 'raw';

/** Limit of `each` iterations in one text: templates come from users and run in the service's own thread. */
const maxIterations = 1_000;
const maxOutputLength = 1_000_000;

/**
 * Fills in a template of a webhook.
 *
 * @throws TemplateError
 */
export function fillTemplate(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  place: TextPlace,
): string {
  if (!text.includes('{{')) return text;
  try {
    refusePartials(text);
    const encoder = {
      json: { name: '$json' },
      url: { name: '$url', atStart: '$urlUnlessUrl' },
      raw: undefined,
    };
    const filled = compileTemplate(text, { helpers: helpersOf(variables), encoder: encoder[place] })(
      variables,
    );
    if (filled.length > maxOutputLength)
      throw new TemplateError('the text is longer than a million characters');
    return filled;
  } catch (thrown) {
    if (thrown instanceof TemplateError) throw thrown;
    throw templateError(text, toError(thrown));
  }
}

/** Inline partials can recurse without end. */
function refusePartials(text: string): void {
  if (/\{\{\{?~?\s*(?:>|#>|#?\*)/.test(text))
    throw new TemplateError('partials and decorators are not allowed');
}

const shown = (value: unknown) => (value === undefined || value === null ? '' : String(value));
const encoded = (value: unknown) => encodeURIComponent(shown(value).toWellFormed());

/** Nested helpers each make the text longer, so the input of one is limited. */
function bounded(length: number): void {
  if (length > maxOutputLength)
    throw new TemplateError('one of its strings is longer than a million characters');
}

function boundedText(value: unknown): string {
  const text = shown(value);
  bounded(text.length);
  return text;
}

type Options = Handlebars.HelperOptions;

/** A test that works inside `{{#if (eq A B)}}` and as a block, `{{#eq A B}}…{{else}}…{{/eq}}`. */
function test(holds: (...values: unknown[]) => boolean) {
  return function (this: unknown, ...given: unknown[]) {
    const options = given.at(-1) as Options;
    const result = holds(...given.slice(0, -1));
    if (typeof options.fn !== 'function') return result;
    return result ? options.fn(this) : options.inverse(this);
  };
}

function helpersOf(variables: Readonly<Record<string, unknown>>) {
  let iterations = 0;
  const each = Handlebars.helpers.each as (this: unknown, list: unknown, options: Options) => string;
  return {
    ...commonHelpers,
    each(this: unknown, list: unknown, options: Options) {
      const counted = Array.isArray(list) ? list.length : Object.keys(Object(list ?? {})).length;
      iterations += counted;
      if (iterations > maxIterations) throw new TemplateError(`more than ${maxIterations} iterations`);
      return each.call(this, list, options);
    },
    eq: test((left, right) => left === right || shown(left) === shown(right)),
    ne: test((left, right) => shown(left) !== shown(right)),
    gt: test((left, right) => Number(left) > Number(right)),
    gte: test((left, right) => Number(left) >= Number(right)),
    lt: test((left, right) => Number(left) < Number(right)),
    lte: test((left, right) => Number(left) <= Number(right)),
    and: test((...values) => values.every(Boolean)),
    or: test((...values) => values.some(Boolean)),
    not: test((value) => !value),
    startsWith: test((text, start) => shown(text).startsWith(shown(start))),
    split: (text: unknown, separator: unknown) =>
      shown(text).split(typeof separator === 'string' ? separator : ','),
    replace: (text: unknown, found: unknown, by: unknown) => {
      if (shown(found) === '') return shown(text);
      bounded(shown(text).length * (shown(by).length + 1));
      return shown(text).replaceAll(shown(found), () => shown(by));
    },
    /** `{{tagValue "team"}}` gives `core` if the check has a tag `team:core`. */
    tagValue: (name: unknown) => {
      const tags = (variables.TAGS ?? []) as readonly string[];
      return tags.find((tag) => tag.startsWith(`${shown(name)}:`))?.slice(shown(name).length + 1) ?? '';
    },
    /** `{{date "FORMAT"}}` formats the current time; `{{date STARTED_AT "FORMAT"}}` that time; both in UTC. */
    date: (...given: unknown[]) => {
      const values = given.slice(0, -1);
      const format = shown(values.at(-1)) || undefined;
      dayjs.extend(utc);
      const moment = values.length > 1 ? dayjs.utc(shown(values[0])) : dayjs.utc();
      return moment.isValid() ? moment.format(format) : '';
    },
    year: () => new Date().getUTCFullYear(),
    $json: (value: unknown) => JSON.stringify(boundedText(value)).slice(1, -1),
    $url: (value: unknown) => encoded(boundedText(value)),
    $urlUnlessUrl: (value: unknown) =>
      /^https?:\/\//i.test(shown(value)) ? shown(value) : encoded(boundedText(value)),
  };
}
