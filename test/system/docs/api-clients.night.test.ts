import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { startServiceProcess } from '../../helpers/picket-process.ts';
import { blocksOf } from './command-blocks.ts';
import { runInShell } from './shell.ts';

const blocks = blocksOf('docs/how-to/api-clients.md');
const commands = blocks.find(({ language }) => language === 'sh')?.text ?? '';
const program = blocks.find(({ language }) => language === 'ts')?.text ?? '';

it('the client of the docs is generated, type-checks, and works', {
  timeout: 180_000,
}, async () => {
  const key = 'test-key-of-the-first-account';
  const folder = mkdtempSync(join(tmpdir(), 'picket-api-client-'));
  await using service = await startServiceProcess();
  try {
    writeFileSync(join(folder, 'monitors.mts'), program);
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`;
    const run = (script: string) =>
      runInShell(script.replaceAll('https://picket.example.com', service.url), {
        cwd: folder,
        // The environment may contain settings for registries.
        environment: { ...process.env, PATH, KEY: key, NO_COLOR: '1' } as Record<string, string>,
      });
    const { code, output } = await run(commands);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^Home page has not run yet$/m);
    const checks = await service.api<{ name: string; request: object }[]>('GET', '/v1/checks');
    expect(checks).toMatchObject([{ name: 'Home page', request: { url: 'https://example.com/' } }]);
    // An unknown field is an error before any request is sent.
    const [, check = ''] = /^(npx tsc .*)$/m.exec(commands) ?? [];
    writeFileSync(join(folder, 'monitors.mts'), program.replace('name: ', 'nam: '));
    expect((await run(check)).output).toContain("'nam' does not exist");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
