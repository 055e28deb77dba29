import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import type { badgeStyles, badgeThemes } from '@picket/protocol/pages/badge.ts';

export interface Badge {
  readonly label: string;
  readonly message: string;
  readonly state: CheckState;
  readonly style: (typeof badgeStyles)[number];
  readonly theme: (typeof badgeThemes)[number];
}

const stateColors: Record<CheckState, string> = {
  passing: '#2f9e44',
  degraded: '#c98a00',
  failing: '#d6336c',
  'not-judged': '#868e96',
  'not-measured': '#868e96',
  pending: '#868e96',
  paused: '#868e96',
};

/** The label's side: background, text, and a border if the background is close to that of a page. */
const themes = {
  default: { background: '#495057', text: '#ffffff', line: 'none' },
  dark: { background: '#16181b', text: '#e9ecef', line: '#495057' },
  light: { background: '#f1f3f5', text: '#343a40', line: '#ced4da' },
} as const;

interface StyleTraits {
  readonly heightPx: number;
  readonly radiusPx: number;
  readonly fontPx: number;
  readonly paddingPx: number;
  /** Gap between the two sides. */
  readonly gapPx: number;
  readonly isUpperCase: boolean;
  /** Whether it has a gradient overlay. */
  readonly isShaded: boolean;
}

const flat: StyleTraits = {
  heightPx: 20,
  radiusPx: 3,
  fontPx: 11,
  paddingPx: 6,
  gapPx: 0,
  isUpperCase: false,
  isShaded: false,
};
const styles: Record<Badge['style'], StyleTraits> = {
  flat,
  plastic: { ...flat, heightPx: 18, radiusPx: 4, isShaded: true },
  'flat-square': { ...flat, radiusPx: 0 },
  'for-the-badge': { ...flat, heightPx: 28, radiusPx: 0, fontPx: 10, paddingPx: 12, isUpperCase: true },
  social: { ...flat, radiusPx: 5, gapPx: 4 },
};

const longestLabel = 60;

/** A badge as an SVG image: a label and a message, side by side. */
export function badgeImage(badge: Badge): string {
  const traits = styles[badge.style];
  const colors = themes[badge.theme];
  const [label, message] = [badge.label, badge.message].map((text) => {
    const shown = printable(text);
    const short =
      [...shown].length > longestLabel ? `${[...shown].slice(0, longestLabel - 1).join('')}…` : shown;
    return traits.isUpperCase ? short.toUpperCase() : short;
  }) as [string, string];
  const letterSpacingPx = traits.isUpperCase ? 1 : 0;
  const widthOf = (text: string) =>
    Math.ceil(textWidthPx(text, traits.fontPx) + [...text].length * letterSpacingPx) + 2 * traits.paddingPx;
  const [labelPx, messagePx] = [widthOf(label), widthOf(message)];
  const totalPx = labelPx + traits.gapPx + messagePx;
  const title = escapeXml(`${label}: ${message}`);
  const side = (text: string, at: { x: number; width: number; fill: string; isBold: boolean }) =>
    `<text x="${at.x + at.width / 2}" y="${traits.heightPx / 2}" dy=".35em" fill="${at.fill}" text-anchor="middle" ` +
    `textLength="${at.width - 2 * traits.paddingPx}"${at.isBold ? ' font-weight="bold"' : ''}>${escapeXml(text)}</text>`;
  const isBold = badge.style === 'for-the-badge' || badge.style === 'social';
  const messageX = labelPx + traits.gapPx;
  const box = (x: number, width: number, fill: string) =>
    `<rect x="${x}" width="${width}" height="${traits.heightPx}" fill="${fill}"` +
    `${traits.gapPx > 0 ? ` rx="${traits.radiusPx}"` : ''}/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${totalPx}" height="${traits.heightPx}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<clipPath id="r"><rect width="${totalPx}" height="${traits.heightPx}" rx="${traits.radiusPx}"/></clipPath>`,
    traits.isShaded
      ? '<linearGradient id="s" x2="0" y2="100%"><stop offset="0" stop-color="#fff" stop-opacity=".35"/><stop offset=".5" stop-color="#888" stop-opacity=".1"/><stop offset="1" stop-opacity=".3"/></linearGradient>'
      : '',
    '<g clip-path="url(#r)">',
    box(0, labelPx, colors.background),
    box(messageX, messagePx, stateColors[badge.state]),
    traits.isShaded ? `<rect width="${totalPx}" height="${traits.heightPx}" fill="url(#s)"/>` : '',
    '</g>',
    colors.line === 'none'
      ? ''
      : `<rect x=".5" y=".5" width="${totalPx - 1}" height="${traits.heightPx - 1}" rx="${traits.radiusPx}" fill="none" stroke="${colors.line}"/>`,
    `<g font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="${traits.fontPx}"${letterSpacingPx > 0 ? ` letter-spacing="${letterSpacingPx}"` : ''}>`,
    side(label, { x: 0, width: labelPx, fill: colors.text, isBold: badge.style === 'social' }),
    side(message, { x: messageX, width: messagePx, fill: '#ffffff', isBold }),
    '</g></svg>',
  ].join('');
}

/** Classes of letters with similar widths in sans-serif fonts, in thousandths of the font size. */
const widthClasses: readonly (readonly [RegExp, number])[] = [
  [/[ijlI.,:;'|!]/, 360],
  [/[frt()[\]{}/\\ -]/, 430],
  [/[mwMW@%]/, 950],
  [/[A-Z&_]/, 720],
  [/[\u1100-\uffff]|[\u{10000}-\u{10ffff}]/u, 1000],
];

/** Approximate width of a text. Viewers fit it to that by `textLength`. */
function textWidthPx(text: string, fontPx: number): number {
  let thousandths = 0;
  for (const letter of text) {
    thousandths += widthClasses.find(([letters]) => letters.test(letter))?.[1] ?? 620;
  }
  return (thousandths * fontPx) / 1000;
}

/** Removes characters that XML cannot contain, and line breaks. */
function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\ufffe\uffff\s]+/gu, ' ')
    .trim();
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
