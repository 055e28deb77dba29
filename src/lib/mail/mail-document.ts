import { html } from '../html.ts';
import { dark, light, type Tone } from './palette.ts';

/** Content of a mail, from which its text and its HTML are made; all values are foreign text. */
export interface MailDocument {
  readonly tone: Tone;
  /** Name of the sender, above the content; Picket if absent, no line if null. */
  readonly brand?: string | null | undefined;
  /** State in one or two words, above the headline. */
  readonly state?: string | undefined;
  readonly headline: string;
  /** The reason in one sentence. */
  readonly lead?: string | undefined;
  readonly facts?: readonly MailFact[] | undefined;
  readonly paragraphs?: readonly string[] | undefined;
  /** Two at most; the first is the main one. */
  readonly buttons?: readonly MailButton[] | undefined;
  /** Why the reader gets the mail. */
  readonly footer?: readonly string[] | undefined;
  /** Links of the footer. */
  readonly footerLinks?: readonly MailButton[] | undefined;
}

export interface MailFact {
  readonly label: string;
  readonly value: string;
}

export interface MailButton {
  readonly label: string;
  readonly url: string;
}

/** Returns the plain text of a mail: the same content in the same order. */
export function mailText(mail: MailDocument): string {
  const { headline, lead, facts = [], paragraphs = [], buttons = [], footer = [], footerLinks = [] } = mail;
  const lines = (some: readonly MailFact[]) =>
    some.map(({ label, value }) => `${label}: ${value}`).join('\n');
  const links = (some: readonly MailButton[]) => some.map(({ label, url }) => `${label}: ${url}`).join('\n');
  const parts = [headline, lead ?? '', lines(facts), ...paragraphs, links(buttons)];
  const end = [...footer, links(footerLinks)].filter((part) => part !== '');
  const text = parts.filter((part) => part !== '').join('\n\n');
  return end.length === 0 ? `${text}\n` : `${text}\n\n-- \n${end.join('\n')}\n`;
}

const sans = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const { tones } = light;

/**
 * Returns the HTML of a mail. It loads nothing, so that no one learns when it is read. Colours are given with each
 * element, because many programs drop the styles of the head; those that keep them have dark colours where the reader prefers them.
 */
export function mailHtml(mail: MailDocument): string {
  const { tone, state, headline, lead, facts = [], paragraphs = [], buttons = [] } = mail;
  const content = [
    state === undefined
      ? ''
      : `<p class="tone" style="margin:0 0 4px;font-size:12px;font-weight:700;letter-spacing:.04em;text-transform:uppercase;color:${tones[tone]}">${html(state)}</p>`,
    `<h1 class="ink" style="margin:0;font-size:20px;line-height:1.3;font-weight:600;color:${light.ink};overflow-wrap:anywhere">${html(headline)}</h1>`,
    lead === undefined || lead === ''
      ? ''
      : `<p class="ink" style="margin:8px 0 0;font-size:16px;line-height:1.5;color:${light.ink};overflow-wrap:anywhere">${html(lead)}</p>`,
    ...paragraphs.map(
      (text) =>
        `<p class="ink" style="margin:12px 0 0;color:${light.ink};overflow-wrap:anywhere;white-space:pre-line">${linked(text)}</p>`,
    ),
    buttonsOf(buttons),
    factsOf(facts),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${html(headline)}</title><style>${styleOf(tone)}</style></head>
<body class="paper" style="margin:0;padding:0;background:${light.paper}">
<table class="paper" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:${light.paper}"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px;font:14px/1.5 ${sans};text-align:left">
${brandOf(mail)}<tr><td class="card" style="padding:20px 24px 24px;background:${light.surface};border:1px solid ${light.line};border-left:4px solid ${tones[tone]};border-radius:6px">
${content.filter((part) => part !== '').join('\n')}
</td></tr>
${footerOf(mail)}</table>
</td></tr></table>
</body></html>
`;
}

/** A text with its web addresses as links; a sign of punctuation at the end is not part of one. */
function linked(text: string): string {
  const parts = text.split(/(https?:\/\/[^\s<>"']*[^\s<>"'.,:;!?)\]])/);
  // Every second part is an address.
  return parts
    .map((part, index) =>
      index % 2 === 0
        ? html(part)
        : `<a class="link" href="${html(part)}" style="color:${light.accent}">${html(part)}</a>`,
    )
    .join('');
}

function brandOf({ brand = 'Picket' }: MailDocument): string {
  if (brand === null) return '';
  return `<tr><td class="soft" style="padding:0 0 12px;font-weight:600;color:${light.soft}">${html(brand)}</td></tr>\n`;
}

function buttonsOf(buttons: readonly MailButton[]): string {
  if (buttons.length === 0) return '';
  const cells = buttons.map(({ label, url }, index) => {
    const [name, colours] =
      index === 0
        ? ['main', `background:${light.accent};border:1px solid ${light.accent};color:${light.accentInk}`]
        : ['other', `background:${light.surface};border:1px solid ${light.line};color:${light.ink}`];
    return `<a class="${name}" href="${html(url)}" style="display:inline-block;margin:16px 8px 0 0;padding:8px 16px;border-radius:6px;font-weight:600;text-decoration:none;${colours}">${html(label)}</a>`;
  });
  return `<div>${cells.join('')}</div>`;
}

function factsOf(facts: readonly MailFact[]): string {
  if (facts.length === 0) return '';
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><th class="soft" scope="row" style="padding:4px 16px 4px 0;width:112px;font-weight:400;text-align:left;vertical-align:top;color:${light.soft}">${html(label)}</th><td class="ink" style="padding:4px 0;vertical-align:top;color:${light.ink};overflow-wrap:anywhere;word-break:break-word;white-space:pre-line">${html(value)}</td></tr>`,
  );
  return `<table class="line" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin-top:20px;font:14px/1.5 ${sans};border-top:1px solid ${light.line}">${rows.join('\n')}</table>`;
}

function footerOf({ footer = [], footerLinks = [] }: MailDocument): string {
  const links = footerLinks.map(
    ({ label, url }) => `<a class="soft" href="${html(url)}" style="color:${light.soft}">${html(label)}</a>`,
  );
  const lines = [...footer.map(html), ...(links.length === 0 ? [] : [links.join(' · ')])];
  if (lines.length === 0) return '';
  return `<tr><td class="soft" style="padding:12px 0 0;font-size:12px;color:${light.soft};overflow-wrap:anywhere">${lines.join('<br>')}</td></tr>\n`;
}

function styleOf(tone: Tone): string {
  const rules = {
    '.paper': `background:${dark.paper}!important`,
    '.card': `background:${dark.surface}!important;border-color:${dark.line}!important;border-left-color:${dark.tones[tone]}!important`,
    '.line': `border-color:${dark.line}!important`,
    '.ink': `color:${dark.ink}!important`,
    '.soft': `color:${dark.soft}!important`,
    '.link': `color:${dark.accent}!important`,
    '.tone': `color:${dark.tones[tone]}!important`,
    '.main': `background:${dark.accent}!important;border-color:${dark.accent}!important;color:${dark.accentInk}!important`,
    '.other': `background:${dark.surface}!important;border-color:${dark.line}!important;color:${dark.ink}!important`,
  };
  const all = Object.entries(rules).map(([selector, rule]) => `${selector}{${rule}}`);
  return `:root{color-scheme:light dark}@media (prefers-color-scheme:dark){${all.join('')}}`;
}
