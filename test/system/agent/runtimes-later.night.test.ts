import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

it('runtimes that are installed after an agent has started are offered without a restart', {
  timeout: 120_000,
}, async (context) => {
  const installed = await readRuntimes(runtimesDirectory);
  const [newer, older] = installed.ids.map((id) => installed.find(id));
  if (!newer || !older)
    return context.skip('two runtimes have to be installed: npm run runtimes:install all');
  const folder = temporaryFolder();
  const runtimes = join(folder.path, 'runtimes');
  /** A folder as in a checkout: its packages are not installed yet. */
  const place = ({ id, directory }: { readonly id: string; readonly directory: string }) => {
    mkdirSync(join(runtimes, id), { recursive: true });
    for (const name of ['package.json', 'package-lock.json'])
      cpSync(join(directory, name), join(runtimes, id, name));
  };
  const install = ({ id, modulesDirectory }: { readonly id: string; readonly modulesDirectory: string }) =>
    symlinkSync(modulesDirectory, join(runtimes, id, 'node_modules'));
  place(newer);
  place(older);
  const stage = await Stage.open();
  try {
    const agent = stage.startAgent({
      CHECK_TYPES: 'URL,MULTI_STEP',
      RUNTIMES_DIR: runtimes,
      SCRIPTS_DIR: folder.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
    });
    const offered = () =>
      stage.service.callsOf('claim').at(-1)?.body as { runtimes?: string[]; checkTypes: string[] };
    await agent.logged('check type is not available on this host', 60_000);
    install(older);
    await stage.service.waitFor(
      'an offer of the first',
      () => offered().runtimes?.includes(older.id),
      60_000,
    );
    expect(offered().checkTypes).toContain('MULTI_STEP');
    install(newer);
    await stage.service.waitFor('an offer of both', () => offered().runtimes?.includes(newer.id), 60_000);
    expect(offered().runtimes).toEqual([newer.id, older.id]);
  } finally {
    await stage[Symbol.asyncDispose]();
    folder.remove();
  }
});
