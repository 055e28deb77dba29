import type { Command } from 'commander';
import { asking, show } from '../api/show.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Options {
  readonly project?: string;
  readonly location?: string;
  readonly adopt?: boolean;
  readonly keep?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly sign?: string;
  readonly validDays?: string;
}

const json = ['--json', 'print one JSON document'] as const;
const keep = ['--keep', 'keep resources that are no longer in the files, without the project'] as const;
const sign = [
  '--sign <keyfile>',
  'sign the checks with this private key, for agents with TRUSTED_KEYS',
] as const;
const validDays = [
  '--valid-days <n>',
  'days for which the signatures are valid; default: as long as the key',
] as const;
const planCodes =
  '\n\nExit code: 0 nothing would change, 1 the service refused or did not answer, 2 the files or an option are wrong, 3 something would change.';
const values =
  '\n\nValues that files read with "!env NAME" come from the environment, and from .env of the folder.';

/** Adds the commands that keep an account in files: configuration in version control. */
export function addProjectCommands(
  program: Command,
  {
    environment,
    variables,
    help,
  }: { readonly environment: Environment; readonly variables: () => string; readonly help: () => string },
): void {
  program
    .command('export')
    .description('export the account into a folder of YAML files, without secrets')
    .argument('<folder>', 'a new or empty folder')
    .option('--project <name>', 'name of the project; default: from the name of the account')
    .option('--adopt', 'manage the account with these files from now on: its resources become the project')
    .option(...json)
    .addHelpText('after', help)
    .action(async (folder: string, options: Options) => {
      const { exportCommand } = await import('./export-command.ts');
      show(await exportCommand(await asking(environment), folder, options), options.json === true);
    });

  program
    .command('plan')
    .description('show the changes that a deployment of a folder would make')
    .argument('<folder>', 'a folder with picket.yaml')
    .option(...keep)
    .option(...sign)
    .option(...validDays)
    .option(...json)
    .addHelpText('after', () => `${values}${variables()}${planCodes}`)
    .action(async (folder: string, options: Options) => {
      const { planCommand } = await import('./deploy-command.ts');
      show(await planCommand(await asking(environment), folder, options, environment), options.json === true);
    });

  program
    .command('deploy')
    .description('deploy a folder to the account: all changes or none')
    .argument('<folder>', 'a folder with picket.yaml')
    .option(...keep)
    .option(...sign)
    .option(...validDays)
    .option('--yes', 'delete resources that are no longer in the files, without a prompt')
    .option(...json)
    .addHelpText('after', () => `${values}${help()}`)
    .action(async (folder: string, options: Options) => {
      const { deployCommand } = await import('./deploy-command.ts');
      show(
        await deployCommand(await asking(environment), folder, options, environment),
        options.json === true,
      );
    });
}

/** Adds `test`, which runs files without deploying them. */
export function addTestCommand(program: Command, environment: Environment, help: () => string): void {
  program
    .command('test')
    .description('run the checks of a file or folder at agents, without deploying them')
    .argument('<path>', 'one check, as for "picket run", or a folder with picket.yaml')
    .requiredOption('--location <slug>', 'the private location that runs them')
    .option(...sign)
    .option(...json)
    .addHelpText('after', () => `${values}${help()}`)
    .action(async (path: string, options: Options & { readonly location: string }) => {
      const { testCommand } = await import('./test-command.ts');
      show(await testCommand(await asking(environment), path, options, environment), options.json === true);
    });
}

/** Adds the commands that convert the configuration of other programs to a folder of files. */
export function addImportCommands(program: Command, environment: Environment): void {
  const imports = program
    .command('import')
    .description(
      'convert the configuration of another program to a folder of YAML files, and list everything that is lost',
    );
  const from = (name: string, description: string, files: readonly (readonly [string, string])[]) => {
    const command = imports.command(name).description(description);
    for (const [argument, meaning] of files) command.argument(argument, meaning);
    return command
      .argument('<folder>', 'a new or empty folder')
      .option('--location <slug>', 'an existing private location; default: the folder defines one')
      .option('--project <name>', 'name of the project')
      .option(...json);
  };

  from('kuma', 'from Uptime Kuma', [['<file>', 'its database (kuma.db), or the JSON of a backup']]).action(
    async (file: string, folder: string, options: Options) => {
      const { importKumaCommand } = await import('@picket/importers/import-command.ts');
      show(await importKumaCommand(file, folder, options), options.json === true);
    },
  );
  from('gatus', 'from Gatus', [['<file>', 'its configuration']]).action(
    async (file: string, folder: string, options: Options) => {
      const { importGatusCommand } = await import('@picket/importers/import-command.ts');
      show(await importGatusCommand(file, folder, options, environment), options.json === true);
    },
  );
  from('blackbox', 'from the blackbox exporter of Prometheus', [
    ['<modules>', 'its configuration (blackbox.yml)'],
    ['<targets>', 'the configuration of Prometheus, or a file of its file-based discovery'],
  ]).action(async (modules: string, targets: string, folder: string, options: Options) => {
    const { importBlackboxCommand } = await import('@picket/importers/import-command.ts');
    show(await importBlackboxCommand(modules, targets, folder, options), options.json === true);
  });

  from('account', 'from an account of a service with the same API', [])
    .requiredOption('--url <address>', 'address of its API')
    .option('--account <id>', 'id of the account, for keys that open several')
    .addHelpText(
      'after',
      '\nIMPORT_API_KEY contains an API key of that account; a read-only key is sufficient.',
    )
    .action(
      async (folder: string, options: Options & { readonly url: string; readonly account?: string }) => {
        const { importAccountFrom } = await import('@picket/importers/import-account.ts');
        show(await importAccountFrom(folder, options, environment), options.json === true);
      },
    );
}
