import type { Command } from 'commander';
import type { InstallOptions } from './install-command.ts';

const installHelp = `
Examples:
  picket browsers install firefox webkit --with-deps
  picket browsers install firefox --from https://mirror.example.com/playwright
  picket browsers install webkit --from /media/usb --for ./shop-e2e

The folder is BROWSERS_DIR, by default "browsers" below RUNTIMES_DIR. A folder given with --from has archives as a
mirror has them, or archives alone, or is the folder of browsers of another machine.

Exit code: 0 all of them are installed, 1 one is not, 2 the arguments are wrong.`;

/** `picket browsers`: browsers besides Chromium for the scripts and suites of this agent. */
export function addBrowserCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const browsers = program
    .command('browsers')
    .description('Firefox and WebKit for the scripts and suites of this agent');
  browsers
    .command('install')
    .description('install builds of Playwright, from its servers, a mirror or a folder')
    .argument('<names...>', 'firefox, webkit')
    .option('--from <folder|url>', "a mirror of Playwright's archives, or a folder with them")
    .option('--for <folder>', 'a project, whose Playwright decides the builds; by default the runtimes do')
    .option('--with-deps', 'also install the libraries that they need, with apt')
    .addHelpText('after', installHelp)
    .action(async (names: string[], options: InstallOptions) => {
      const { installBrowsersCommand } = await import('./install-command.ts');
      process.exitCode = await installBrowsersCommand(names, options, environment);
    });
  browsers
    .command('list')
    .description('list the browsers besides Chromium that can be opened here')
    .option('--json', 'print one JSON array')
    .action(async (options: { json?: boolean }) => {
      const { listBrowsersCommand } = await import('./install-command.ts');
      await listBrowsersCommand(options, environment);
    });
}
