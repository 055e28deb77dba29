import type { StatusPageOptions } from '../../../protocol/pages/status-page.ts';

type Colours = NonNullable<StatusPageOptions['themeColors']>['light'];

/** What a page without colours of its own looks like: where somebody who chooses colours begins. */
const colours: Readonly<Record<'light' | 'dark', Colours>> = {
  light: {
    bodyBackgroundColor: '#F6F6F3',
    headerBackgroundColor: '#FFFFFF',
    headerFontColor: '#15171C',
    titleFontColor: '#15171C',
    bodyFontColor: '#15171C',
    bodyFontColorMuted: '#555B66',
    navigationFontColor: '#0A56C2',
    linkFontColor: '#0A56C2',
    cardBackgroundColor: '#FFFFFF',
    borderColor: '#DDDCD6',
    primaryButtonBackgroundColor: '#15171C',
    primaryButtonFontColor: '#FFFFFF',
  },
  dark: {
    bodyBackgroundColor: '#0E1014',
    headerBackgroundColor: '#16191F',
    headerFontColor: '#E9EBEF',
    titleFontColor: '#E9EBEF',
    bodyFontColor: '#E9EBEF',
    bodyFontColorMuted: '#A3ABB8',
    navigationFontColor: '#82B5FF',
    linkFontColor: '#82B5FF',
    cardBackgroundColor: '#16191F',
    borderColor: '#2B303A',
    primaryButtonBackgroundColor: '#E9EBEF',
    primaryButtonFontColor: '#0E1014',
  },
};

/** Names of the fields of colours, as words of forms. */
export const colourNames = Object.entries(colours).flatMap(([theme, of]) =>
  Object.keys(of).map((name) => `themeColors.${theme}.${name}`),
);

/** Fills the fields of colours that hold none; browsers would take black for nothing. */
export function withColours(values: URLSearchParams): URLSearchParams {
  const filled = new URLSearchParams(values);
  const isChosen = [...values.keys()].some((name) => name.startsWith('themeColors.'));
  if (!filled.has('themeColors')) filled.set('themeColors', String(isChosen));
  for (const [theme, of] of Object.entries(colours)) {
    for (const [name, colour] of Object.entries(of)) {
      const path = `themeColors.${theme}.${name}`;
      // A field of this kind takes six digits only.
      const short = /^#([0-9A-Fa-f])([0-9A-Fa-f])([0-9A-Fa-f])$/.exec(values.get(path) ?? '');
      if (short) filled.set(path, `#${[...short.slice(1)].map((digit) => digit + digit).join('')}`);
      else if (!values.has(path)) filled.set(path, colour);
    }
  }
  return filled;
}
