import type {
  SummaryMessage,
  SummarySection,
  SummaryStep,
  SummaryTable,
  SummaryText,
  SummaryValue,
} from '@picket/checks/summary/detail-summary.ts';
import { waterfall } from '../../elements/charts/waterfall.ts';
import { factRows } from '../../elements/fact-lists.ts';
import { counted, duration, instant, shortened } from '../../elements/format.ts';
import { stateBadge } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { block, headerList, section, visible } from '../../elements/text.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type EarlierPath, pathPart } from './path.ts';

const longestCell = 600;
/** More headers are folded. */
const openHeaders = 6;

/** Shows a section of a summary; empty if it has no contents. @param end is shown after them. */
export function summarySection(part: SummarySection, earlier?: EarlierPath, end: Content = ''): Html | '' {
  const { title, id, note, line, texts = [], table: rows, timeline, conversation, path } = part;
  const given = part.facts?.filter(({ value, problem }) => value !== null && (value !== '' || problem));
  const contents = [
    note ? html`<p>${visible(note)}</p>` : '',
    line ? html`<p class="mono line"><b>${visible(line.text)}</b> ${visible(line.url ?? '')}</p>` : '',
    given?.length
      ? factRows(given.map(({ name, value, problem }) => [visible(name), valueHtml(value, problem)]))
      : '',
    headersPart(part.headers ?? {}),
    ...texts.map(textPart),
    rows && (rows.rows.length > 0 || rows.empty !== undefined) ? tablePart(rows) : '',
    timeline && timeline.length > 0 ? timelinePart(title, timeline) : '',
    conversation && conversation.length > 0
      ? html`<ol class="conversation">${conversation.map((message, index) => messagePart(message, index + 1))}</ol>`
      : '',
    path ? pathPart(path, earlier) : '',
  ].filter((content) => content !== '');
  return contents.length === 0 ? '' : section(title, [...contents, end], id);
}

function headersPart(headers: Readonly<Record<string, string>>): Html | '' {
  const list = headerList(headers);
  const count = Object.keys(headers).length;
  if (count <= openHeaders) return list;
  return html`<details><summary>${counted(count, 'header')}</summary>${list}</details>`;
}

function valueHtml(value: SummaryValue, problem?: string | null): Content {
  const flaw = problem ? html` <span class="error">${visible(problem)}</span>` : '';
  return html`${plainValue(value)}${flaw}`;
}

function plainValue(value: SummaryValue): Content {
  if (value === null) return '';
  if (typeof value !== 'object') return visible(String(value));
  switch (value.kind) {
    case 'code':
      return html`<code class="wrap">${visible(shortened(value.text, longestCell))}</code>`;
    case 'duration':
      return html`${duration(value.ms)}${value.note ? html` <span class="soft">(${value.note})</span>` : ''}`;
    case 'instant':
      return instant(value.at);
    case 'state':
      return stateBadge(value.state, value.text);
  }
}

function textPart({ label, text, note }: SummaryText): Html {
  return html`<h3>${visible(shortened(label, 200))}</h3>${note ? html`<p class="hint">${note}</p>` : ''}${block(visible(shortened(label, 200)), text)}`;
}

function tablePart({ caption, columns, rows, empty = '' }: SummaryTable): Html {
  return table<readonly SummaryValue[]>({
    ...{ caption, rows, empty },
    columns: columns.map(({ title, isNumber = false, isMinor = false }, index) => ({
      ...{ title, isNumber, isMinor },
      cell: (row) => plainValue(cut(row[index] ?? null)),
    })),
  });
}

function cut(value: SummaryValue): SummaryValue {
  return typeof value === 'string' ? shortened(value, longestCell) : value;
}

function timelinePart(title: string, steps: readonly SummaryStep[]): Html {
  return waterfall(
    title,
    steps.map(({ name, startMs, lengthMs, isNested, isFailed }) => ({
      name: `${isNested ? '· ' : ''}${isFailed ? '✕ ' : ''}${shortened(visible(name), 20)}`,
      kind: isFailed ? 'tls' : 'first-byte',
      ...{ startMs, lengthMs },
    })),
  );
}

/** Shows a message: ours on the right, the target's on the left. */
function messagePart({ isSent, atMs, text, note, problem }: SummaryMessage, number: number): Html {
  const side = isSent ? 'sent' : 'received';
  const words = isSent ? 'Sent' : 'Received';
  return html`<li class="said said-${side}${problem ? ' said-wrong' : ''}"><p class="said-by"><b>${words}</b> <span class="soft">after ${duration(atMs)}, ${note}</span>${
    problem ? html` <span class="error">${visible(problem)}</span>` : ''
  }</p>${text === '' ? html`<p class="soft">(empty)</p>` : block(`${words}, message ${number}`, text)}</li>`;
}
