import { badgeStyles, badgeThemes } from '@picket/protocol/pages/badge.ts';
import { expect, it } from 'vitest';
import { type Badge, badgeImage } from './badge-image.ts';

const badge: Badge = { label: 'API', message: 'passing', state: 'passing', style: 'flat', theme: 'default' };

it('draws a different picture for every style, theme and state', () => {
  const images = badgeStyles.flatMap((style) =>
    badgeThemes.flatMap((theme) =>
      (['passing', 'degraded', 'failing', 'not-measured'] as const).map((state) =>
        badgeImage({ ...badge, style, theme, state }),
      ),
    ),
  );
  expect(new Set(images).size).toBe(badgeStyles.length * badgeThemes.length * 4);
});

it.each([
  '<script>alert(1)</script>',
  '" onload="alert(1)',
  "' & ]]> <!--",
  'two\nlines\u0000\u0007\ufffe',
  '\ud800 half',
  '日本語 😀 مرحبا',
  'x'.repeat(5000),
  '',
])('is one well-formed image for any name: %j', (label) => {
  const image = badgeImage({ ...badge, label });
  // There is no markup between the tags; every attribute is closed.
  const texts = image.replaceAll(/<\/?[A-Za-z]+(?: [A-Za-z:-]+="[^"<]*")*\/?>/g, '');
  expect(texts).not.toMatch(/[<>\p{Cc}\ufffe]/u);
  expect(texts.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, '')).not.toContain('&');
  expect(image.isWellFormed()).toBe(true);
  expect(image.length).toBeLessThan(3500);
  const opened = [...image.matchAll(/<([A-Za-z]+)(?:[^>]*[^/])?>/g)].map(([, name]) => name);
  const closed = [...image.matchAll(/<\/([A-Za-z]+)>/g)].map(([, name]) => name);
  expect(closed.sort()).toEqual(opened.sort());
});

it('is as wide as its text', () => {
  const width = (label: string) => Number(/width="(\d+)"/.exec(badgeImage({ ...badge, label }))?.[1]);
  expect(width('a longer label')).toBeGreaterThan(width('label'));
  expect(width('WWWWW')).toBeGreaterThan(width('iiiii'));
});
