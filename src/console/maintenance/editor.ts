import type { Route } from '@picket/protocol/http/route.ts';
import { incidentSeverities } from '@picket/protocol/pages/incident.ts';
import { MaintenanceWindowInput, maintenanceWindowApi } from '@picket/protocol/pages/maintenance-window.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '@picket/protocol/pages/status-page-component.ts';
import type { z } from 'zod';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { problemNotice } from '../forms/action.ts';
import { objectWord } from '../forms/field.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { statusWord } from '../public/incidents.ts';
import { effectPreview, emptyPreview } from './preview.ts';
import { instantText, localText } from './times.ts';

type Window = z.output<typeof maintenanceWindowApi.shown>;
type Body = Readonly<Record<string, unknown>>;

const routes = maintenanceWindowApi.routes;
const dates = ['startsAt', 'endsAt', 'repeatEndsAt'] as const;
const zones = [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
const mostChoices = 100;
const severityWords = Object.fromEntries(incidentSeverities.map((value) => [value, statusWord(value)]));

async function formFor(call: PageCall): Promise<Form> {
  return new Form(MaintenanceWindowInput, await wordsFor(call));
}

async function wordsFor({ api, store, viewer }: PageCall): Promise<Words> {
  const [choices, pages, services, components] = await Promise.all([
    store.overviews.choices(viewer.accountId),
    api.call(statusPageRoutes.listStatusPages, { query: { limit: mostChoices } }),
    api.call(statusPageRoutes.listServices, { query: { limit: mostChoices } }),
    api.call(statusPageComponentRoutes.listStatusPageComponents, { query: { limit: mostChoices } }),
  ]);
  const known = choices.tags.slice(0, 20).map((tag) => visible(shortened(tag, 40)));
  const tagHint = `One per line.${known.length === 0 ? '' : ` Existing tags: ${known.join(', ')}.`}`;
  const named = (list: readonly { readonly id: string; readonly name: string }[]) =>
    list.map(({ id, name }) => ({ value: id, word: visible(shortened(name, 80)) }));
  const visibility = 'statusPageVisibility';
  return {
    description: { lines: 3 },
    startsAt: { label: 'Starts', type: 'datetime-local', hint: 'Local time in the time zone below.' },
    endsAt: { label: 'Ends', type: 'datetime-local' },
    timezone: { label: 'Time zone', suggestions: zones },
    repeatInterval: { label: 'Repeat every', hint: 'Empty: no repetition.' },
    repeatUnit: { label: 'Unit', words: { DAY: 'Days', WEEK: 'Weeks', MONTH: 'Months' } },
    repeatEndsAt: {
      label: 'No repetition after',
      type: 'datetime-local',
      hint: 'Empty: repeats indefinitely.',
    },
    tags: { label: 'Pause checks with any of these tags', hint: tagHint },
    pauseAllChecks: { label: 'Pause every check' },
    silenceAlertsTags: { label: 'Silence alerts of checks with any of these tags', hint: tagHint },
    silenceAllAlerts: { label: 'Silence every alert' },
    [visibility]: { label: 'On status pages', boxLabel: 'Show it on status pages' },
    [`${visibility}.enabled`]: { isHidden: true },
    [`${visibility}.severity`]: { label: 'Severity', words: severityWords },
    [`${visibility}.affectAllServices`]: { label: 'Affects all services and components of the pages' },
    [`${visibility}.notifyOnStart`]: { label: 'Mail subscribers when it begins' },
    [`${visibility}.notifyOnEnd`]: { label: 'Mail subscribers when it ends' },
    [`${visibility}.suppressAutoIncidents`]: { label: 'Checks do not open incidents during the window' },
    [`${visibility}.reminderMinutesBefore`]: {
      label: 'Remind subscribers before',
      hint: 'Minutes, 60 to 10080, one per line, at most three.',
    },
    [`${visibility}.autoStart`]: { label: 'Begin automatically' },
    [`${visibility}.autoEnd`]: { label: 'End automatically' },
    [`${visibility}.statusPageIds`]: {
      label: 'Status pages',
      choices: named(pages.entries),
      hint: 'Empty: all pages with one of its services or components.',
    },
    [`${visibility}.serviceIds`]: { label: 'Services', choices: named(services.entries) },
    [`${visibility}.componentIds`]: {
      label: 'Components',
      choices: named(
        components.entries.map(({ id, name, statusPageId }) => {
          const page = pages.entries.find((one) => one.id === statusPageId)?.name;
          return { id, name: page === undefined ? name : `${name} (${page})` };
        }),
      ),
      hint: 'A group includes its components.',
    },
  };
}

/** Converts the form to an API body: dates are in the time zone of the window. */
function bodyOf(form: Form, sent: URLSearchParams): Body {
  const body = form.object(sent);
  const zone = sent.get('timezone') ?? 'UTC';
  const instants = dates.map((name) => [
    name,
    typeof body[name] === 'string' ? instantText(body[name], zone) : body[name],
  ]);
  const shown = body['statusPageVisibility'];
  return {
    ...body,
    ...Object.fromEntries(instants),
    ...(shown ? { statusPageVisibility: { ...shown, enabled: true } } : {}),
  };
}

function valuesFrom(form: Form, window: Window): URLSearchParams {
  const values = form.values(window);
  for (const name of dates) {
    const at = window[name];
    if (at !== null) values.set(name, localText(at, window.timezone));
  }
  values.set('statusPageVisibility', window.statusPageVisibility?.enabled ? objectWord : '');
  return values;
}

/** Starts at the next full hour by default. */
function newValues(form: Form, now: number): URLSearchParams {
  const values = form.defaults();
  const hourMs = 3_600_000;
  const start = Math.ceil(now / hourMs) * hourMs;
  values.set('startsAt', localText(new Date(start).toISOString(), 'UTC'));
  values.set('endsAt', localText(new Date(start + hourMs).toISOString(), 'UTC'));
  return values;
}

export interface WindowForm {
  readonly values?: URLSearchParams;
  readonly problems?: Problems;
  /** Whether to show a preview of the effects. */
  readonly isPreviewed?: boolean;
}

export async function windowEditor(call: PageCall, shown: WindowForm = {}): Promise<View> {
  const { api, viewer, clock, params } = call;
  const { id } = params;
  const form = await formFor(call);
  const stored = id === undefined ? undefined : await api.callAny<Window>(routes.get, { params: { id } });
  const { problems } = shown;
  const values = shown.values ?? (stored ? valuesFrom(form, stored) : newValues(form, clock.wallMs()));
  const name = stored && visible(shortened(stored.name, 100));
  const here = stored ? path`/pages/maintenance/${stored.id}/edit` : '/pages/maintenance/new';
  const title = name === undefined ? 'New maintenance window' : `Edit ${name}`;
  const isPreviewed = shown.isPreviewed === true || stored !== undefined || problems !== undefined;
  const main = html`<nav class="crumbs"><a href="/pages/maintenance">Maintenance</a>${
    stored ? html` / <a href="${path`/pages/maintenance/${stored.id}`}">${name}</a>` : ''
  }</nav>${heading(title)}${problemNotice(problems)}
<div class="editing"><form class="form" id="window-form" method="post" action="${here}">${csrfField(viewer)}${id === undefined ? '' : html`<input type="hidden" name="id" value="${id}">`}
${form.view({ values, problems })}
<div class="actions"><button class="button primary" type="submit">${stored ? 'Save' : 'Create the window'}</button><button class="button" type="submit" formaction="/pages/maintenance/preview" formnovalidate>Preview</button><a class="button" href="/pages/maintenance">Cancel</a></div></form>
${isPreviewed ? await effectPreview(call, bodyOf(form, values)) : emptyPreview()}</div>`;
  return { title, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

/** Shows the form again with a preview of the effects, without saving. */
export function previewWindow(call: PageCall): Promise<View> {
  const id = /^\d{1,15}$/.exec(call.form.get('id') ?? '')?.[0];
  const params: PageCall['params'] = id === undefined ? {} : { id };
  return windowEditor({ ...call, params }, { values: call.form, isPreviewed: true });
}

export async function saveWindow(call: PageCall): Promise<PageAnswer> {
  const { api, form: sent, params } = call;
  const { id } = params;
  const body = bodyOf(await formFor(call), sent);
  const { done, problems } = await attempt(() =>
    id === undefined
      ? api.callAny<Window>(routes.create, { body })
      : api.callAny<Window>(maintenanceWindowApi.routes.update as Route, { params: { id }, body }),
  );
  if (problems) return windowEditor(call, { values: sent, problems });
  return { goTo: path`/pages/maintenance/${done.id}`, toast: 'Maintenance window saved.' };
}
