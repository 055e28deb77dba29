import { html } from '@picket/lib/html.ts';
import { type AlertMessage, factLines, titleOf } from './message.ts';

/** Current state of the check of an alert; null if unknown. */
export type PresentState = 'failing' | 'degraded' | 'passing' | null;

/** An action offered to the holder of a signed link, as a button. */
export interface AlertPageAction {
  readonly action: 'acknowledge' | 'silence-check' | 'silence-location';
  /** Duration of a silence. */
  readonly minutes: number | null;
  readonly label: string;
}

/** Allows only the styles of the page itself to load, and its form to be submitted only to its own origin. */
export const pagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/**
 * An alert as a web page: what its notification said, the current state, and the available actions. Opening the page
 * changes nothing, because mail servers open links too; only pressing a button submits something.
 */
export function alertPage(
  message: Pick<AlertMessage, 'notice' | 'facts' | 'created' | 'resultLink'>,
  {
    state,
    handled,
    offers,
    done,
  }: {
    readonly state: PresentState;
    readonly handled: readonly { readonly label: string; readonly value: string }[];
    readonly offers: readonly AlertPageAction[];
    /** The action just taken, in words. */
    readonly done: string | null;
  },
): string {
  const title = titleOf(message);
  const rows = [
    ...factLines(message),
    ...(state === null ? [] : [{ label: 'Now', value: `The check is ${state}.` }]),
    ...handled,
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>${html(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{font:16px/1.5 sans-serif;margin:2em;max-width:50em}th{text-align:left;vertical-align:top;padding-right:1em}
td{overflow-wrap:anywhere;white-space:pre-wrap}button{font:inherit;margin:.25em 0;display:block}</style></head>
<body><h1>${html(title)}</h1>
${done === null ? '' : `<p role="status"><strong>${html(done)}</strong></p>\n`}<table>${rows.map(({ label, value }) => `<tr><th>${html(label)}</th><td>${html(value)}</td></tr>`).join('\n')}</table>
${offers.length === 0 ? '' : formOf(offers)}</body></html>
`;
}

/** One form with all buttons, submitted to the address that the page was opened with. */
function formOf(offers: readonly AlertPageAction[]): string {
  const buttons = offers.map(
    ({ action, minutes, label }) =>
      `<button name="what" value="${action}${minutes === null ? '' : ` ${minutes}`}">${html(label)}</button>`,
  );
  return `<form method="post"><p><label>Your name <input name="name" maxlength="100" autocomplete="name"></label></p>
${buttons.join('\n')}</form>
`;
}
