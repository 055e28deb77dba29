import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc.js';
import Handlebars from 'handlebars';
import {
  commonHelpers,
  compileTemplate,
  TemplateError,
  templateError,
} from '../../../checks/judging/templating.ts';
import { toError } from '../../../lib/errors.ts';
import type { AlertFacts } from '../facts.ts';
import type { AlertType, Notice } from '../state.ts';

/** An alert on its way to a channel. */
export interface AlertMessage {
  /** The same at every try: receivers can tell a repetition by it. */
  readonly id: string;
  readonly alertId: string;
  readonly type: AlertType;
  readonly notice: Notice;
  readonly checkId: string;
  readonly resultId: string | null;
  readonly accountId: string;
  readonly facts: AlertFacts;
  /** When the alert was made, in epoch milliseconds. */
  readonly created: number;
  /** Where the API has the result; null when there is none. */
  readonly resultLink: string | null;
  /** Where people read the alert in a browser, without a key; null where nobody knows how to get there. */
  readonly pageLink: string | null;
}

/** One line for people that says what happened. */
export function titleOf({ notice, facts }: Pick<AlertMessage, 'notice' | 'facts'>): string {
  const { checkName: name, reminder, recoversFrom, certificate, isFlapping } = facts;
  if (facts.subject === 'location') {
    return `Private location ${name} has ${notice === 'recovery' ? 'an agent again' : 'no agent'}`;
  }
  if (facts.subject === 'sickness') {
    return `Private location ${name} ${notice === 'recovery' ? 'is healthy again' : 'is unhealthy'}`;
  }
  if (facts.subject === 'test')
    return notice === 'recovery' ? 'The test is over' : 'Test notification of Picket';
  switch (notice) {
    case 'failure':
      if (isFlapping) return `${name} is flapping: it fails and passes in turn`;
      return reminder > 0 ? `${name} is still failing (reminder ${reminder})` : `${name} has failed`;
    case 'degraded':
      if (isFlapping) return `${name} is flapping: it is degraded and passes in turn`;
      return reminder > 0 ? `${name} is still degraded (reminder ${reminder})` : `${name} is degraded`;
    case 'recovery':
      return recoversFrom === 'degraded' ? `${name} is not degraded any more` : `${name} has recovered`;
    case 'ssl': {
      const days = certificate?.daysRemaining ?? 0;
      const when =
        days < 0
          ? 'has expired'
          : `expires ${days === 0 ? 'today' : `in ${days} day${days === 1 ? '' : 's'}`}`;
      return `The certificate of ${certificate?.domain ?? name} ${when}`;
    }
  }
}

/** What all news of one thing is filed under by receivers that keep an incident open until its recovery. */
export function incidentKeyOf({ notice, facts, checkId }: AlertMessage): string {
  return `picket-${facts.subject ?? (notice === 'ssl' ? 'certificate' : 'check')}-${checkId}`;
}

/** The variables that templates of webhooks know (check model 4.4). */
export function variablesOf(message: AlertMessage): Record<string, unknown> {
  const { facts } = message;
  return {
    ALERT_TITLE: titleOf(message),
    ALERT_TYPE: message.type,
    ALERT_ID: message.alertId,
    ACCOUNT_ID: message.accountId,
    CHECK_NAME: facts.checkName,
    CHECK_ID: message.checkId,
    CHECK_TYPE: facts.checkType,
    CHECK_DESCRIPTION: facts.checkDescription,
    CHECK_ERROR_MESSAGE: facts.error,
    CHECK_RESULT_ID: message.resultId,
    RESULT_LINK: message.resultLink,
    ALERT_LINK: message.pageLink,
    RESPONSE_TIME: facts.responseTimeMs,
    API_CHECK_RESPONSE_STATUS_CODE: facts.statusCode,
    API_CHECK_RESPONSE_STATUS_TEXT: facts.statusText,
    RUN_LOCATION: facts.runLocation,
    REGION: facts.runLocation,
    GROUP_NAME: facts.groupName,
    STARTED_AT: facts.startedAt === null ? null : new Date(facts.startedAt).toISOString(),
    SENT_AT: new Date(message.created).toISOString(),
    TAGS: facts.tags,
    IS_REMINDER: facts.reminder > 0,
    REMINDER_SEQUENCE: facts.reminder,
    SSL_DAYS_REMAINING: facts.certificate?.daysRemaining ?? null,
    SSL_CHECK_DOMAIN: facts.certificate?.domain ?? null,
    // Names that public templates use; this service analyses nothing.
    AI_ANALYSIS_CLASSIFICATION: null,
    AI_ANALYSIS_ROOT_CAUSE: null,
    AI_ANALYSIS_USER_IMPACT: null,
    AI_ANALYSIS_CODE_FIX: null,
    AI_ANALYSIS_EVIDENCE: null,
    AI_ANALYSIS_LINK: null,
  };
}

/**
 * Where a text is going. In `json`, `{{X}}` is escaped as the inside of a JSON string; in `url`,
 * percent-encoded; `{{{X}}}` is never changed.
 */
export type TextPlace = 'json' | 'url' | 'raw';

/**
 * Iterations of `each` in one text; templates are other people's programs, and run in the service's own
 * thread.
 */
const maxIterations = 1_000;
const maxOutputLength = 1_000_000;

/**
 * Fills a template of a webhook.
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

/** Inline partials can call themselves without end. */
function refusePartials(text: string): void {
  if (/\{\{\{?~?\s*(?:>|#>|#?\*)/.test(text))
    throw new TemplateError('partials and decorators are not allowed');
}

const shown = (value: unknown) => (value === undefined || value === null ? '' : String(value));
const encoded = (value: unknown) => encodeURIComponent(shown(value).toWellFormed());

/** Helpers can be nested, and each makes its text longer: what goes into one is never long. */
function bounded(length: number): void {
  if (length > maxOutputLength) throw new TemplateError('a text in it is longer than a million characters');
}

function boundedText(value: unknown): string {
  const text = shown(value);
  bounded(text.length);
  return text;
}

type Options = Handlebars.HelperOptions;

/** A test that may stand in `{{#if (eq A B)}}` or be a block of its own, `{{#eq A B}}…{{else}}…{{/eq}}`. */
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
    /** `{{tagValue "team"}}` is `core` when there is a tag `team:core`. */
    tagValue: (name: unknown) => {
      const tags = (variables.TAGS ?? []) as readonly string[];
      return tags.find((tag) => tag.startsWith(`${shown(name)}:`))?.slice(shown(name).length + 1) ?? '';
    },
    /** `{{date "FORMAT"}}` is now; `{{date STARTED_AT "FORMAT"}}` that moment; both in UTC. */
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

/** What people want to know of an alert, line by line. */
export function factLines({
  notice,
  facts,
  created,
}: Pick<AlertMessage, 'notice' | 'facts' | 'created'>): { label: string; value: string }[] {
  const { certificate } = facts;
  const status = [facts.statusCode, facts.statusText].filter((part) => part !== null).join(' ');
  const lines: [label: string, value: string | null][] = [
    ['Target', facts.target ?? null],
    ['Error', facts.error],
    ['Response', status === '' ? null : status],
    ['Response time', facts.responseTimeMs === null ? null : `${Math.round(facts.responseTimeMs)} ms`],
    ['Location', facts.runLocation],
    ['Certificate expires', certificate ? new Date(certificate.expiresAt).toISOString() : null],
    ['Check type', facts.subject === undefined ? facts.checkType : null],
    ['Group', facts.groupName],
    ['Tags', facts.tags.length === 0 ? null : facts.tags.join(', ')],
    ...timeLines(notice, facts, created),
  ];
  return lines.flatMap(([label, value]) => (value === null || value === '' ? [] : [{ label, value }]));
}

/** When it was, since when, and for how long. */
function timeLines(
  notice: Notice,
  facts: AlertFacts,
  created: number,
): [label: string, value: string | null][] {
  const at = facts.startedAt ?? created;
  const since = facts.since ?? null;
  const isOver = notice === 'recovery';
  return [
    ['Time', new Date(at).toISOString()],
    ['Since', since === null || isOver ? null : new Date(since).toISOString()],
    [isOver ? 'It lasted' : 'Duration', since === null ? null : durationText(Math.max(0, at - since))],
  ];
}

function durationText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.round(ms / 1000)} s`;
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  const parts = [days > 0 ? `${days} d` : '', hours > 0 ? `${hours} h` : '', `${minutes % 60} min`];
  return parts.filter((part) => part !== '').join(' ');
}
