import type { StatusPageOptions } from '@picket/protocol/pages/status-page.ts';

type Themes = NonNullable<StatusPageOptions['themeColors']>;

/** Returns the colours of a page's owner as a style sheet. They are hexadecimal numbers, validated on input. */
export function coloursOf({ light, dark }: Themes): string {
  const both = (name: keyof Themes['light']) => `light-dark(${light[name]}, ${dark[name]})`;
  return `:root {
  --paper: ${both('bodyBackgroundColor')};
  --surface: ${both('cardBackgroundColor')};
  --ink: ${both('bodyFontColor')};
  --ink-soft: ${both('bodyFontColorMuted')};
  --line: ${both('borderColor')};
  --link: ${both('linkFontColor')};
}
h1, h2, h3 { color: ${both('titleFontColor')}; }
.public-top { background: ${both('headerBackgroundColor')}; color: ${both('headerFontColor')}; }
.bottom a { color: ${both('navigationFontColor')}; }
.button.primary { background: ${both('primaryButtonBackgroundColor')}; border-color: ${both('primaryButtonBackgroundColor')}; color: ${both('primaryButtonFontColor')}; }
`;
}
