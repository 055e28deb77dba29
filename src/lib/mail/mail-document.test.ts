import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type MailDocument, mailHtml, mailText } from './mail-document.ts';
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

  it('has web addresses of its text as links', () => {
    const html = mailHtml({
      ...mail,
      paragraphs: ['See (https://x.test/a?b=1&c=2), or javascript:alert(1).'],
    });
    expect(html).toContain('See (<a class="link" href="https://x.test/a?b=1&amp;c=2"');
    expect(html).toContain('</a>), or javascript:alert(1).');
    const marked = mailHtml({ ...mail, paragraphs: ['https://x.test/"onclick="alert(1)'] });
    expect(marked).toContain('href="https://x.test/" style');
  });

  it('names its sender: Picket, another one, or none', () => {
    expect(mailHtml(mail)).toContain('>Picket</td>');
    expect(mailHtml({ ...mail, brand: 'Acme' })).toContain('>Acme</td>');
    expect(mailHtml({ ...mail, brand: null })).not.toContain('font-weight:600;color:#555b66');
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
