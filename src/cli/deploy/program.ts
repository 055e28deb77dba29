import type { Command } from 'commander';
import { asking, show } from '../api/show.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface ExportOptions {
  readonly project?: string;
  readonly json?: boolean;
}

/** Adds the commands for accounts as files: configuration in version control. */
export function addProjectCommands(
  program: Command,
  { environment, help }: { readonly environment: Environment; readonly help: string },
): void {
  program
    .command('export')
    .description('write everything of the account into a folder of YAML files, without secrets')
    .argument('<folder>', 'a new or empty folder')
    .option(
      '--project <name>',
      'by which deployments know these files; from the name of the account when absent',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action(async (folder: string, options: ExportOptions) => {
      const { exportCommand } = await import('./export-command.ts');
      show(await exportCommand(await asking(environment), folder, options), options.json === true);
    });
}
