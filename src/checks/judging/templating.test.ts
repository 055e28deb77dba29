import { ThreadStarved } from '@picket/lib/bounds/cpu-limit.ts';
import { describe, expect, it, vi } from 'vitest';
import { render, TemplateError } from './templating.ts';

const values = { NAME: 'a b&c', BASE: 'https://example.com/x', EMPTY: '', HTML: '<b>"' };

describe('templates', () => {
  it.each([
    ['raw', 'x {{NAME}} {{{NAME}}} {{HTML}}', 'x a b&c a b&c <b>"'],
    ['url', 'http://h/{{NAME}}?q={{{NAME}}}', 'http://h/a%20b%26c?q=a b&c'],
    ['url', '{{BASE}}/y?next={{BASE}}', 'https://example.com/x/y?next=https%3A%2F%2Fexample.com%2Fx'],
    ['url', '{{NAME}}', 'a%20b%26c'],
    ['query', 'a&b {{NAME}}{{{NAME}}}', 'a%26b%20a%20b%26ca b&c'],
    ['query', 'no template & more', 'no%20template%20%26%20more'],
    ['raw', '{"a":{"b":{}}}', '{"a":{"b":{}}}'],
    ['raw', '{"n":{{NAME}}}', '{"n":a b&c}'],
    ['raw', '{"a":{"n":{{NAME}}},"m":{{{NAME}}}}', '{"a":{"n":a b&c},"m":a b&c}'],
    ['query', '{{NAME}}}', 'a%20b%26c%7D'],
    ['query', 'x\ud800{{UNKNOWN}}', 'x%EF%BF%BD'],
    ['raw', '[{{UNKNOWN}}|{{EMPTY}}|{{a.b.c}}]', '[||]'],
    ['raw', '{{#if NAME}}yes{{else}}no{{/if}} {{#unless EMPTY}}none{{/unless}}', 'yes none'],
    ['raw', '\\{{NAME}}', '{{NAME}}'],
  ] as const)('in mode %s: %s', (mode, template, expected) => {
    expect(render(template, values, mode)).toBe(expected);
  });

  it('give no access to prototypes', () => {
    const said = vi.spyOn(console, 'error');
    for (const name of [
      'constructor',
      'NAME.constructor',
      '__proto__',
      'NAME.length.constructor',
      'toString',
    ]) {
      expect(render(`[{{${name}}}]`, values, 'raw')).toBe('[]');
    }
    expect(render('{{lookup this "constructor"}}', values, 'raw')).toBe('');
    expect(said).not.toHaveBeenCalled();
  });

  it('show values as data: a value is never a template', () => {
    expect(render('{{A}}', { A: '{{B}}', B: 'secret' }, 'raw')).toBe('{{B}}');
  });

  it.each([
    '{{',
    '{{#if}}',
    '{{#each NAME}}',
    '{{> partial}}',
    '{{unknownHelper "x"}}',
    '{{$NOPE "x"}}',
    '{{a b}}',
  ])('that are invalid give a reason: %s', (template) => {
    expect(() => render(template, values, 'raw')).toThrow(TemplateError);
  });
});

describe('endless templates', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`V${index}`, 'x']));
  const loops = `${'{{#each @root}}'.repeat(8)}x${'{{/each}}'.repeat(8)}`;

  /** The ends of the templates of one run; repeated if the host had no processor for this thread. */
  const endsOf = (templates: readonly string[]): unknown[] => {
    for (;;) {
      const ofRun = { ...many };
      const ends = templates.map((template) => {
        try {
          return render(template, ofRun, 'raw');
        } catch (thrown) {
          return thrown;
        }
      });
      if (!ends.some((end) => end instanceof ThreadStarved)) return ends;
    }
  };

  it('are ended, with one limit for all of a run', () => {
    const [first, second] = endsOf([loops, `${loops} `]);
    expect(String(first)).toMatch(/took longer than 250 ms/);
    expect(String(second)).toMatch(/took longer than 1 ms/);
    expect(render('{{#if V1}}yes{{/if}}', { ...many }, 'raw')).toBe('yes');
  });

  it('produce no endless texts', () => {
    const long = { LONG: 'x'.repeat(1_000_000) };
    expect(() => render('{{LONG}}'.repeat(20), long, 'raw')).toThrow(TemplateError);
  });

  it('parse no long moments', () => {
    const words = `${'in 1 day '.repeat(1000)}`;
    expect(() => render(`{{moment "${words}" "X"}}`, {}, 'raw')).toThrow(/more than 200/);
    expect(() => render('{{moment WORDS "X"}}', { WORDS: words }, 'raw')).toThrow(/more than 200/);
  });
});

describe('helpers', () => {
  it('$UUID is new each time', () => {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const one = render('{{$UUID}}', {}, 'raw');
    expect(one).toMatch(uuid);
    expect(render('{{$UUID}}', {}, 'raw')).not.toBe(one);
    expect(render('http://h/{{$UUID}}', {}, 'url').slice(9)).toMatch(uuid);
  });

  it('$RANDOM_NUMBER is between 0 and 10000', () => {
    const numbers = Array.from({ length: 50 }, () => Number(render('{{ $RANDOM_NUMBER }}', {}, 'raw')));
    for (const number of numbers)
      expect(number >= 0 && number <= 10_000 && Number.isInteger(number)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(10);
  });

  it('moment formats now and moments in words, in UTC', () => {
    vi.useFakeTimers({ now: new Date('2026-05-27T23:30:00Z'), toFake: ['Date'] });
    try {
      expect(render('{{moment "YYYY-MM-DD HH:mm"}}', {}, 'raw')).toBe('2026-05-27 23:30');
      expect(render('{{moment "2 days ago" "YYYY-MM-DD"}}', {}, 'raw')).toBe('2026-05-25');
      expect(render('{{moment "last week" "X"}}', {}, 'raw')).toMatch(/^\d{10}$/);
      expect(render('{{moment "today at 9:00" "YYYY-MM-DDTHH:mm"}}', {}, 'raw')).toBe('2026-05-27T09:00');
      expect(render('{{moment}}', {}, 'raw')).toBe('2026-05-27T23:30:00Z');
      expect(render('http://h/{{moment "HH:mm"}}', {}, 'url')).toBe('http://h/23%3A30');
      expect(() => render('{{moment "gibberish" "X"}}', {}, 'raw')).toThrow(/not a date or time/);
    } finally {
      vi.useRealTimers();
    }
  });
});
