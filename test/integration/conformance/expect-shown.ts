import { expect } from 'vitest';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { checkTypes } from '../../../src/checks/index.ts';
import { valueWords } from '../../../src/checks/summary/parts.ts';
import { summaryLines } from '../../../src/cli/run/summary-text.ts';
import { html } from '../../../src/console/html.ts';
import { factsOf } from '../../../src/console/run/compare-facts.ts';
import { detailParts } from '../../../src/console/run/detail.ts';
import { DocumentedCheckResult, detailOf, summaryOf } from '../../../src/protocol/results/check-result.ts';
import { resultView } from '../../../src/service/results/routes.ts';
import { resultRow } from './store-suites/result-samples.ts';

/**
 * The findings of a run appear in the API, on the page of the run, in comparisons and in the output of `picket run`.
 */
export function expectShown(type: (typeof checkTypes)[number], { detail, failure }: Outcome<unknown>): void {
  const row = resultRow('check', 'account', 0, {});
  const result = resultView({ ...row, check_type: type.name, detail: JSON.stringify(detail) }, 'sample');
  expect(detailOf(DocumentedCheckResult.parse(result) as typeof result)).not.toBeNull();
  const summary = summaryOf(type.name, detail);
  const facts = summary?.sections.flatMap((section) => section.facts ?? []) ?? [];
  const words = facts.filter(({ value }) => value !== '').map(({ value }) => valueWords(value));
  const { sections, log } = detailParts(result);
  const page = String(html`${sections}${log}`).replaceAll(/<[^>]*>/g, '');
  const terminal = summaryLines(summary ?? { sections: [] }, {
    ...{ width: 80, isWhole: failure !== undefined, paint: (_format, text) => text },
  });
  const compared = factsOf(result).map(({ value }) => value);
  if (!failure) expect(page).not.toBe('');
  for (const text of words) {
    expect(page).toContain(String(html`${text}`));
    expect(terminal.join('\n')).toContain(text);
    if (text !== '') expect(compared).toContain(text);
  }
}
