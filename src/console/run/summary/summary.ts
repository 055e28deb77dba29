import { checkTypes } from '../../../checks/index.ts';
import type { DetailSummary, SummarySection } from '../../../checks/summary/detail-summary.ts';
import type { CheckResult } from '../../../protocol/results/check-result.ts';
import { facts } from '../../elements/table.ts';
import { section, visible } from '../../elements/text.ts';
import { type Html, html } from '../../html.ts';

/** A detail of a type that says itself what people read of it. */
export interface SummarisedDetail {
  readonly summary: DetailSummary;
  readonly detail: unknown;
}

/** The summary of a result; undefined for types without one, and for details that another build wrote. */
export function summarisedDetail(result: CheckResult): SummarisedDetail | undefined {
  for (const { detailKey, detail, summary } of checkTypes) {
    const value = detailKey === undefined ? null : result[detailKey];
    if (!summary || value === null || value === undefined) continue;
    const parsed = detail.safeParse(value);
    if (parsed.success) return { summary: summary(parsed.data), detail: parsed.data };
  }
  return undefined;
}

/** The sections of a summary on the page of a run. */
export function summarySections({ sections }: DetailSummary): Html[] {
  return sections.map(summarySection);
}

function summarySection({ title, facts: list }: SummarySection): Html {
  return section(
    title,
    facts(
      list.map(({ name, value, problem }) => [
        name,
        value === null
          ? ''
          : html`${visible(String(value))}${problem ? html` <span class="error">${visible(problem)}</span>` : ''}`,
      ]),
    ),
  );
}
