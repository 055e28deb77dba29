import { stripVTControlCharacters } from 'node:util';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { copyable } from '../elements/copy.ts';
import { factLine } from '../elements/fact-lists.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { stateBadge } from '../elements/state.ts';
import { block, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Verdict } from './verdict.ts';

/** A heading is the first line of an error, and no longer than this; the whole error is folded below it. */
const headingLetters = 200;

/** Shows the outcome of a run: its verdict, the failed part, the first line of its error, and its cause if known. */
export function verdictCard(
  verdict: Verdict,
  result: CheckResult,
  parts: {
    /** The cause in one sentence. */
    readonly cause?: Content;
    readonly actions?: Content;
    /** Shown before the other facts. */
    readonly facts?: readonly (readonly [name: string, value: Content])[];
  } = {},
): Html {
  const { state, word, sentence, whatFailed, meaning } = verdict;
  const { attempts, responseTime, failure } = result;
  return html`<div class="verdict verdict-${state}">
<div class="verdict-top"><p>${stateBadge(state, word)}${whatFailed === null ? '' : html` <span class="soft">Failed part:</span> ${whatFailed}.`}</p>${parts.actions ?? ''}</div>
<h1>${visible(shortened(sentence, headingLetters))}</h1>
${meaning === null ? '' : html`<p class="soft">${visible(meaning)}.</p>`}
${wholeError(verdict)}${parts.cause ?? ''}
${factLine([
  ...(parts.facts ?? []),
  ['When', instant(result.startedAt ?? result.created_at)],
  ['Where', visible(result.runLocation)],
  ['Response time', state === 'failed' && responseTime === 0 ? '' : duration(responseTime)],
  ['Attempt', attempts > 0 ? `${attempts + 1}` : ''],
  ['Code', failure ? html`<code>${failure.code}</code>` : ''],
  ['Run', copyable(result.id, 'the id of the run')],
])}</div>`;
}

/** The text of a folded error is copied from its element: it may be long, and would otherwise be sent twice. */
function wholeError({ sentence, wholeMessage }: Verdict): Content {
  const whole = wholeMessage ?? (sentence.length > headingLetters ? sentence : null);
  if (whole === null) return '';
  return html`<details class="whole-error"><summary>Whole error</summary><div class="copied" id="whole-error">${block('Whole error', stripVTControlCharacters(whole))}<button class="copy" type="button" data-copy-from="#whole-error pre" aria-label="Copy the whole error">${icon('copy')}</button></div></details>`;
}
