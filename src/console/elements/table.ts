import { type Content, type Html, html } from '../html.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Content;
  /** Right-aligned, so that digits line up. */
  readonly isNumber?: boolean;
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean;
  /** Takes the width that the others leave: its texts stay in one line (`oneLine`). */
  readonly isWide?: boolean;
}

/** A table; without rows, `empty` is shown instead. */
export function table<Row>(options: {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly empty: Content;
}): Html {
  const { caption, rows, columns, empty } = options;
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const classOf = ({ isNumber, isMinor, isWide }: Column<Row>) =>
    [isNumber ? 'number' : '', isMinor ? 'minor' : '', isWide ? 'wide' : ''].filter(Boolean).join(' ');
  return html`<div class="table" tabindex="0" role="region" aria-label="${caption}"><table>
<caption class="hidden">${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.title}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map((column) => html`<td class="${classOf(column)}" data-label="${column.title}">${column.cell(row)}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** Lists names with their values; omits entries without a value. */
export function facts(entries: readonly (readonly [name: string, value: Content])[]): Html {
  const isGiven = (value: Content) =>
    value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
  const given = entries.filter(([, value]) => isGiven(value));
  return html`<dl class="facts">${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Links to the pages of a paged list. */
export function pager(options: {
  readonly page: number;
  readonly pages: number;
  readonly href: (page: number) => string;
  readonly of: string;
}): Html | '' {
  const { page, pages, href, of } = options;
  if (pages <= 1) return '';
  return html`<nav class="pager" aria-label="Pages of ${of}">${
    page > 1 ? html`<a rel="prev" href="${href(page - 1)}">← Previous</a>` : html`<span></span>`
  }<span>Page ${page} of ${pages}</span>${
    page < pages ? html`<a rel="next" href="${href(page + 1)}">Next →</a>` : html`<span></span>`
  }</nav>`;
}
