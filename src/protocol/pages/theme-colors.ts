import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/** Default colours of a page. */
export const plainColours = {
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
} as const;

export type ColourName = keyof typeof plainColours.light;

const color = z
  .string()
  .regex(/^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/, 'must be a color such as #1A2B3C; kept in upper case');

function theme(colours: Readonly<Record<ColourName, string>>) {
  const shape = Object.fromEntries(
    Object.entries(colours).map(([name, plain]) => [name, color.default(plain)]),
  ) as Record<ColourName, z.ZodDefault<typeof color>>;
  return z.object(shape).prefault({});
}

/** Colours of a page; others keep their defaults. */
export const ThemeColors = lazySchema(() =>
  z.object({ light: theme(plainColours.light), dark: theme(plainColours.dark) }).meta({ id: 'ThemeColors' }),
);
