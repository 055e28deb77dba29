import { AppError, isStoreFailure } from '@picket/lib/errors.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { csrfField } from '../elements/form.ts';
import { counted, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';

const { getCheck, updateCheck, deleteCheck } = checkRoutes;
/** More than one page of the overview has. */
const mostChecks = 200;

type Check = { readonly id: string; readonly name: string } & Readonly<Record<string, unknown>>;

interface Act {
  /** As in "12 checks paused." */
  readonly word: string;
  /** Why the form is not complete; undefined if it is. */
  readonly lacks?: (form: URLSearchParams) => string | undefined;
  /** Calls the operation for one check. */
  readonly run: (call: PageCall, check: Check) => Promise<unknown>;
}

export interface Refusal {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

export function mayChange({ api }: PageCall): boolean {
  return api.allows(updateCheck);
}

export function mayRun({ api }: PageCall): boolean {
  return api.allows(checkSessionRoutes.triggerCheckSessions);
}

function changing(word: string, body: Readonly<Record<string, unknown>>): Act {
  return { word, run: ({ api }, { id }) => api.call(updateCheck, { params: { id }, body }) };
}

/** Changes the tags that the check has now: a change by somebody else in between is refused, not undone. */
function tagging(word: string, change: (tags: readonly string[], tag: string) => readonly string[]): Act {
  return {
    word,
    lacks: (form) => (tagIn(form) === '' ? 'Enter a tag.' : undefined),
    run: async ({ api, form }, check) => {
      const tags = check['tags'] as readonly string[];
      const changed = change(tags, tagIn(form));
      if (changed.length === tags.length) return;
      const unchangedSince = String(check['updated_at'] ?? check['created_at']);
      await api.call(updateCheck, {
        params: { id: check.id },
        query: { unchangedSince },
        body: { tags: changed },
      });
    },
  };
}

function tagIn(form: URLSearchParams): string {
  return (form.get('tag') ?? '').trim();
}

/** Actions on several checks, by the value of their button: one call of an operation for each check. */
const acts: Readonly<Record<string, Act>> = {
  pause: changing('paused', { activated: false }),
  resume: changing('resumed', { activated: true }),
  mute: changing('muted', { muted: true }),
  unmute: changing('unmuted', { muted: false }),
  tag: tagging('tagged', (tags, tag) => (tags.includes(tag) ? tags : [...tags, tag])),
  untag: tagging('untagged', (tags, tag) => tags.filter((one) => one !== tag)),
  run: {
    word: 'started',
    run: ({ api }, { id }) =>
      api.call(checkSessionRoutes.triggerCheckSessions, { body: { target: { checkId: id } } }),
  },
  move: {
    word: 'moved',
    run: ({ api, form }, { id }) => {
      const group = form.get('groupId') ?? '';
      return api.call(updateCheck, {
        params: { id },
        body: { groupId: group === '' ? null : Number(group) },
      });
    },
  },
  delete: { word: 'deleted', run: ({ api }, { id }) => api.call(deleteCheck, { params: { id } }) },
};

/**
 * Applies a button of the form to the selected checks, one after the other. A refused check is named with the reason
 * and does not stop the others. Deleting asks for confirmation first, unless a script offers to undo it.
 */
export async function changeSelected(call: PageCall): Promise<PageAnswer> {
  const { form, request, reply } = call;
  const ids = [...new Set(form.getAll('check'))].slice(0, mostChecks);
  const wanted = form.get('do') || (tagIn(form) === '' ? '' : 'tag');
  const act = Object.hasOwn(acts, wanted) ? acts[wanted] : undefined;
  const goTo = overviewBefore(call);
  if (ids.length === 0) return { goTo, toast: 'No check was selected.' };
  if (!act) return { goTo, toast: 'Nothing was done: use a button for the selected checks.' };
  const lack = act.lacks?.(form);
  if (lack !== undefined) return { goTo, toast: lack };
  if (wanted === 'delete' && form.get('sure') !== 'yes') return confirmDeletion(call, ids, goTo);
  const refusals: Refusal[] = [];
  for (const id of ids) {
    const refusal = await refusalOf(call, id, act);
    if (refusal) refusals.push(refusal);
  }
  const done = ids.length - refusals.length;
  if ((request.headers.accept ?? '').startsWith('application/json')) {
    reply.type('application/json').send({ done, refusals });
    return 'answered';
  }
  if (refusals.length > 0) return refusalPage(act, { done, refusals, goTo });
  return { goTo, toast: `${counted(done, 'check')} ${act.word}.` };
}

async function refusalOf(call: PageCall, id: string, act: Act): Promise<Refusal | undefined> {
  let name = id;
  try {
    const check: Check = await call.api.call(getCheck, {
      params: { id },
      query: { includeDependencies: 'false' },
    });
    name = check.name;
    await act.run(call, check);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof AppError) || isStoreFailure(thrown)) throw thrown;
    return { id, name, reason: thrown.message };
  }
}

function refusalPage(
  { word }: Act,
  {
    done,
    refusals,
    goTo,
  }: { readonly done: number; readonly refusals: readonly Refusal[]; readonly goTo: string },
): View {
  const title = `${counted(refusals.length, 'check')} not ${word}`;
  const main = html`<p class="crumbs"><a href="${goTo}">Overview</a></p>${heading(title)}
<p class="lead soft" role="alert">${done === 0 ? 'No check was changed.' : `The other ${counted(done, 'check')}: ${word}.`}</p>
${table({
  caption: 'Checks that were not changed',
  rows: refusals,
  empty: '',
  columns: [
    {
      title: 'Check',
      cell: ({ id, name }) => html`<a href="${path`/checks/${id}`}">${visible(shortened(name, 120))}</a>`,
    },
    { title: 'Reason', cell: ({ reason }) => visible(shortened(reason, 500)) },
  ],
})}<p class="actions"><a class="button" href="${goTo}">To the overview</a></p>`;
  return { title, main, statusCode: 422 };
}

/** Asks before several checks are deleted, with their names. */
async function confirmDeletion(call: PageCall, ids: readonly string[], goTo: string): Promise<View> {
  const { store, viewer } = call;
  const checks = await store.checks.findMany(ids);
  const own = ids.flatMap((id) => {
    const check = checks.get(id);
    return check?.accountId === viewer.accountId ? [check] : [];
  });
  const title = `Delete ${counted(own.length, 'check')}?`;
  const field = (name: string, value: string): Html =>
    html`<input type="hidden" name="${name}" value="${value}">`;
  const main = html`<p class="crumbs"><a href="${goTo}">Overview</a></p>${heading(title)}
<p class="lead">Their results, alerts and history are deleted, too. This cannot be undone.</p>
<ul class="bulk-names">${own.map(({ id, name }) => html`<li><a href="${path`/checks/${id}`}">${visible(shortened(name, 120))}</a></li>`)}</ul>
<form class="actions" method="post" action="/checks/selected">${csrfField(viewer)}${field('do', 'delete')}${field('sure', 'yes')}${field('back', goTo)}${own.map(({ id }) => field('check', id))}<button class="button danger" type="submit">Delete ${counted(own.length, 'check')}</button><a class="button" href="${goTo}">Cancel</a></form>`;
  return { title, main };
}

/** The overview with the filters from which the form was sent. */
function overviewBefore({ form, request }: PageCall): string {
  const sent = form.get('back') ?? URL.parse(request.headers.referer ?? '')?.search ?? '';
  const query = URL.parse(sent, 'http://own.invalid/')?.search ?? '';
  return `/${query.length > 1_500 ? '' : query}`;
}
