import { type Content, type Html, html } from '../html.ts';

type Entries = readonly (readonly [name: string, value: Content])[];

/** Facts in one line, each with its name before it; omits entries without a value. */
export function factLine(entries: Entries): Html {
  return list('fact-line', entries);
}

/** Facts in rows of two columns; omits entries without a value. */
export function factRows(entries: Entries): Html {
  return list('fact-rows', entries);
}

function list(name: string, entries: Entries): Html {
  const given = entries.filter(
    ([, value]) => value !== null && value !== undefined && value !== '' && value !== false,
  );
  return html`<dl class="${name}">${given.map(([fact, value]) => html`<div><dt>${fact}</dt><dd>${value}</dd></div>`)}</dl>`;
}
