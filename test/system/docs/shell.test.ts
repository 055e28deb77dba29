import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const shell = join(import.meta.dirname, 'shell.ts');

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw thrown;
  }
}

it('leaves no command of the documents behind when the tests are killed', async () => {
  const tests = `import { startInShell } from ${JSON.stringify(shell)};
    const command = startInShell('sleep 600 & echo $!; wait', { cwd: '/', environment: process.env });
    await command.until((output) => /^\\d+\\n/.test(output));
    console.log(command.output());`;
  const runner = spawn(process.execPath, ['--input-type=module', '-e', tests], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(runner.stdout, 'data')) as [Buffer];
  const pid = Number(output.toString());
  expect(isThere(pid)).toBe(true);
  runner.kill('SIGKILL');
  await expect.poll(() => isThere(pid)).toBe(false);
});
