import { plainColours as colours } from '@picket/protocol/pages/theme-colors.ts';

/** Names of the colour fields in forms. */
export const colourNames = Object.entries(colours).flatMap(([theme, of]) =>
  Object.keys(of).map((name) => `themeColors.${theme}.${name}`),
);

/** Fills empty colour fields, which browsers would show as black. */
export function withColours(values: URLSearchParams): URLSearchParams {
  const filled = new URLSearchParams(values);
  for (const [theme, of] of Object.entries(colours)) {
    for (const [name, colour] of Object.entries(of)) {
      const path = `themeColors.${theme}.${name}`;
      // Colour inputs accept six digits only.
      const short = /^#([0-9A-Fa-f])([0-9A-Fa-f])([0-9A-Fa-f])$/.exec(values.get(path) ?? '');
      if (short) filled.set(path, `#${[...short.slice(1)].map((digit) => digit + digit).join('')}`);
      else if (!values.get(path)) filled.set(path, colour);
    }
  }
  return filled;
}
