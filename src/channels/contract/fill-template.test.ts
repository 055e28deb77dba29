import { TemplateError } from '@picket/checks/judging/templating.ts';
import { describe, expect, it } from 'vitest';
import { fillTemplate } from './fill-template.ts';

const variables = {
  NAME: 'a "b"\n/c',
  N: 7,
  TAGS: ['team:core', 'eu'],
  URL: 'https://x.test/?a=b',
  NONE: null,
};

describe('a template of a webhook', () => {
  it.each<[string, 'json' | 'url' | 'raw', string]>([
    ['{"n":"{{NAME}}","r":{{N}}}', 'json', '{"n":"a \\"b\\"\\n/c","r":7}'],
    ['{{{NAME}}}', 'json', 'a "b"\n/c'],
    ['{{NAME}}', 'raw', 'a "b"\n/c'],
    ['http://x.test/{{NAME}}', 'url', 'http://x.test/a%20%22b%22%0A%2Fc'],
    ['{{URL}}&n={{N}}', 'url', 'https://x.test/?a=b&n=7'],
    ['[{{NONE}}{{UNKNOWN}}]', 'json', '[]'],
    ['{{#if (gt N 5)}}big{{else}}small{{/if}}', 'raw', 'big'],
    ['{{#eq N "7"}}seven{{/eq}}{{#ne N 7}}other{{/ne}}', 'raw', 'seven'],
    ['{{#if (and (lte N 7) (not (lt N 7)))}}is{{/if}}', 'raw', 'is'],
    ['{{tagValue "team"}}|{{tagValue "x"}}', 'raw', 'core|'],
    ['{{replace NAME "b" "$&"}}', 'raw', 'a "$&"\n/c'],
    ['{{#each (split "a-b" "-")}}{{this}};{{/each}}', 'raw', 'a;b;'],
    ['{{#if (startsWith URL "https")}}safe{{/if}}', 'raw', 'safe'],
    ['{{date "2026-03-04T05:06:07Z" "DD.MM.YYYY HH:mm"}}', 'raw', '04.03.2026 05:06'],
    ['{{constructor}}{{__proto__}}{{#with TAGS}}{{constructor.name}}{{/with}}', 'raw', ''],
  ])('%s in a %s is %s', (template, place, filled) => {
    expect(fillTemplate(template, variables, place)).toBe(filled);
  });

  const list = '(split "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" "")';
  const grown = Array.from({ length: 40 }).reduce<string>((inner) => `($json ${inner})`, 'NAME');
  it.each([
    ['{{#if}}'],
    ['{{> x}}'],
    ['{{#*inline "x"}}{{> x}}{{/inline}}{{~> x}}'],
    [`{{#each ${list}}}{{#each ${list}}}x{{/each}}{{/each}}`],
    [`{{replace (replace (split "a" "x") "a" "${'a'.repeat(5_000)}") "a" "${'a'.repeat(5_000)}"}}`],
    [`{{#if ${grown}}}x{{/if}}`],
    ['{{unknown N}}'],
  ])('is refused before it can do harm: %#', (template) => {
    expect(() => fillTemplate(template, variables, 'raw')).toThrow(TemplateError);
  });
});
