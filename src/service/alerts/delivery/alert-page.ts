import { html } from '@picket/lib/html.ts';
import { dark, light, type Palette, type Tone } from '@picket/lib/mail/palette.ts';
import { stateOf } from './headline.ts';
import { type AlertMessage, causeOf, factLines, titleOf } from './message.ts';

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
    run,
  }: {
    readonly state: PresentState;
    readonly handled: readonly { readonly label: string; readonly value: string }[];
    readonly offers: readonly AlertPageAction[];
    /** The action just taken, in words. */
    readonly done: string | null;
    /** Page of the run, for readers with a login; null without a run. */
    readonly run: string | null;
  },
): string {
  const title = titleOf(message);
  const shown = stateOf(message);
  const cause = causeOf(message);
  const rows = [
    ...(state === null ? [] : [{ label: 'Now', value: `The check is ${state}.` }]),
    ...handled,
    ...factLines(message).filter(({ value }) => value !== cause),
  ];
  const link = run === null ? '' : `<a class="button" href="${html(run)}">Open the run</a>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>${html(title)} · Picket</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>${style}</style></head>
<body><header>${mark}Picket</header><main class="tone-${shown.tone}">
${done === null ? '' : `<p class="done" role="status">${html(done)}</p>\n`}<p class="state">${html(shown.word)}</p>
<h1>${html(title)}</h1>
<p class="cause">${html(cause)}</p>
${offers.length === 0 ? (link === '' ? '' : `<p class="buttons">${link}</p>`) : formOf(offers, link)}
<dl>${rows.map(({ label, value }) => `<div><dt>${html(label)}</dt><dd>${html(value)}</dd></div>`).join('\n')}</dl>
</main></body></html>
`;
}

/** One form with all buttons, submitted to the address that the page was opened with. Silences are folded. */
function formOf(offers: readonly AlertPageAction[], link: string): string {
  const button = ({ action, minutes, label }: AlertPageAction) =>
    `<button class="button${action === 'acknowledge' ? ' main' : ''}" name="what" value="${action}${minutes === null ? '' : ` ${minutes}`}">${html(label)}</button>`;
  const first = offers.filter(({ action }) => action === 'acknowledge');
  const silences = offers.filter(({ action }) => action !== 'acknowledge');
  const folded =
    silences.length === 0
      ? ''
      : `<details><summary class="button">Silence…</summary><div class="list">${silences.map(button).join('\n')}</div></details>`;
  return `<form method="post"><p><label>Your name, shown to others <input name="name" maxlength="100" autocomplete="name"></label></p>
<div class="buttons">${first.map(button).join('')}${link}${folded}</div></form>
`;
}

/** The logo of the pages. */
const mark = `<svg viewBox="0 0 26 24" width="26" height="24" aria-hidden="true" class="mark">${[0, 7, 14, 21].map((x) => `<path d="M${x} 6l2.5-4 2.5 4v17h-5z"/>`).join('')}<path d="M0 14h26v2.5H0z"/></svg>`;

function colours({ tones, ...plain }: Palette): string {
  const all = [
    ...Object.entries(plain),
    ...Object.entries(tones).map(([name, value]) => [`t-${name}`, value]),
  ];
  return all.map(([name, value]) => `--${name}:${value}`).join(';');
}

const toneNames: readonly Tone[] = ['failed', 'degraded', 'passed', 'missed', 'neutral'];

const style = `:root{color-scheme:light dark;${colours(light)}}
@media (prefers-color-scheme:dark){:root{${colours(dark)}}}
*{box-sizing:border-box}
body{margin:0;padding:16px;font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;color:var(--ink);background:var(--paper)}
header{display:flex;align-items:center;gap:8px;max-width:640px;margin:16px auto 12px;font-size:16px;font-weight:600}
main{max-width:640px;margin:0 auto;padding:20px 24px;background:var(--surface);border:1px solid var(--line);border-left:4px solid var(--tone);border-radius:6px}
${toneNames.map((tone) => `.tone-${tone}{--tone:var(--t-${tone})}`).join('')}
h1{margin:0;font-size:20px;line-height:1.3;font-weight:600;overflow-wrap:anywhere}
p{margin:8px 0}
.mark{fill:var(--t-passed)}
.state{margin:0 0 4px;font-size:12px;font-weight:700;letter-spacing:.04em;text-transform:uppercase;color:var(--tone)}
.cause{font-size:16px;overflow-wrap:anywhere}
.done{margin:0 0 16px;padding:8px 12px;font-weight:600;background:var(--paper);border-left:4px solid var(--t-passed);overflow-wrap:anywhere}
dl{margin:20px 0 0;border-top:1px solid var(--line);padding-top:8px}
dl div{display:flex;flex-wrap:wrap;gap:0 16px;padding:4px 0}
dt{width:128px;color:var(--soft)}
dd{flex:1;min-width:180px;margin:0;overflow-wrap:anywhere;white-space:pre-line}
label{display:block;color:var(--soft);font-size:12px;font-weight:500}
input{display:block;width:100%;max-width:320px;min-height:32px;margin-top:4px;padding:4px 10px;font:inherit;font-size:14px;color:var(--ink);background:var(--surface);border:1px solid var(--soft);border-radius:6px}
.buttons{display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px;margin:16px 0 0}
.button{display:inline-flex;align-items:center;min-height:32px;padding:4px 12px;font:inherit;font-weight:500;color:var(--ink);background:var(--surface);text-decoration:none;text-align:left;cursor:pointer;border:1px solid var(--soft);border-radius:6px}
.button.main{color:var(--accentInk);background:var(--accent);border-color:var(--accent)}
summary{list-style:none}summary::-webkit-details-marker{display:none}
.list{display:grid;gap:8px;margin-top:8px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}`;
