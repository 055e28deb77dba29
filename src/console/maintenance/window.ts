import {
  type Maintenance,
  MaintenanceStatus,
  maintenanceRoutes,
} from '@picket/protocol/pages/maintenance.ts';
import { maintenanceWindowApi } from '@picket/protocol/pages/maintenance-window.ts';
import type { z } from 'zod';
import { checkbox, csrfField, selectField, textArea, textField } from '../elements/form.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { facts } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { bothTimes } from '../elements/zoned-time.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { effectWords } from './list.ts';
import { instantText, localText, ruleWords } from './times.ts';

type Window = z.output<typeof maintenanceWindowApi.shown>;
type One = z.output<typeof Maintenance.schema>;

const { createMaintenanceUpdate, deleteMaintenance, listMaintenances, updateMaintenance } = maintenanceRoutes;
const occurrencesShown = 5;
/** Past occurrences stay listed for a day: an update may still be due. */
const pastMs = 86_400_000;

const stateOf: Readonly<Record<One['status'], readonly [State, string]>> = {
  SCHEDULED: ['off', 'Planned'],
  IN_PROGRESS: ['degraded', 'In progress'],
  VERIFYING: ['degraded', 'Verifying'],
  COMPLETED: ['passed', 'Completed'],
  CANCELLED: ['missed', 'Cancelled'],
};

/** Returns the account's window that the path names. */
async function windowOf({ api, params }: PageCall): Promise<Window> {
  return api.callAny<Window>(maintenanceWindowApi.routes.get, { params: { id: params['id'] } });
}

/** Shows one window: its next occurrences, their updates, and the possible changes. */
export async function showWindow(call: PageCall, problems?: Problems): Promise<View> {
  const { api, viewer, clock } = call;
  const window = await windowOf(call);
  const from = String(clock.wallMs() - pastMs);
  const occurrences = await api.call(listMaintenances, {
    params: { id: window.id },
    query: { limit: occurrencesShown, from },
  });
  const mayWrite = api.allows(updateMaintenance);
  const name = visible(shortened(window.name, 120));
  const here = path`/pages/maintenance/${window.id}`;
  const main = html`<nav class="crumbs"><a href="/pages/maintenance">Maintenance</a></nav>${heading(
    name,
    mayWrite
      ? html`<div class="row-actions"><a class="button" href="${here}/edit">Edit</a>${confirmed({
          to: `${here}/delete`,
          word: 'Delete…',
          confirmWord: 'Delete the window',
          question: 'It no longer pauses checks or silences alerts. Its updates are deleted, too.',
          viewer,
        })}</div>`
      : '',
  )}${problemNotice(problems)}
${window.description ? html`<p class="prose lead">${visible(window.description)}</p>` : ''}
${facts([
  ['Repeats', ruleWords(window)],
  ['Time zone', window.timezone],
  ['Effect', effectWords(window)],
])}
${section(
  'Occurrences',
  occurrences.length === 0
    ? html`<p class="empty">All occurrences have ended.</p>`
    : occurrences.map((one) => occurrenceCard(one, { window, viewer, here, mayWrite })),
)}`;
  return { title: name, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

interface CardContext {
  readonly window: Window;
  readonly viewer: PageCall['viewer'];
  readonly here: string;
  readonly mayWrite: boolean;
}

function occurrenceCard(one: One, { window, viewer, here, mayWrite }: CardContext): Html {
  const [state, word] = stateOf[one.status];
  const [startsAt, endsAt] = [Date.parse(one.startsAt), Date.parse(one.endsAt)];
  return html`<article class="notice-card notice-${state}" id="occurrence-${one.id}"><div class="card-line"><h3>${bothTimes(startsAt, window.timezone)}</h3>${stateBadge(state, word)}</div>
<p class="small soft">for ${duration(endsAt - startsAt)}, until ${instant(one.endsAt)}</p>
${timeline(one)}${
  mayWrite && one.status !== 'COMPLETED'
    ? html`<div class="row-actions after">${updateForm(one, viewer, here)}${moveForm(one, window, viewer, here)}${
        one.status === 'SCHEDULED'
          ? confirmed({
              to: `${here}/occurrences/${one.id}/skip`,
              word: 'Skip…',
              about: `occurrence ${one.id}`,
              confirmWord: 'Skip',
              question:
                'This occurrence does not happen, and subscribers are not notified. Other occurrences are kept.',
              viewer,
            })
          : ''
      }</div>`
    : ''
}</article>`;
}

function timeline({ updates }: One): Content {
  if (updates.length === 0) return '';
  return html`<ol class="updates">${updates.map(
    ({ status, description, created_at: at }) =>
      html`<li><p class="small"><b>${stateOf[status][1]}</b> <span class="soft">${instant(at)}</span></p><p class="prose">${visible(description)}</p></li>`,
  )}</ol>`;
}

function updateForm({ id }: One, viewer: PageCall['viewer'], here: string): Html {
  const choices = MaintenanceStatus.schema.options.map((value) => ({ value, word: stateOf[value][1] }));
  return html`<details class="confirm"><summary class="button" aria-label="Post an update about occurrence ${id}">Post an update…</summary><form class="confirm-box calm" method="post" action="${`${here}/occurrences/${id}/update`}">${csrfField(viewer)}
${selectField({ name: 'status', id: `status-${id}`, label: 'Status', choices: [{ value: '', word: 'Unchanged' }, ...choices] })}
${textArea({ name: 'description', id: `description-${id}`, label: 'Message', rows: 3 })}
${checkbox({ name: 'notifySubscribers', id: `notify-${id}`, label: 'Mail subscribers', isChecked: true })}
<button class="button primary" type="submit">Post it</button></form></details>`;
}

function moveForm(one: One, { timezone }: Window, viewer: PageCall['viewer'], here: string): Html {
  const { id } = one;
  return html`<details class="confirm"><summary class="button" aria-label="Move occurrence ${id}">Move…</summary><form class="confirm-box calm" method="post" action="${`${here}/occurrences/${id}/move`}">${csrfField(viewer)}
<p>Local time in ${timezone}. Other occurrences are kept.</p>
${textField({ name: 'startsAt', id: `starts-${id}`, label: 'Starts', type: 'datetime-local', value: localText(one.startsAt, timezone) })}
${textField({ name: 'endsAt', id: `ends-${id}`, label: 'Ends', type: 'datetime-local', value: localText(one.endsAt, timezone) })}
<button class="button primary" type="submit">Move occurrence</button></form></details>`;
}

/** Runs the work of an occurrence's form, then shows the window again. */
async function done(call: PageCall, work: () => Promise<unknown>): Promise<PageAnswer> {
  const { problems } = await attempt(work);
  return problems
    ? showWindow(call, problems)
    : { goTo: path`/pages/maintenance/${call.params['id'] ?? ''}`, toast: 'Saved.' };
}

function idsOf({ params }: PageCall) {
  return { id: params['id'] ?? '', maintenanceId: params['occurrence'] ?? '' };
}

export function postUpdate(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const status = form.get('status');
  const body = {
    description: (form.get('description') ?? '').replaceAll('\r\n', '\n'),
    notifySubscribers: form.get('notifySubscribers') === 'true',
    ...(status ? { status: status as One['status'] } : {}),
  };
  return done(call, () => api.call(createMaintenanceUpdate, { params: idsOf(call), body }));
}

export async function moveOccurrence(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const { timezone } = await windowOf(call);
  const [startsAt, endsAt] = ['startsAt', 'endsAt'].map((name) =>
    instantText(form.get(name) ?? '', timezone),
  );
  return done(call, () => api.call(updateMaintenance, { params: idsOf(call), body: { startsAt, endsAt } }));
}

export function skipOccurrence(call: PageCall): Promise<PageAnswer> {
  return done(call, () => call.api.call(deleteMaintenance, { params: idsOf(call) }));
}

export async function deleteWindow(call: PageCall): Promise<PageAnswer> {
  await call.api.callAny(maintenanceWindowApi.routes.delete, { params: { id: call.params['id'] } });
  return { goTo: '/pages/maintenance', toast: 'Maintenance window deleted.' };
}
