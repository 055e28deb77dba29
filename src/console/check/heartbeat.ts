import type { CheckType } from '@picket/checks/contract/check-type.ts';
import type { CalendarRule } from '@picket/lib/calendar/calendar.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { type HeartbeatEvent, heartbeatRoutes } from '@picket/protocol/checks/heartbeat.ts';
import { type ExpectedTimes, timesOfPings } from '@picket/service/checks/timing/expected-slots.ts';
import { copyBox } from '../elements/copy.ts';
import { counted, duration, instant } from '../elements/format.ts';
import { scheduleWords, upcoming } from '../elements/next-times.ts';
import { table } from '../elements/table.ts';
import { block, section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const dayMinutes = 24 * 60;
const dayMs = dayMinutes * 60_000;
const mostRuns = 5;

const stateWords = {
  ...{ EARLY: 'succeeded', RECEIVED: 'succeeded', GRACE: 'succeeded', LATE: 'succeeded, late' },
  ...{ FAILING: 'failed', STARTED: 'started', LOGGED: 'message' },
} as const;

type Timer = Awaited<ReturnType<PageCall['store']['heartbeats']['find']>>;

/** For types whose targets send pings: their URL, lines for jobs, and when the next ping is expected. */
export async function heartbeatPart(
  call: PageCall,
  check: Readonly<Record<string, unknown>>,
  type: CheckType,
): Promise<Content> {
  if (!type.pings) return '';
  const spec = type.spec.parse(check);
  const { periodMs, schedule, graceMs } = type.pings.expectation(spec);
  const given = type.pings.url(spec);
  const checkId = String(check['id']);
  const timer = await call.store.heartbeats.find(checkId);
  // Once the job sends pings, its figures are what people come for.
  const hasPinged = timer !== undefined && timer.last_at !== null;
  const next = nextPing(timer, call.clock.wallMs());
  const [runs, signals] = await Promise.all([runsInProgress(call, checkId), lastSignals(call, checkId)]);
  const said = html`<p>A ping is expected ${schedule === null ? html`every ${duration(periodMs ?? 0)}` : scheduleWords(schedule)}, and may be up to ${duration(graceMs)} late. ${next}</p>${schedule === null ? '' : upcoming(schedule, call.clock.wallMs())}${runs}${signals}`;
  if (given === null || !call.api.allows(checkRoutes.updateCheck)) {
    return section(
      'Pings',
      html`${said}<p class="soft">The ping URL is shown to those who may edit the check.</p>`,
      'ping',
    );
  }
  const { protocol, host } = call.request;
  const url = given.startsWith('/') ? `${protocol}://${host}${given}` : given;
  return section(
    'Ping URL',
    html`${copyBox(url, 'ping URL')}${said}<details${hasPinged ? '' : html` open`}><summary>Lines for curl, cron, systemd and GitHub Actions</summary>${lines(url, { periodMs, schedule })}</details>`,
    'ping',
  );
}

/** When pings are expected; null for other types, and for a schedule that this build does not understand. */
export function pingTimes(check: Readonly<Record<string, unknown>>, type: CheckType): ExpectedTimes | null {
  return type.pings ? timesOfPings(type.pings.expectation(type.spec.parse(check))) : null;
}

/** Says when the next ping is expected. */
function nextPing(timer: Timer, now: number): Html {
  if (timer?.is_active !== 1) return html`It is paused: pings are ignored.`;
  if (timer.expected_at === null || timer.deadline_at === null) {
    return timer.last_at === null
      ? html`It waits for its first ping.`
      : html`Its schedule has no further time.`;
  }
  const expectedAt = timer.expected_at;
  const deadline = html`It fails if none arrives by ${instant(timer.deadline_at)}.`;
  return expectedAt > now
    ? html`The next one is expected at ${instant(expectedAt)}. ${deadline}`
    : html`One was expected at ${instant(expectedAt)}, and is late. ${deadline}`;
}

/** Names the runs of the job that have started and not ended. */
async function runsInProgress({ api }: PageCall, checkId: string): Promise<Content> {
  const runs = await api.call(heartbeatRoutes.listJobRuns, { params: { checkId } });
  if (runs.length === 0) return '';
  const oldest = runs.slice(0, mostRuns);
  return html`<p class="notice">${counted(runs.length, 'run is', 'runs are')} in progress${runs.length > oldest.length ? `, the oldest ${oldest.length}` : ''}:${oldest.map(
    ({ runId, startedAt, mustEndBy }, index) =>
      html`${index > 0 ? ',' : ''} ${runId === null ? '' : html`<code>${runId}</code> `}since ${instant(startedAt)}${mustEndBy === null ? '' : html` (must end by ${instant(mustEndBy)})`}`,
  )}.</p>`;
}

/** The last signals of a job that sends more than plain pings. */
async function lastSignals({ api }: PageCall, checkId: string): Promise<Content> {
  const [page] = await api.call(heartbeatRoutes.listHeartbeatEvents, {
    params: { checkId },
    query: { includeBodies: 'true' },
  });
  const events = page?.events ?? [];
  if (!events.some(({ signal, body }) => (signal !== null && signal !== 'success') || body !== null))
    return '';
  return table<HeartbeatEvent>({
    caption: 'Last signals of the job, the newest first',
    rows: events,
    empty: '',
    columns: [
      {
        title: 'Signal',
        cell: ({ id, state, signal }) =>
          state === 'STARTED' || state === 'LOGGED'
            ? stateWords[state]
            : html`<a href="${path`/checks/${checkId}/runs/${id}`}">${signal === null ? 'missed' : stateWords[state]}</a>`,
      },
      { title: 'At', cell: ({ timestamp }) => instant(timestamp) },
      {
        title: 'Took',
        cell: ({ durationMs }) => (durationMs === null ? '' : duration(durationMs)),
        isNumber: true,
      },
      { title: 'Exit code', cell: ({ exitCode }) => exitCode ?? '', isNumber: true, isMinor: true },
      {
        title: 'Run',
        cell: ({ runId }) => (runId === null ? '' : html`<code>${runId}</code>`),
        isMinor: true,
      },
      { title: 'Content', cell: content },
    ],
  });
}

function content({ message, body, otherRuns }: HeartbeatEvent): Content {
  const others = otherRuns ? counted(otherRuns, 'other run was', 'other runs were') : null;
  return html`${message === null ? '' : visible(message)}${others === null ? '' : `${others} in progress.`}${
    body === null ? '' : html`<details><summary>Body</summary>${block('Body of the ping', body)}</details>`
  }`;
}

/** Lines for the places where jobs run. */
function lines(
  url: string,
  { periodMs, schedule }: { readonly periodMs: number | null; readonly schedule: CalendarRule | null },
): Html {
  const curl = `curl -fsS -m 10 --retry 5 -o /dev/null ${quoted(url)}`;
  const all = [
    ['curl', curl, 'At the end of a script. Add ?status=down to the URL to report a failure at once.'],
    [
      'start, duration and exit code',
      `curl -fsS -m 10 --retry 5 -o /dev/null ${quoted(`${url}/start`)}; ./job.sh; curl -fsS -m 10 --retry 5 -o /dev/null ${quoted(`${url}/`)}$?`,
      'Around the job. Any body is kept, its first 10 kB: send the output of the job with --data-binary @FILE.',
    ],
    [
      'cron',
      `${schedule?.cron ?? scheduleOf(periodMs ?? dayMs)} ./job.sh && ${curl}`,
      'A line of crontab -e; ./job.sh is your job.',
    ],
    [
      'systemd',
      `[Service]\nType=oneshot\nExecStartPost=${curl}`,
      'In the unit of the job: systemctl edit NAME.service',
    ],
    [
      'GitHub Actions',
      `- name: Ping Picket\n  run: curl -fsS -m 10 --retry 5 -o /dev/null "$PING_URL"\n  env:\n    PING_URL: \${{ secrets.PING_URL }}`,
      'The last step of the job. The secret PING_URL of the repository is the URL above.',
    ],
  ] as const;
  return html`<div class="ping-lines">${all.map(
    ([title, text, note]) =>
      html`<div><h3>${title}</h3>${copyBox(text, `line for ${title}`)}<p class="hint">${note}</p></div>`,
  )}</div>`;
}

/** For a shell and for systemd alike. */
function quoted(url: string): string {
  return /^[\w:/.-]+$/.test(url) ? url : `'${url.replaceAll("'", `'\\''`)}'`;
}

/** A schedule of cron that is about as long as a period. */
function scheduleOf(periodMs: number): string {
  const minutes = Math.max(1, Math.round(periodMs / 60_000));
  if (minutes < 60) return `*/${minutes} * * * *`;
  if (minutes < dayMinutes) return `0 */${Math.round(minutes / 60)} * * *`;
  if (minutes < 7 * dayMinutes) return '0 3 * * *';
  return minutes < 28 * dayMinutes ? '0 3 * * 1' : '0 3 1 * *';
}
