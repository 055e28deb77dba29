import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { copyBox } from '../elements/copy.ts';
import { duration, instant } from '../elements/format.ts';
import { section } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

const dayMinutes = 24 * 60;

/** For types whose targets send pings: their URL, lines for jobs, and when the next ping is expected. */
export async function heartbeatPart(
  call: PageCall,
  check: Readonly<Record<string, unknown>>,
  type: CheckType,
): Promise<Content> {
  if (!type.pings) return '';
  const spec = type.spec.parse(check);
  const { periodMs, graceMs } = type.pings.expectation(spec);
  const given = type.pings.url(spec);
  const said = html`<p>A ping is expected every ${duration(periodMs)}, and may be up to ${duration(graceMs)} late. ${await nextPing(call, String(check['id']), periodMs)}</p>`;
  if (given === null || !call.api.allows(checkRoutes.updateCheck)) {
    return section(
      'Pings',
      html`${said}<p class="soft">The ping URL is shown to those who may edit the check.</p>`,
      'ping',
    );
  }
  const { protocol, host } = call.request;
  const url = given.startsWith('/') ? `${protocol}://${host}${given}` : given;
  return section('Ping URL', html`${copyBox(url, 'ping URL')}${said}${lines(url, periodMs)}`, 'ping');
}

/** Says when the next ping is expected. */
async function nextPing({ store, clock }: PageCall, checkId: string, periodMs: number): Promise<Html> {
  const timer = await store.heartbeats.find(checkId);
  if (timer?.is_active !== 1) return html`It is paused: pings are ignored.`;
  if (timer.last_at === null || timer.deadline_at === null) {
    return html`It waits for its first ping.`;
  }
  const expectedAt = timer.last_at + periodMs;
  const deadline = html`It fails if none arrives by ${instant(timer.deadline_at)}.`;
  return expectedAt > clock.wallMs()
    ? html`The next one is expected at ${instant(expectedAt)}. ${deadline}`
    : html`One was expected at ${instant(expectedAt)}, and is late. ${deadline}`;
}

/** Lines for the places where jobs run. */
function lines(url: string, periodMs: number): Html {
  const curl = `curl -fsS -m 10 --retry 5 -o /dev/null ${quoted(url)}`;
  const all = [
    ['curl', curl, 'At the end of a script. Add ?status=down to the URL to report a failure at once.'],
    ['cron', `${scheduleOf(periodMs)} ./job.sh && ${curl}`, 'A line of crontab -e; ./job.sh is your job.'],
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
