import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { type CheckResult, detailOf } from '@picket/protocol/results/check-result.ts';
import { definitionRunRoutes } from '@picket/protocol/sessions/definition-run.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { z } from 'zod';
import type { Choice } from '../elements/form.ts';
import { selectField } from '../elements/form.ts';
import { duration, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { facts } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { detailParts } from '../run/detail.ts';
import { verdictOf } from '../run/verdict.ts';
import { partialAttributes } from './form-page.ts';

const { runDefinitions } = definitionRunRoutes;
const logicalId = 'tried';
const jobPrefix = 'checkRunJobs.0.';

/** Location and button for a test run of a draft; empty for types that no agent runs. */
export function tryFields(
  call: PageCall,
  type: CheckType,
  shown: {
    readonly locations: readonly Choice[];
    /** A location of the draft. */
    readonly chosen?: string | undefined;
    readonly values: URLSearchParams;
    readonly problems?: Problems | undefined;
    readonly partial: Html;
  },
): Html | '' {
  if (type.pings || !call.api.allows(runDefinitions)) return '';
  if (shown.locations.length === 0) {
    return html`<div class="group try-fields"><h2>Test run</h2><p class="soft">No private locations yet. <a href="/locations/new">Create one</a> to test the check.</p></div>`;
  }
  const field = selectField({
    name: '$tryAt',
    label: 'Location',
    // Test runs usually target a location where the check will run.
    value: shown.values.get('$tryAt') ?? shown.chosen ?? shown.locations[0]?.value,
    choices: shown.locations,
    error: shown.problems?.fields.get('$tryAt'),
    hint: 'Runs the check once as typed, without saving. The result does not count.',
  });
  return html`<div class="group try-fields" id="try-fields" role="group" aria-labelledby="try-title"><h2 id="try-title">Test run</h2>${field}<button class="button" type="submit" name="$do" value="try" formnovalidate${shown.partial}>Test run</button></div>`;
}

/** Runs an unsaved draft and returns its session id, or the problems. */
export async function startTry(
  { api, form }: PageCall,
  type: CheckType,
  draft: { readonly definition: Readonly<Record<string, unknown>>; readonly checkId?: string | undefined },
): Promise<{ readonly sessionId?: string; readonly problems?: Problems | undefined }> {
  const name = String(draft.definition['name'] ?? '') || 'unnamed check';
  const { done, problems } = await attempt(() =>
    api.call(runDefinitions, {
      body: {
        name: `Test run: ${name}`.slice(0, 255),
        runLocation: { type: 'PRIVATE', slugName: form.get('$tryAt') ?? '' },
        checkRunJobs: [
          {
            ...draft.definition,
            // A test run needs no name.
            name,
            checkType: type.name,
            logicalId,
            ...(draft.checkId === undefined ? {} : { checkId: draft.checkId }),
          },
        ],
      },
    }),
  );
  return done ? { sessionId: done.testSessionId } : { problems: problems && inForm(problems) };
}

/** Maps problems to the field names of the form. */
function inForm({ fields, ...rest }: Problems): Problems {
  const named = [...fields].map(([key, said]): [string, string] => {
    if (key.startsWith('runLocation')) return ['$tryAt', said];
    return [key.startsWith(jobPrefix) ? key.slice(jobPrefix.length) : key, said];
  });
  return { ...rest, fields: new Map(named) };
}

/**
 * Shows the result of a test run. Refreshes itself until there is a result.
 *
 * @param form the path of the form around it, which takes assertions from the result.
 */
export async function tryPanel({ api }: PageCall, sessionId: string, form?: string): Promise<Html> {
  const session = await api.call(testSessionRoutes.getTestSession, { params: { id: sessionId } });
  const here = withQuery(path`/tries/${sessionId}`, { form });
  const isOver = session.stoppedAt !== null;
  const final = session.results.find(({ resultType }) => resultType === 'FINAL');
  const waits = html`<p>${stateBadge('waiting', 'In progress')} at ${visible(session.runLocation)} for ${duration(session.timeElapsed)}</p><p class="small soft">This page updates automatically. ${
    form === undefined
      ? html`<a href="${here}">Reload</a>`
      : html`<button class="link" type="submit" name="$do" value="look" formnovalidate>Reload</button>`
  }</p>`;
  const follow = isOver
    ? ''
    : html` hx-get="${here}" hx-trigger="every 1s" hx-target="#try" hx-select="#try" hx-swap="outerHTML"`;
  return html`<section class="try" id="try" aria-label="Result of the test run" aria-live="polite"${follow}><h2>Result</h2>${
    !isOver || !final
      ? waits
      : final.isCancelled || final.aborted
        ? unmeasured(final)
        : await outcome(api, { sessionId, resultId: final.testSessionResultId, form })
  }</section>`;
}

function unmeasured({
  isCancelled,
  message,
}: {
  readonly isCancelled: boolean;
  readonly message: string | null;
}): Html {
  return html`<p>${stateBadge('missed', isCancelled ? 'Cancelled' : 'No agent ran it')}</p><p>${isCancelled ? 'The run was cancelled.' : visible(message ?? '')}</p>`;
}

async function outcome(
  api: PageCall['api'],
  {
    sessionId,
    resultId,
    form,
  }: { readonly sessionId: string; readonly resultId: string; readonly form: string | undefined },
): Promise<Content> {
  const result = await api.call(testSessionRoutes.getTestSessionResult, {
    params: { id: sessionId, resultId },
  });
  const verdict = verdictOf(result);
  const { sections, log } = detailParts(result);
  return html`<div class="verdict verdict-${verdict.state}">${stateBadge(verdict.state, verdict.word)}
<p class="verdict-words"><b>${visible(shortened(verdict.sentence, 400))}</b></p>
${verdict.detail === null ? '' : html`<p class="verdict-detail">${visible(shortened(verdict.detail, 1_000))}</p>`}
${verdict.whatFailed === null ? '' : html`<p><b>Failed part:</b> ${verdict.whatFailed}.</p>`}
${facts([
  ['Where', visible(result.runLocation)],
  ['Response time', duration(result.responseTime)],
])}</div>${form === undefined ? '' : assertableValues(result, form)}
<p><a href="${path`/sessions/tests/${sessionId}/results/${resultId}`}">Details of this run</a></p>${sections}${log}`;
}

/** Lists the values of a result that assertions can expect; a click adds one to the form. */
function assertableValues(result: CheckResult, form: string): Html | '' {
  const type = findCheckType(result.checkType);
  const { request } = type?.spec.shape ?? {};
  const detail = type?.detail.safeParse(detailOf(result)).data;
  if (!type?.assertable || !(request instanceof z.ZodObject) || detail === undefined) return '';
  const { assertions } = request.shape;
  const values = type
    .assertable(detail)
    .filter(({ assertion }) => z.safeParse(assertions as z.ZodType, [assertion]).success);
  if (values.length === 0) return '';
  return html`<details class="assertable" open><summary>Assert a value: click it</summary><ul>${values.map(
    ({ label, value, assertion }) =>
      html`<li><button class="link" type="submit" name="$do" value="assert ${String(new URLSearchParams(assertion))}" formnovalidate${partialAttributes(form)}><span class="soft">${visible(shortened(label, 80))}</span> ${visible(shortened(value, 120))}</button></li>`,
  )}</ul></details>`;
}

/** The same as a separate page, for browsers without scripts, and as a part of a form. */
export async function showTry(call: PageCall): Promise<View> {
  const { id = '' } = call.params;
  const form = call.query.get('form') ?? '';
  const isForm = /^\/checks\/(?:new|[0-9a-f-]{36}\/edit)$/.test(form);
  return { main: html`${heading('Test run')}${await tryPanel(call, id, isForm ? form : undefined)}` };
}
