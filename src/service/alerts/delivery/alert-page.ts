import { type AlertMessage, factLines, titleOf } from './template.ts';

/** How the check of an alert is by now; null where that is not known. */
export type PresentState = 'failing' | 'degraded' | 'passing' | null;

/** What may be loaded: nothing but the styles of the page itself. */
export const pagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** An alert as a page for people: what its notification said, and how things are now. */
export function alertPage(
  message: Pick<AlertMessage, 'notice' | 'facts' | 'created'>,
  state: PresentState,
): string {
  const title = titleOf(message);
  const rows = [
    ...factLines(message),
    ...(state === null ? [] : [{ label: 'Now', value: `The check is ${state}.` }]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>${html(title)}</title>
<style>body{font:16px/1.5 sans-serif;margin:2em;max-width:50em}th{text-align:left;vertical-align:top;padding-right:1em}
td{overflow-wrap:anywhere;white-space:pre-wrap}</style></head>
<body><h1>${html(title)}</h1>
<table>${rows.map(({ label, value }) => `<tr><th>${html(label)}</th><td>${html(value)}</td></tr>`).join('\n')}</table>
</body></html>
`;
}

export function html(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
