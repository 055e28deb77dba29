import type { PlaywrightDetail } from '../../checks/playwright/detail.ts';
import type { BrowserDetail, MultiStepDetail, ScriptPage } from '../../checks/script/detail.ts';
import { counted, duration, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { facts, table } from '../elements/table.ts';
import { block, section, visible } from '../elements/text.ts';
import { waterfall } from '../elements/waterfall.ts';
import { type Content, type Html, html } from '../html.ts';

const shownSteps = 60;

/** What a script did and where it broke. */
export function scriptSections(detail: MultiStepDetail | BrowserDetail): Content[] {
  const { errors, tests, startTime } = detail;
  const steps = shownStepsOf(detail.steps);
  return [
    errors.length > 0
      ? section(
          'Errors',
          errors
            .slice(0, 20)
            .map((error) => errorBlock(error.test, error.stack ?? `${error.name}: ${error.message}`)),
        )
      : '',
    detail.degradedReason ? html`<p class="notice">${visible(detail.degradedReason)}</p>` : '',
    section('Tests', testTable(tests.map((test) => ({ ...test, where: '' })))),
    steps.length > 0
      ? section(
          'Steps',
          waterfall(
            'Steps of the script',
            steps.map(({ title, startedAt, durationMs, error, depth }) => ({
              name: `${depth > 0 ? '· ' : ''}${error === null ? '' : '✕ '}${shortened(visible(requestName(title)), 20)}`,
              kind: error === null ? ('first-byte' as const) : ('tls' as const),
              startMs: Math.max(0, startedAt - startTime),
              lengthMs: durationMs,
            })),
          ),
        )
      : '',
    'pages' in detail ? browserSections(detail) : '',
  ];
}

type Step = MultiStepDetail['steps'][number];

/** `GET "/cart"` as newer runtimes call a request, `apiRequestContext.get(https://…)` as older ones do. */
const request =
  /^(?:apiRequestContext\.(\w+)\((.*)\)|(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|Fetch) ".*")$/i;

/** What the script did step by step, and the requests within its steps. */
function shownStepsOf(steps: readonly Step[]): Step[] {
  return steps
    .filter(({ depth, category, title }) => depth === 0 || (category === 'pw:api' && request.test(title)))
    .toSorted((left, right) => left.startedAt - right.startedAt || left.depth - right.depth)
    .slice(0, shownSteps);
}

function requestName(title: string): string {
  const [, method, address] = request.exec(title) ?? [];
  if (method === undefined || address === undefined) return title;
  const url = URL.parse(address);
  return `${method.toUpperCase()} ${url ? `${url.pathname}${url.search}` : address}`;
}

function browserSections({ pages, pageErrors }: BrowserDetail): Content[] {
  const vital = (page: ScriptPage, name: keyof ScriptPage['webVitals']) => {
    const value = page.webVitals[name];
    if (value === null) return '–';
    const shown = name === 'CLS' ? value.value.toFixed(3) : duration(value.value);
    const sign = { GOOD: '', NEEDS_IMPROVEMENT: ' ~', POOR: ' ✕' }[value.score];
    return html`<span title="${value.score.toLowerCase().replaceAll('_', ' ')}">${shown}${sign}</span>`;
  };
  const vitals = ['LCP', 'FCP', 'TTFB', 'CLS', 'TBT'] as const;
  return [
    pages.length > 0
      ? section(
          'Pages',
          table<ScriptPage>({
            caption: 'Pages that the script opened, with their web vitals',
            rows: pages,
            empty: '',
            columns: [
              { title: 'Address', cell: ({ url }) => html`<code>${visible(shortened(url, 160))}</code>` },
              ...vitals.map((name) => ({
                title: name,
                isNumber: true,
                cell: (page: ScriptPage) => vital(page, name),
              })),
            ],
          }),
        )
      : '',
    pageErrors.length > 0
      ? section(
          'Console and network',
          table<BrowserDetail['pageErrors'][number]>({
            caption: 'Errors of the pages',
            rows: pageErrors.slice(0, 100),
            empty: '',
            columns: [
              { title: 'Kind', cell: ({ kind }) => kind },
              { title: 'Message', cell: ({ message }) => visible(shortened(message, 500)) },
              {
                title: 'Address',
                cell: ({ url }) => html`<code>${visible(shortened(url, 160))}</code>`,
                isMinor: true,
              },
            ],
          }),
        )
      : '',
  ];
}

/** What a Playwright suite came to. */
export function suiteSections(detail: PlaywrightDetail): Content[] {
  const { errors, stats, tests, install } = detail;
  return [
    errors.length > 0
      ? section(
          'Errors',
          errors
            .slice(0, 20)
            .map(({ testTitle, error }) => errorBlock(testTitle, error.stack ?? error.message)),
        )
      : '',
    section(
      'Tests',
      html`${
        stats
          ? facts([
              ['As expected', stats.expected],
              ['Unexpected', stats.unexpected],
              ['Flaky', stats.flaky],
              ['Skipped', stats.skipped],
              ['Dependencies', install ? `${install.source}, ${duration(install.durationMs)}` : ''],
            ])
          : ''
      }${testTable(
        tests.map(({ title, status, durationMs, didNotRun, file, projectName, retry }) => ({
          title: retry > 0 ? `${title} (${counted(retry, 'retry', 'retries')})` : title,
          status,
          durationMs,
          didNotRun,
          where: [file, projectName].filter(Boolean).join(' · '),
        })),
      )}`,
    ),
  ];
}

interface ShownTest {
  readonly title: string;
  readonly status: string;
  readonly durationMs: number;
  readonly didNotRun?: boolean | undefined;
  readonly where: string;
}

function testTable(tests: readonly ShownTest[]): Html {
  return table<ShownTest>({
    caption: 'Tests',
    rows: [...tests]
      .sort((left, right) => Number(left.status === 'passed') - Number(right.status === 'passed'))
      .slice(0, 200),
    empty: 'No test ran.',
    columns: [
      { title: 'Outcome', cell: ({ status, didNotRun }) => statusBadge(status, didNotRun) },
      { title: 'Test', cell: ({ title }) => visible(shortened(title, 200)) },
      { title: 'Where', cell: ({ where }) => visible(shortened(where, 120)), isMinor: true },
      { title: 'Time', cell: ({ durationMs }) => duration(durationMs), isNumber: true },
    ],
  });
}

function statusBadge(status: string, didNotRun = false): Html {
  if (status === 'passed') return stateBadge('passed', 'Passed');
  if (didNotRun) return stateBadge('off', 'Did not run');
  if (status === 'skipped') return stateBadge('off', 'Skipped');
  return stateBadge('failed', status === 'timedOut' ? 'Timed out' : 'Failed');
}

function errorBlock(test: string | null, text: string): Html {
  return html`${test === null ? '' : html`<h3>${visible(shortened(test, 200))}</h3>`}${block('Error', text)}`;
}
