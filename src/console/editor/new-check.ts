import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { definitionSchema, maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { fieldError, validationError } from '@picket/platform/http/validation.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { notice } from '../forms/action.ts';
import { initialOf } from '../forms/field.ts';
import { attempt, type Problems, problemsOf } from '../forms/problems.ts';
import { html } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { type Draft, draftOf, lostSecrets, typedDraft } from './draft.ts';
import { saved } from './first-run.ts';
import { type ChangedForm, changeForm, curlBox, takesCurl, templateBox } from './form-actions.ts';
import { formPage, partialAttributes } from './form-page.ts';
import { type Choices, choicesOf, preticked } from './parts/choices.ts';
import { completed } from './parts/completed.ts';
import { schedulePreview } from './schedule-preview.ts';
import { checkPlan } from './sections.ts';
import { type Entry, ifThere, storedCheck, typeOf } from './stored.ts';
import { tryFields, tryPanel } from './tryout.ts';
import { chooseType } from './type-choice.ts';

const { createCheck } = checkRoutes;
const here = '/checks/new';

/** Shows the choice of a type, then its form; or the form of a copy. */
export async function newCheck(call: PageCall): Promise<View> {
  const { query } = call;
  const from = query.get('from');
  if (from) return copyOf(call, from);
  const type = findCheckType(query.get('type') ?? '');
  if (!type) return chooseType(call);
  return newForm(call, type, { draft: await firstDraft(call, type) });
}

/** Returns the initial draft of a new check. */
async function firstDraft(call: PageCall, type: CheckType): Promise<Draft> {
  const initial = initialOf({ ...CommonFields.shape, ...type.spec.shape });
  const [channels, privateLocations] = await Promise.all([
    call.api.call(alertChannelRoutes.listAlertChannels, { query: { limit: 100 } }),
    type.pings ? [] : preticked(call),
  ]);
  const definition = {
    ...initial,
    name: '',
    privateLocations,
    // No agent serves a region.
    locations: [],
    alertChannelSubscriptions: channels.map(({ id }) => ({ alertChannelId: id, activated: true })),
  };
  const plan = checkPlan(type);
  const draft = draftOf(plan.fields, definition);
  for (const [pattern, { initial }] of Object.entries(plan.layout)) {
    if (initial !== undefined) draft.values.set(pattern, String(initial));
  }
  return draft;
}

async function copyOf(call: PageCall, id: string): Promise<View> {
  const check = await storedCheck(call, id);
  const type = typeOf(check);
  const name = `Copy of ${check['name']}`.slice(0, 255);
  const { frequencyOffset, ...rest } = check;
  const definition = {
    ...rest,
    name,
    // With a frequency of 0 the offset is the period; otherwise it spreads checks, and is chosen anew.
    ...(check['frequency'] === 0 ? { frequencyOffset } : {}),
    ...(type.pings?.addressed(type.spec.parse(check), { token: null, url: null }) ?? {}),
  };
  const said = 'This copy is not saved yet. Hidden values were not copied. Enter them again.';
  return newForm(call, type, { draft: draftOf(checkPlan(type).fields, definition), said }, id);
}

/** Creates the check of the form; other buttons only change the form. */
export async function saveNewCheck(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const type = findCheckType(form.get('$type') ?? '');
  if (!type) return chooseType(call);
  const plan = checkPlan(type);
  // A pasted command is submitted before the form exists.
  const draft = form.has('name')
    ? typedDraft(plan.fields, completed(plan, form))
    : await firstDraft(call, type);
  const copyOf = form.get('$copyOf') ?? undefined;
  const changed = await changeForm(call, type, { plan, draft });
  if (changed) return newForm(call, type, changed, copyOf);
  const own = await ownProblems(call, type, draft.definition, copyOf);
  const tried = form.get('$try') || undefined;
  if (own) return newForm(call, type, { draft, problems: own, tried }, copyOf);
  const { done, problems } = await attempt(() =>
    api.call(createCheck, {
      query: { autoAssignAlerts: 'false' },
      body: { ...draft.definition, checkType: type.name },
    }),
  );
  if (problems) return newForm(call, type, { draft, problems, tried }, copyOf);
  return saved(call, done);
}

/** Returns problems that would make a new check useless, together with those of its schema. */
async function ownProblems(
  { store, viewer }: PageCall,
  type: CheckType,
  definition: Entry,
  copyOf: string | undefined,
): Promise<Problems | undefined> {
  const found: { key: string; message: string }[] = [];
  const { activated, locations, privateLocations, groupId } = definition;
  const hasPlace = [locations, privateLocations].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasPlace && activated === true && !type.pings) {
    const group =
      typeof groupId === 'number' ? await store.groups.find(viewer.accountId, groupId) : undefined;
    const places = [group?.definition['locations'], group?.definition['privateLocations']];
    if (!places.some((list) => Array.isArray(list) && list.length > 0)) {
      found.push({
        key: 'privateLocations',
        message: 'needs at least one: without a location the check never runs',
      });
    }
  }
  if (copyOf) found.push(...lostSecrets(maskedValues(type), definition, { stored: {}, isCopy: true }));
  const issues = definitionSchema(type).safeParse(definition).error?.issues ?? [];
  if (found.length === 0) return undefined;
  const said = [
    ...(issues.length === 0 ? [] : [problemsOf(validationError('payload', issues))]),
    problemsOf(fieldError('payload', found)),
  ];
  return {
    statusCode: 422,
    message: said
      .map(({ message }) => message)
      .filter(Boolean)
      .join(' '),
    fields: new Map(said.flatMap(({ fields }) => [...fields])),
  };
}

/** Returns what the form of a type offers, with the search that it was sent with. */
export async function formChoices(
  call: PageCall,
  type: CheckType,
  form: { readonly values: URLSearchParams; readonly to: string; readonly checkId?: string },
): Promise<Choices> {
  const values = new URLSearchParams(form.values);
  for (const [name, value] of call.form) if (name.startsWith('$find.')) values.set(name, value);
  const hasBundle = Object.values(type.form ?? {}).some(({ picker }) => picker === 'bundles');
  return choicesOf(call, { ...form, values, hasBundle });
}

/** Shows the form of an unsaved check. */
export async function newForm(
  call: PageCall,
  type: CheckType,
  { draft, problems, said, tried }: ChangedForm,
  copyOf?: string,
): Promise<View> {
  const choices = await formChoices(call, type, { values: draft.values, to: here });
  const partial = partialAttributes(here);
  const panel = tried === undefined ? undefined : await ifThere(tryPanel(call, tried, here));
  const hidden = (name: string, value: string | undefined) =>
    value === undefined ? '' : html`<input type="hidden" name="${name}" value="${value}">`;
  const locations = choices.get('privateLocations')?.choices ?? [];
  const main = html`<p class="crumbs"><a href="/">Overview</a> / <a href="${here}">New check</a></p>${heading(`New: ${type.title}`)}${said ? notice(said) : ''}${formPage(
    call,
    {
      to: here,
      plan: checkPlan(type),
      values: draft.values,
      choices,
      problems,
      fields: [hidden('$type', type.name), hidden('$copyOf', copyOf), hidden('$try', panel && tried)],
      atTop: [
        takesCurl(type) ? curlBox(call.form, problems, partial) : '',
        templateBox(type, call.form, partial),
      ],
      aside: [
        tryFields(call, type, {
          chosen: draft.values.get('privateLocations') ?? undefined,
          locations,
          values: call.form,
          problems,
          partial,
        }),
        schedulePreview(type, draft.values, call.clock.wallMs()),
        panel,
      ],
      saveWord: 'Create the check',
      cancelTo: '/',
    },
  )}`;
  return { title: `New: ${type.title}`, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}
