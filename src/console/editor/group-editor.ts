import { commonForm } from '@picket/checks/contract/definition/common-form.ts';
import type { FormLayout } from '@picket/checks/contract/definition/form-layout.ts';
import { httpForm } from '@picket/checks/http/form.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { CheckGroupInput, checkGroupRoutes, maskedInGroups } from '@picket/protocol/checks/check-group.ts';
import { ago, counted, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { pager, table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { confirmed, notice, problemNotice } from '../forms/action.ts';
import { type Field, fieldsOf, initialOf } from '../forms/field.ts';
import { attempt, type Problems, problemsOf } from '../forms/problems.ts';
import { html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { withFormFields } from './adapters.ts';
import { changesOf, draftOf, hiddenInputs, lostSecrets, typedDraft, withRows } from './draft.ts';
import type { ChangedForm } from './form-actions.ts';
import { formPage } from './form-page.ts';
import { choicesOf } from './parts/choices.ts';
import { arranged, type FormPlan, sectionsOf } from './sections.ts';
import { type Entry, ifThere, notesOf, overtaken, versionOf, warningNotices } from './stored.ts';

const { createCheckGroup, deleteCheckGroup, getCheckGroup, listCheckGroups, updateCheckGroup } =
  checkGroupRoutes;
const rowsPerPage = 50;

/** The login of requests has the words of API checks. */
const authForm = Object.fromEntries(
  Object.entries(httpForm)
    .filter(([key]) => /^request\.(?:auth|basicAuth)\b/.test(key))
    .map(([key, layout]) => [key.replace(/^request/, 'apiCheckDefaults'), layout]),
);

const plan: FormPlan = groupPlan();

/** Form of the settings that a group applies to all of its checks. */
function groupPlan(): FormPlan {
  const words: FormLayout = {
    name: { width: 'half' },
    tags: { label: 'Tags for all its checks', isFirst: true, width: 'half' },
    muted: { label: 'Muted: send no notifications for its checks' },
    privateLocations: { hint: 'All its checks run here. Empty: the locations of each check.' },
    runParallel: { label: 'Run in parallel', words: { '': 'as each check says' } },
    runtimeId: { hint: 'For checks without a runtime.' },
    useGlobalAlertSettings: { words: { '': 'as each check says' } },
    alertSettings: {
      label: 'Alert settings of the group',
      words: { '': 'none of its own', object: 'its own' },
    },
    doubleCheck: { label: 'Retry once from another location', words: { '': 'as each check says' } },
    alertChannelSubscriptions: { hint: 'For all its checks. Empty: the channels of each check.' },
    browserCheckDefaults: { isHidden: true },
    'apiCheckDefaults.url': { label: 'Base URL', hint: 'Value of {{GROUP_BASE_URL}} in its checks.' },
    ...authForm,
  };
  const own = Object.entries(words).map(([key, one]) => [key, { ...commonForm[key], ...one }]);
  const layout: FormLayout = { ...commonForm, ...Object.fromEntries(own) };
  const fields = withFormFields(fieldsOf(CheckGroupInput.shape)).map((field) => arranged(field, layout));
  const isOwn = ({ kind }: Field) => kind === 'part';
  return { fields, layout, sections: sectionsOf(fields, { layout, isOwn, title: 'Defaults of requests' }) };
}

export async function listGroups(call: PageCall, problems?: Problems): Promise<View> {
  const { api, query, clock } = call;
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries: groups, total } = await api.list(listCheckGroups, { query: { limit: rowsPerPage, page } });
  const mayWrite = api.allows(createCheckGroup);
  const name = (group: { readonly id: number; readonly name: string }) => visible(shortened(group.name, 100));
  const main = html`<p class="crumbs"><a href="/">Overview</a></p>${heading(
    'Groups',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/groups/new">New group</a></div>`
      : '',
  )}${problemNotice(problems)}<p class="lead soft">The settings of a group apply to all of its checks.</p>
${table({
  caption: 'Groups of checks',
  rows: groups,
  empty: 'No groups yet.',
  columns: [
    {
      title: 'Name',
      cell: (group) =>
        html`${mayWrite ? html`<a href="${path`/groups/${group.id}/edit`}">${name(group)}</a>` : name(group)}${group.warnings.map(({ message }) => html`<p class="small soft">${message}</p>`)}`,
    },
    {
      title: 'State',
      cell: ({ activated }) => (activated ? stateBadge('passed', 'Enabled') : stateBadge('off', 'Paused')),
    },
    { title: 'Tags', cell: ({ tags }) => visible(shortened(tags.join(', '), 100)) },
    {
      title: 'Checks',
      cell: ({ id }) => html`<a href="${withQuery('/', { group: id })}">Show its checks</a>`,
    },
    {
      title: 'Changed',
      cell: (group) => ago(Date.parse(versionOf(group)), clock.wallMs()),
      isMinor: true,
    },
  ],
})}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/groups', { page: other }), of: 'groups' })}
${total === 0 ? '' : html`<p class="small soft">${counted(total, 'group')}</p>`}`;
  return { title: 'Groups', main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function newGroup(call: PageCall): Promise<View> {
  const channels = await call.api.call(alertChannelRoutes.listAlertChannels, { query: { limit: 100 } });
  const definition = {
    ...initialOf(CheckGroupInput.shape),
    alertChannelSubscriptions: channels.map(({ id }) => ({ alertChannelId: id, activated: true })),
  };
  return groupForm(call, undefined, { draft: draftOf(plan.fields, definition) });
}

export async function saveNewGroup(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const draft = typedDraft(plan.fields, form);
  const action = form.get('$do') ?? 'save';
  if (action !== 'save') {
    return groupForm(call, undefined, { draft: { ...draft, values: withRows(draft.values, action) } });
  }
  const { problems } = await attempt(() =>
    api.call(createCheckGroup, {
      query: { autoAssignAlerts: 'false' },
      body: draft.definition as { name: string },
    }),
  );
  return problems ? groupForm(call, undefined, { draft, problems }) : { goTo: '/groups' };
}

export async function editGroup(call: PageCall): Promise<View> {
  const group = await storedGroup(call);
  return groupForm(call, group, { draft: draftOf(plan.fields, group) });
}

export async function saveGroup(call: PageCall): Promise<PageAnswer> {
  const { api, form, params } = call;
  const group = await ifThere(storedGroup(call));
  if (!group) {
    const said =
      'This group was deleted after you opened it. Your input is kept below. Saving creates a new group.';
    return groupForm(call, undefined, { draft: typedDraft(plan.fields, form), said });
  }
  const draft = typedDraft(plan.fields, form, group);
  const base = form.get('$base') ?? '';
  const action = form.get('$do') ?? 'save';
  if (action !== 'save') {
    return groupForm(call, group, { draft: { ...draft, values: withRows(draft.values, action) } }, base);
  }
  const changes = changesOf(draft, group);
  if (Object.keys(changes).length === 0) return { goTo: '/groups' };
  const lost = lostSecrets(maskedInGroups, draft.definition, { stored: group, isCopy: false });
  if (lost.length > 0) {
    return groupForm(call, group, { draft, problems: problemsOf(fieldError('payload', lost)) }, base);
  }
  const { problems } = await attempt(() =>
    api.call(updateCheckGroup, {
      params: { id: params['id'] ?? '' },
      query: { unchangedSince: base },
      body: changes,
    }),
  );
  if (!problems) return { goTo: '/groups' };
  const now = (await ifThere(storedGroup(call))) ?? group;
  const said = versionOf(now) === base ? undefined : overtaken(call, now, changesOf(draft, now));
  return groupForm(call, now, { draft, problems, said });
}

export async function removeGroup(call: PageCall): Promise<PageAnswer> {
  const { problems } = await attempt(() =>
    call.api.call(deleteCheckGroup, { params: { id: call.params['id'] ?? '' } }),
  );
  return problems ? listGroups(call, problems) : { goTo: '/groups' };
}

async function groupForm(
  call: PageCall,
  group: Entry | undefined,
  { draft, problems, said }: ChangedForm,
  base = group ? versionOf(group) : '',
): Promise<View> {
  const here = group ? path`/groups/${String(group['id'])}` : '/groups';
  const name = group ? visible(shortened(String(group['name']), 120)) : '';
  const title = group ? `Edit: ${name}` : 'New group';
  const main = html`<p class="crumbs"><a href="/">Overview</a> / <a href="/groups">Groups</a></p>${heading(
    title,
    group
      ? html`<div class="row-actions">${confirmed({
          to: `${here}/delete`,
          word: 'Delete…',
          confirmWord: 'Delete the group',
          question: 'Only a group without checks can be deleted.',
          viewer: call.viewer,
        })}</div>`
      : '',
  )}${said ? notice(said, 'refused') : ''}${group ? warningNotices(group) : ''}${formPage(call, {
    to: group ? `${here}/edit` : '/groups/new',
    plan,
    values: draft.values,
    choices: await choicesOf(call, { values: draft.values, to: here }),
    hidden: group ? hiddenInputs(maskedInGroups, draft.definition, group) : new Set(),
    ...(group ? { notes: notesOf(group) } : {}),
    problems,
    fields: group ? html`<input type="hidden" name="$base" value="${base}">` : '',
    saveWord: group ? 'Save' : 'Create the group',
    cancelTo: '/groups',
  })}`;
  return { title, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

async function storedGroup({ api, params }: PageCall): Promise<Entry> {
  return api.call(getCheckGroup, { params: { id: params['id'] ?? '' } });
}
