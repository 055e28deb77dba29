import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { block } from '../elements/text.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { type CheckFile, checkFile } from './check-file.ts';
import { crumbs } from './parts.ts';

/** Shows the check as a file, with the command that runs it elsewhere. */
export async function copyPage(call: PageCall): Promise<View> {
  const { name, file } = await fileOf(call);
  const { checkId = '' } = call.params;
  const options = file.hidden.map((variable) => ` --env ${variable}=…`).join('');
  const main = html`${crumbs(checkId, name)}${heading(
    'Run it yourself',
    html`<div class="actions"><a class="button" href="${path`/checks/${checkId}/file/check.yaml`}" download>Download check.yaml</a></div>`,
  )}
<p>This is the current check with the settings of its group and the variables that it uses. <code>picket run</code> runs it once on your machine, with the code of the agent.</p>
${block('Command', `picket run check.yaml${options}`)}
${file.hidden.length > 0 ? html`<p class="notice">The service does not show the values of ${file.hidden.join(', ')}: set them with <code>--env</code>.</p>` : ''}
${file.notes.map((note) => html`<p class="notice">${note}: fill it in.</p>`)}
${block('check.yaml', file.text)}`;
  return { main };
}

/** Sends the same as a download. */
export async function copyFile(call: PageCall): Promise<PageAnswer> {
  const { file } = await fileOf(call);
  call.reply
    .type('application/yaml; charset=utf-8')
    .header('content-disposition', 'attachment; filename="check.yaml"')
    .send(file.text);
  return 'answered';
}

async function fileOf({ api, params, store, viewer }: PageCall): Promise<{ name: string; file: CheckFile }> {
  const { checkId = '' } = params;
  const check = await api.call(checkRoutes.getCheck, {
    params: { id: checkId },
    query: { applyGroupSettings: 'true', includeDependencies: 'false' },
  });
  const type = findCheckType(check.checkType);
  if (!type || type.pings) {
    throw new AppError('NOT_FOUND', 'Agents do not run checks of this type, so there is no check to copy.');
  }
  const accounts = [viewer.accountId];
  const [variables, snippets] = await Promise.all([
    store.variables.ofAccounts(accounts),
    type.usesLifecycleScripts ? store.snippets.ofAccounts(accounts) : [],
  ]);
  const file = checkFile({
    type,
    check,
    variables: variables.map(({ key, value, value_from: from, locked, secret }) => ({
      key,
      value: locked === 1 || secret === 1 || from !== null ? null : value,
    })),
    snippets: new Map(snippets.map(({ id, script }) => [id, script])),
  });
  return { name: check.name, file };
}
