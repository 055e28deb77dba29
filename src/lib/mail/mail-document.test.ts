import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type MailDocument, mailHtml, mailText, partsOfText } from './mail-document.ts';
import { dark, light } from './palette.ts';

const hostile = `</td><script>alert(1)</script>"'`;
const mail: MailDocument = {
  tone: 'failed',
  state: hostile,
  headline: hostile,
  lead: hostile,
  facts: [{ label: hostile, value: hostile }],
  paragraphs: [hostile],
  buttons: [{ label: hostile, url: `https://picket.test/?a=1&b=${hostile}` }],
  footer: [hostile],
  footerLinks: [{ label: hostile, url: hostile }],
};

describe('a mail', () => {
  it('shows foreign texts literally', () => {
    const html = mailHtml(mail);
    expect(html).not.toContain('<script');
    expect(html.match(/<td/g)?.length).toBe(html.match(/<\/td>/g)?.length);
    expect(html.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(8);
    expect(mailText(mail)).toContain(hostile);
  });

  it('has its buttons again after its text was stored', () => {
    const text = mailText({
      ...{ tone: 'neutral', headline: 'Title', paragraphs: ['One: 1', 'See https://x.test/'] },
      buttons: [{ label: 'Confirm', url: 'https://x.test/a?b=c:d' }],
    });
    expect(partsOfText(text)).toEqual({
      paragraphs: ['Title', 'One: 1', 'See https://x.test/'],
      buttons: [{ label: 'Confirm', url: 'https://x.test/a?b=c:d' }],
    });
  });
});

it('has the colours of the pages', () => {
  const tokens = readFileSync(new URL('../../console/assets/tokens.css', import.meta.url), 'utf8');
  const names = {
    ...{ paper: 'paper', surface: 'surface', line: 'line', ink: 'ink', soft: 'ink-soft' },
    ...{ accent: 'accent', accentInk: 'accent-ink' },
  } as const;
  for (const [key, name] of Object.entries(names)) {
    const colour = key as keyof typeof names;
    expect(tokens).toContain(`--${name}: light-dark(${light[colour]}, ${dark[colour]});`);
  }
  for (const tone of ['failed', 'degraded', 'passed', 'missed'] as const) {
    expect(tokens).toContain(`--${tone}-ink: light-dark(${light.tones[tone]}, ${dark.tones[tone]});`);
  }
});
