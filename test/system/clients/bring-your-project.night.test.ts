import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openClientStage } from '../../helpers/clients/client-stage.ts';
import { installedClients } from '../../helpers/clients/installed-clients.ts';
import { createCheck } from '../../helpers/service/service.ts';
import { blocksOf } from '../docs/command-blocks.ts';
import { runInShell } from '../docs/shell.ts';
import { commandTable } from './command-table.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/clients.md'), 'utf8');

it('the commands of the guide work in a project', { timeout: 300_000 }, async () => {
  const blocks = blocksOf('docs/how-to/bring-your-project.md');
  const script = blocks.map(({ text }) => text).join('\n');
  await using stage = await openClientStage();
  await createCheck(stage.harness, { name: 'Home page' });
  const { code, output } = await runInShell(
    `set -e\n${script.replaceAll('https://picket.example.com', stage.url).replaceAll('wss://picket.example.com', stage.url.replace('http', 'ws'))}`,
    {
      cwd: stage.projectFolder,
      environment: {
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
        HOME: stage.projectFolder,
        CI: 'true',
        CHECKLY_SKIP_NEW_VERSION_CHECK: 'true',
        KEY: stage.harness.key,
        ACCOUNT: stage.harness.accountId,
      },
    },
  );
  expect(code, output).toBe(0);
  expect(output).toContain('You are currently on account "Test"');
  expect(output).toContain('Your project is valid.');
  expect(output).toContain('Home page');
});

it('the reference has an equal row for each command of the table', () => {
  const section = page.slice(page.indexOf('## The command line'), page.indexOf('## Its constructs'));
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (\w+) \|(.*)\|$/gm)];
  expect(rows.map(([, command, works, note = '']) => ({ command, works, note: note.trim() }))).toEqual(
    commandTable.map(({ command, works, note }) => ({ command, works, note })),
  );
});

it('the table has every command of the package, including hidden ones', async () => {
  const manifest = join(await installedClients(), 'checkly/oclif.manifest.json');
  const { commands } = JSON.parse(readFileSync(manifest, 'utf8')) as { commands: Record<string, object> };
  // Two entries are base classes of commands; they do nothing.
  const listed = Object.keys(commands).filter((id) => !['authCommand', 'baseCommand'].includes(id));
  expect(commandTable.map(({ command }) => command).sort()).toEqual(
    listed.map((id) => id.replaceAll(':', ' ')).sort(),
  );
  expect(commandTable.filter(({ works }) => works === 'yes').length).toBeGreaterThanOrEqual(45);
});
