import { maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { shortened } from '../elements/format.ts';
import { menu } from '../elements/menu.ts';
import { visible } from '../elements/text.ts';
import { actionButton, confirmed, notice } from '../forms/action.ts';
import { attempt, problemsOf } from '../forms/problems.ts';
import { changeList, lastAuthor, lastChangesOf } from '../history/last-changes.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { changesOf, draftOf, hiddenInputs, lostSecrets, typedDraft } from './draft.ts';
import { saved } from './first-run.ts';
import { type ChangedForm, changeForm, curlBox, takesCurl } from './form-actions.ts';
import { formPage, partialAttributes } from './form-page.ts';
import { formChoices, newForm } from './new-check.ts';
import { completed } from './parts/completed.ts';
import { schedulePreview } from './schedule-preview.ts';
import { checkPlan } from './sections.ts';
import {
  changedAt,
  type Entry,
  ifThere,
  notesOf,
  overtaken,
  storedCheck,
  typeOf,
  versionOf,
  warningNotices,
} from './stored.ts';
import { tryFields, tryPanel } from './tryout.ts';

const { deleteCheck, updateCheck } = checkRoutes;

export async function editCheck(call: PageCall): Promise<View> {
  const check = await storedCheck(call, call.params['checkId'] ?? '');
  return editForm(call, check, { draft: draftOf(checkPlan(typeOf(check)).fields, check) });
}

/** Saves only the changed fields. */
export async function saveCheck(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const { checkId = '' } = call.params;
  const check = await ifThere(storedCheck(call, checkId));
  if (!check) return deletedMeanwhile(call);
  const type = typeOf(check);
  const plan = checkPlan(type);
  const draft = typedDraft(plan.fields, completed(plan, form, check), check);
  const base = form.get('$base') ?? '';
  const changed = await changeForm(call, type, { plan, draft, checkId });
  if (changed) return editForm(call, check, changed, base);
  const tried = form.get('$try') || undefined;
  const changes = changesOf(draft, check);
  if (Object.keys(changes).length === 0) return { goTo: path`/checks/${checkId}` };
  const lost = lostSecrets(maskedValues(type), draft.definition, { stored: check, isCopy: false });
  if (lost.length > 0) {
    return editForm(call, check, { draft, problems: problemsOf(fieldError('payload', lost)), tried }, base);
  }
  const { done, problems } = await attempt(() =>
    api.call(updateCheck, { params: { id: checkId }, query: { unchangedSince: base }, body: changes }),
  );
  if (!problems) return saved(call, done);
  // The form now refers to the current version: a user who saves again has seen it.
  const now = (await ifThere(storedCheck(call, checkId))) ?? check;
  const said = versionOf(now) === base ? undefined : overtaken(call, now, changesOf(draft, now));
  return editForm(call, now, { draft, problems, said, tried });
}

function deletedMeanwhile(call: PageCall): Promise<View> {
  const type = findCheckType(call.form.get('$type') ?? '');
  if (!type) throw new AppError('NOT_FOUND', 'This check no longer exists.');
  const draft = typedDraft(checkPlan(type).fields, call.form);
  const said =
    'This check was deleted after you opened it. Your input is kept below. Saving creates a new check.';
  return newForm(call, type, { draft, said });
}

async function editForm(
  call: PageCall,
  check: Entry,
  { draft, problems, said, tried }: ChangedForm,
  base = versionOf(check),
): Promise<View> {
  const { clock, form } = call;
  const type = typeOf(check);
  const here = path`/checks/${String(check['id'])}`;
  const to = `${here}/edit`;
  const partial = partialAttributes(to);
  const name = visible(shortened(String(check['name']), 120));
  const resource = `checks/${String(check['id'])}`;
  const [choices, changes] = await Promise.all([
    formChoices(call, type, { values: draft.values, to, checkId: String(check['id']) }),
    lastChangesOf(call, resource),
  ]);
  const panel = tried === undefined ? undefined : await ifThere(tryPanel(call, tried, to));
  const hidden = (field: string, value: string) =>
    html`<input type="hidden" name="${field}" value="${value}">`;
  const main = html`<p class="crumbs"><a href="/">Overview</a> / <a href="${here}">${name}</a></p>${heading(
    html`Edit: ${name}`,
    otherActions(call, check, here),
  )}<p class="soft lead">${type.title} · last changed ${changedAt(check, clock.wallMs())}${lastAuthor(changes)}</p>${changeList(resource, changes, clock.wallMs())}${said ? notice(said, problems ? 'refused' : 'done') : ''}${warningNotices(check)}${formPage(
    call,
    {
      to,
      plan: checkPlan(type),
      values: draft.values,
      choices,
      hidden: hiddenInputs(maskedValues(type), draft.definition, check),
      notes: notesOf(check),
      problems,
      fields: [
        hidden('$type', type.name),
        hidden('$base', base),
        panel && tried ? hidden('$try', tried) : '',
      ],
      atTop: takesCurl(type) ? curlBox(form, problems, partial) : '',
      aside: [
        tryFields(call, type, {
          chosen: draft.values.get('privateLocations') ?? undefined,
          locations: choices.get('privateLocations')?.choices ?? [],
          values: form,
          problems,
          partial,
        }),
        schedulePreview(type, draft.values, clock.wallMs()),
        panel,
      ],
      saveWord: 'Save',
      cancelTo: here,
    },
  )}`;
  return { title: `Edit: ${name}`, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

/** Other actions on a check. */
function otherActions({ viewer }: PageCall, check: Entry, here: string): Html {
  const isOn = check['activated'] === true;
  return menu({
    label: 'Actions',
    word: 'Actions',
    items: [
      html`<a class="button" href="${withQuery('/checks/new', { from: String(check['id']) })}">Duplicate</a>`,
      actionButton({
        to: `${here}/activated`,
        word: isOn ? 'Pause' : 'Resume',
        viewer,
        fields: html`<input type="hidden" name="activated" value="${String(!isOn)}">`,
      }),
      confirmed({
        to: `${here}/delete`,
        word: 'Delete…',
        confirmWord: 'Delete the check',
        question: 'Its results, alerts and history are deleted, too. This cannot be undone.',
        viewer,
      }),
    ],
  });
}

export async function switchCheck({ api, params, form }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  await api.call(updateCheck, {
    params: { id: checkId },
    body: { activated: form.get('activated') === 'true' },
  });
  return {
    goTo: path`/checks/${checkId}`,
    toast: form.get('activated') === 'true' ? 'Resumed.' : 'Paused.',
  };
}

export async function removeCheck({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteCheck, { params: { id: params['checkId'] ?? '' } });
  return { goTo: '/', toast: 'Deleted.' };
}
