import { expect, it } from 'vitest';
import { variablePattern } from './used-by.ts';

it('finds a variable in templates and in scripts, and no other one with the same prefix', () => {
  const pattern = variablePattern('API.KEY');
  for (const text of [
    '{"url":"https://x/{{API.KEY}}"}',
    '{{{ API.KEY }}}',
    JSON.stringify({ script: "fetch(process.env['API.KEY'])" }),
    JSON.stringify({ script: 'fetch(process.env["API.KEY"])' }),
    'process.env.API.KEY',
  ]) {
    expect(pattern.test(text), text).toBe(true);
  }
  for (const text of ['{{API_KEY}}', '{{APIxKEY}}', '{{API.KEYS}}', 'API.KEY', '{{X_API.KEY}}']) {
    expect(pattern.test(text), text).toBe(false);
  }
});
