import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { csrfField } from '../elements/form.ts';
import { counted } from '../elements/format.ts';
import { actionButton } from '../forms/action.ts';
import { type Html, html } from '../html.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { choicesMade } from './choices.ts';
import { exampleTag } from './progress.ts';

export const startPath = '/start';

/** Whether this browser hides the examples of `npm start`: the tag to leave out, if so. */
export function hiddenTag({ request }: Pick<PageCall, 'request'>): string | undefined {
  return choicesMade(request).has('no-examples') ? exampleTag : undefined;
}

/** A line of the overview about the examples, with one click to hide or delete them; empty without examples. */
export function examplesLine(
  { viewer, api }: PageCall,
  { count, areHidden }: { readonly count: number; readonly areHidden: boolean },
): Html | '' {
  if (count === 0) return '';
  const toggle = html`<form class="action" method="post" action="${startPath}/choose">${csrfField(viewer)}<input type="hidden" name="choice" value="no-examples">${
    areHidden ? html`<input type="hidden" name="undo" value="true">` : ''
  }<button class="button" type="submit">${areHidden ? 'Show them' : 'Hide them'}</button></form>`;
  const remove = api.allows(checkRoutes.deleteCheck)
    ? actionButton({ to: `${startPath}/examples/delete`, word: 'Delete them', viewer, isDanger: true })
    : '';
  return html`<div class="examples"><span>${counted(count, 'check')} ${count === 1 ? 'is an example' : 'are examples'}${areHidden ? ', hidden' : ''}: some fail on purpose.</span> ${toggle} ${remove}</div>`;
}

/** Deletes all examples, through the operation of the API, one by one. */
export async function deleteExamples({ api }: PageCall): Promise<PageAnswer> {
  let deleted = 0;
  for (;;) {
    const examples = (await api.call(checkRoutes.listChecks, {
      query: { tag: exampleTag, limit: 100 },
    })) as unknown as { id: string }[];
    if (examples.length === 0) break;
    for (const { id } of examples) await api.call(checkRoutes.deleteCheck, { params: { id } });
    deleted += examples.length;
  }
  return { goTo: '/', toast: `${counted(deleted, 'example')} deleted.` };
}
