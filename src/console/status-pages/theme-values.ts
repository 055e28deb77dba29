import { plainColours as colours } from '@picket/protocol/pages/theme-colors.ts';

/** Names of the fields of colours, as words of forms. */
export const colourNames = Object.entries(colours).flatMap(([theme, of]) =>
  Object.keys(of).map((name) => `themeColors.${theme}.${name}`),
);

/** Fills the fields of colours that hold none; browsers would take black for nothing. */
export function withColours(values: URLSearchParams): URLSearchParams {
  const filled = new URLSearchParams(values);
  for (const [theme, of] of Object.entries(colours)) {
    for (const [name, colour] of Object.entries(of)) {
      const path = `themeColors.${theme}.${name}`;
      // A field of this kind takes six digits only.
      const short = /^#([0-9A-Fa-f])([0-9A-Fa-f])([0-9A-Fa-f])$/.exec(values.get(path) ?? '');
      if (short) filled.set(path, `#${[...short.slice(1)].map((digit) => digit + digit).join('')}`);
      else if (!values.get(path)) filled.set(path, colour);
    }
  }
  return filled;
}
