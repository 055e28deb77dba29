import { ManagedFields } from '@picket/protocol/http/managed-fields.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { managedNotice } from '../elements/managed.ts';
import { facts } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { labelOf, type Words } from '../forms/view.ts';
import { type Html, html } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { messagesOf, type Shown } from './appearance.ts';
import { inputOf, nameField, pathOf, type Table } from './tables.ts';
import { shownValue, wordsOf } from './values.ts';

const Managed = z.object(ManagedFields);

interface Refused {
  readonly values: URLSearchParams;
  readonly problems: Problems;
}

const crumbs = ({ path, title }: Table) =>
  html`<nav class="crumbs" aria-label="Where this is"><a href="${path}">${title}</a></nav>`;

async function formWords(call: PageCall, table: Table): Promise<Words> {
  return wordsOf(table, await table.appearance.wordsFor?.(call));
}

async function newForm(call: PageCall, table: Table): Promise<Form> {
  return new Form(inputOf(table), await formWords(call, table));
}

/** Shows the form of a new object. */
export async function newOne(call: PageCall, table: Table, refused?: Refused): Promise<View> {
  const { path, appearance } = table;
  const form = await newForm(call, table);
  const { values = form.defaults(), problems } = refused ?? {};
  const main = html`${crumbs(table)}${heading(`New ${table.noun}`)}${appearance.lead === undefined ? '' : html`<p class="lead soft">${appearance.lead}</p>`}
${problemNotice(problems)}<form class="form" method="post" action="${path}/new">${csrfField(call.viewer)}
${form.view({ values, problems })}
<div class="actions"><button class="button primary" type="submit">Create the ${table.noun}</button><a class="button" href="${path}">Cancel</a></div></form>`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function createOne(call: PageCall, table: Table): Promise<PageAnswer> {
  const { api } = table;
  const body = (await newForm(call, table)).object(call.form);
  const { done, problems } = await attempt(() => call.api.callAny<Shown>(api.routes.create, { body }));
  return problems
    ? newOne(call, table, { values: call.form, problems })
    : { goTo: pathOf(table, done), toast: 'Created.' };
}

/** Shows one object: its form if the viewer may change it, else its values. */
export async function showOne(call: PageCall, table: Table, refused?: Refused): Promise<View> {
  const { api, appearance } = table;
  const one = await call.api.callAny<Shown>(api.routes.get, { params: keyOf(call, table) });
  const name = visible(shortened(String(one[nameField(table)]), 120));
  const here = pathOf(table, one);
  const { update, delete: remove } = api.routes;
  const main = html`${crumbs(table)}${heading(
    name,
    call.api.allows(remove)
      ? confirmed({
          to: `${here.slice(0, here.lastIndexOf('/'))}/delete`,
          word: 'Delete…',
          confirmWord: `Delete the ${table.noun}`,
          question: question(api.deleteNote),
          viewer: call.viewer,
        })
      : '',
  )}${problemNotice(refused?.problems)}${managedNotice(Managed.parse(one))}
${update && call.api.allows(update) ? await changes(call, table, { one, here, refused }) : valuesList(call, table, one)}
${(await appearance.more?.(call, one)) ?? ''}`;
  return { title: name, main, ...(refused ? { statusCode: refused.problems.statusCode } : {}) };
}

function question(note = 'checks and scripts that use it lose its value'): string {
  return `This cannot be undone: ${note}.`;
}

async function changes(
  call: PageCall,
  table: Table,
  { one, here, refused }: { one: Shown; here: string; refused: Refused | undefined },
): Promise<Html> {
  const form = new Form(inputOf(table), withNotes(await changeWords(call, table), one));
  const { values = form.values(one), problems } = refused ?? {};
  return html`<form class="form" method="post" action="${here}">${csrfField(call.viewer)}
${form.view({ values, problems, isStored: true })}
<div class="actions"><button class="button primary" type="submit">Save</button><a class="button" href="${table.path}">Cancel</a></div></form>`;
}

/** Adds the warnings of an object to the fields that they are about. */
function withNotes(words: Words, one: Shown): Words {
  return Object.fromEntries(
    Object.entries(words).map(([name, own]) => {
      const notes = messagesOf(one, name);
      return [
        name,
        notes.length === 0 ? own : { ...own, hint: [own.hint, ...notes].filter(Boolean).join(' ') },
      ];
    }),
  );
}

/** A user-defined key cannot change. */
async function changeWords(call: PageCall, table: Table): Promise<Words> {
  const words = await formWords(call, table);
  return table.api.isKeyChosen ? { ...words, [table.api.keyName]: { isHidden: true } } : words;
}

function valuesList({ clock }: PageCall, table: Table, one: Shown): Html {
  const words = wordsOf(table);
  const now = clock.wallMs();
  return facts(
    Object.keys(table.api.shown.shape)
      .filter((name) => !(name in ManagedFields))
      .map((name) => [
        words[name]?.label ?? labelOf(name),
        shownValue(table, one, { name, now, isShort: false }),
      ]),
  );
}

export async function changeOne(call: PageCall, table: Table): Promise<PageAnswer> {
  const { get, update } = table.api.routes;
  if (!update) return showOne(call, table);
  const one = await call.api.callAny<Shown>(get, { params: keyOf(call, table) });
  const body = new Form(inputOf(table), await changeWords(call, table)).object(call.form, one);
  const { problems } = await attempt(() => call.api.callAny(update, { params: keyOf(call, table), body }));
  return problems
    ? showOne(call, table, { values: call.form, problems })
    : { goTo: table.path, toast: 'Saved.' };
}

export async function deleteOne(call: PageCall, table: Table): Promise<PageAnswer> {
  const route: Route = table.api.routes.delete;
  const { problems } = await attempt(() => call.api.callAny(route, { params: keyOf(call, table) }));
  return problems
    ? showOne(call, table, { values: call.form, problems })
    : { goTo: table.path, toast: 'Deleted.' };
}

function keyOf({ params }: PageCall, { api }: Table): Shown {
  return { [api.keyName]: params['key'] ?? '' };
}
