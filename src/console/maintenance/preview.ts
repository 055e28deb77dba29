import { MaintenanceWindowInput, type WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { MaintenanceCalendar } from '@picket/service/maintenance/calendar.ts';
import { counted, duration, shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { bothTimes } from '../elements/zoned-time.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

const occurrencesShown = 3;
const checksShown = 20;

/** Previews the effects of a window with the form's values: its times, and the affected checks. */
export async function effectPreview(call: PageCall, body: Readonly<Record<string, unknown>>): Promise<Html> {
  const parsed = MaintenanceWindowInput.safeParse(body);
  if (!parsed.success) {
    const missing = parsed.error.issues.map(({ path: parts, message }) => `${parts.join('.')} ${message}`);
    return panel(html`<p class="soft">It cannot be saved: ${shortened(missing.join('; '), 400)}.</p>`);
  }
  return panel(await effects(call, parsed.data));
}

/** The empty preview. */
export function emptyPreview(): Html {
  return panel(html`<p class="soft">Preview of the effects of the window.</p>`);
}

function panel(content: Content): Html {
  return html`<section class="preview" id="preview" aria-live="polite" hx-post="/pages/maintenance/preview" hx-trigger="input delay:500ms from:#window-form" hx-include="#window-form" hx-target="#preview" hx-select="#preview" hx-swap="outerMorph"><h2>Effects</h2>${content}</section>`;
}

async function effects({ store, viewer, clock }: PageCall, definition: WindowDefinition): Promise<Html> {
  const now = clock.wallMs();
  const zone = definition.timezone;
  const { pauseAllChecks, tags, silenceAllAlerts, silenceAlertsTags, statusPageVisibility } = definition;
  const concerned = async (all: boolean, named: readonly string[]) =>
    all || named.length > 0
      ? store.reports.checks({ accountId: viewer.accountId, tags: all ? [] : named, needsAllTags: false })
      : [];
  const [paused, silenced] = [
    await concerned(pauseAllChecks, tags),
    await concerned(silenceAllAlerts, silenceAlertsTags),
  ];
  const next = new MaintenanceCalendar(definition, []).from(now, { limit: occurrencesShown, offset: 0 });
  return html`${
    next.length === 0
      ? html`<p>It has already ended, so it has no effect.</p>`
      : html`<h3>The next ${next.length === 1 ? 'time' : `${next.length} times`}</h3><ol class="occurrences">${next.map(
          ({ startsAt, endsAt }) =>
            html`<li>${bothTimes(startsAt, zone)} <span class="small soft">for ${duration(endsAt - startsAt)}</span></li>`,
        )}</ol>`
  }${affected('Do not run', paused, pauseAllChecks || tags.length > 0)}
${affected('Send no alerts', silenced, silenceAllAlerts || silenceAlertsTags.length > 0)}
${statusPageVisibility?.enabled ? html`<h3>Status pages</h3><p>Shown as maintenance, severity ${statusPageVisibility.severity.toLowerCase()}.</p>` : ''}`;
}

function affected(
  title: string,
  checks: readonly { readonly id: string; readonly name: string }[],
  isMeant: boolean,
): Content {
  if (!isMeant) return '';
  const more = checks.length - checksShown;
  return html`<h3>${title}</h3>${
    checks.length === 0
      ? html`<p>No check has these tags, so the window has no effect.</p>`
      : html`<p>${counted(checks.length, 'check')}</p><ul class="plain small">${checks
          .slice(0, checksShown)
          .map(
            ({ id, name }) =>
              html`<li><a href="${path`/checks/${id}`}">${visible(shortened(name, 80))}</a></li>`,
          )}${more > 0 ? html`<li class="soft">and ${more} more</li>` : ''}</ul>`
  }`;
}
