import { expect, it } from 'vitest';
import { openHosts } from './open-hosts.ts';

it('finds hosts that come from variables whose values others set', () => {
  const of = (request: object) =>
    openHosts({ request }, ['HOST', 'TOKEN']).map(({ field, variable }) => `${field} ${variable}`);
  expect(of({ url: 'https://{{HOST}}/a' })).toEqual(['request.url HOST']);
  expect(of({ url: '{{ HOST }}/a' })).toEqual(['request.url HOST']);
  expect(of({ url: 'https://shop.{{HOST}}:8443/' })).toEqual(['request.url HOST']);
  expect(of({ url: 'https://shop.test/{{TOKEN}}?a={{HOST}}' })).toEqual([]);
  expect(of({ url: 'https://{{PLACE}}.test/' })).toEqual([]);
  expect(of({ url: 'https://{{#if TOKEN}}a{{else}}b{{/if}}.test/' })).toEqual(['request.url TOKEN']);
  expect(of({ hostname: '{{HOST}}', port: 1, nameServer: '{{TOKEN}}' })).toEqual([
    'request.hostname HOST',
    'request.nameServer TOKEN',
  ]);
  expect(openHosts({ script: '{{HOST}}' }, ['HOST'])).toEqual([]);
});
