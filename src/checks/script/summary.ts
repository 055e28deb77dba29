import type { DetailSummary, SummarySection, SummaryStep, SummaryValue } from '../summary/detail-summary.ts';
import { code, fact } from '../summary/parts.ts';
import type { BrowserDetail, MultiStepDetail, ScriptPage } from './detail.ts';
import { errorsSection, testsSection } from './tests-section.ts';
import { throttlingText } from './throttling.ts';

const [shownSteps, shownPageErrors] = [60, 100];

/** Summarizes the result of a script for people: its steps and where it failed. */
export function scriptSummary(detail: MultiStepDetail): DetailSummary {
  const { errors, tests, degradedReason, jobLog } = detail;
  return {
    sections: [
      errorsSection(
        errors.map(({ test, stack, name, message }) => ({ test, text: stack ?? `${name}: ${message}` })),
      ),
      { ...testsSection(tests), note: degradedReason && `Degraded: ${degradedReason}` },
      { title: 'Steps', timeline: stepsOf(detail) },
    ],
    log: jobLog,
  };
}

const titles: Readonly<Record<string, string>> = {
  chromium: 'Chromium',
  firefox: 'Firefox',
  webkit: 'WebKit',
};

/** Does the same for a script in a browser, including the pages that it opened. */
export function browserSummary(detail: BrowserDetail): DetailSummary {
  const script = scriptSummary(detail);
  const { throttling, browsers = [] } = detail;
  const opened = browsers.map(({ name, version }) => `${titles[name] ?? name} ${version}`).join(', ');
  const network = throttling && {
    title: 'Network',
    facts: [fact('Throttled to', throttlingText(throttling))],
    note: 'Times are those of the slower network, not of the wire.',
  };
  return {
    ...script,
    sections: [
      ...script.sections,
      ...(opened === '' ? [] : [{ title: 'Browser', facts: [fact('Opened', opened)] }]),
      ...(network ? [network] : []),
      pagesSection(detail),
      errorsOfPages(detail),
    ],
  };
}

type Step = MultiStepDetail['steps'][number];

/** `GET "/cart"` in newer runtimes, `apiRequestContext.get(https://…)` in older ones. */
const request =
  /^(?:apiRequestContext\.(\w+)\((.*)\)|(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|Fetch) ".*")$/i;

/** Steps of the script, and the requests within them. */
function stepsOf({ steps, startTime }: MultiStepDetail): SummaryStep[] {
  return steps
    .filter(({ depth, category, title }) => depth === 0 || (category === 'pw:api' && request.test(title)))
    .toSorted((left, right) => left.startedAt - right.startedAt || left.depth - right.depth)
    .slice(0, shownSteps)
    .map((step: Step) => ({
      name: requestName(step.title),
      startMs: Math.max(0, step.startedAt - startTime),
      lengthMs: step.durationMs,
      isNested: step.depth > 0,
      isFailed: step.error !== null,
    }));
}

function requestName(title: string): string {
  const [, method, address] = request.exec(title) ?? [];
  if (method === undefined || address === undefined) return title;
  const url = URL.parse(address);
  return `${method.toUpperCase()} ${url ? `${url.pathname}${url.search}` : address}`;
}

const vitals = ['LCP', 'FCP', 'TTFB', 'CLS', 'TBT'] as const;

function pagesSection({ pages }: BrowserDetail): SummarySection {
  return {
    title: 'Pages',
    table: {
      caption: 'Pages opened by the script, with their web vitals',
      columns: [
        { title: 'Address', role: 'key' },
        ...vitals.map((title) => ({
          ...{ title, isNumber: true },
          ...((title === 'LCP' || title === 'TTFB') && { role: 'compared' as const }),
        })),
      ],
      rows: pages.map(({ url, webVitals }) => [code(url), ...vitals.map((name) => vital(name, webVitals))]),
    },
  };
}

function vital(name: (typeof vitals)[number], webVitals: ScriptPage['webVitals']): SummaryValue {
  const value = webVitals[name];
  if (value === null) return '–';
  const note = { GOOD: '', NEEDS_IMPROVEMENT: 'needs improvement', POOR: 'poor' }[value.score];
  if (name === 'CLS') return note ? `${value.value.toFixed(3)} (${note})` : value.value.toFixed(3);
  return { kind: 'duration', ms: value.value, ...(note && { note }) };
}

function errorsOfPages({ pageErrors, traceSummary }: BrowserDetail): SummarySection {
  const { consoleErrors, networkErrors, documentErrors } = traceSummary;
  return {
    title: 'Console and network',
    facts: [
      fact('Errors in the console', consoleErrors || null),
      fact('Errors in the network', networkErrors || null),
      fact('Errors in documents', documentErrors || null),
    ],
    table: {
      caption: 'Errors of the pages',
      columns: [{ title: 'Kind' }, { title: 'Message' }, { title: 'Address', isMinor: true }],
      rows: pageErrors.slice(0, shownPageErrors).map(({ kind, message, url }) => [kind, message, code(url)]),
    },
  };
}
