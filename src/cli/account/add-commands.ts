import type { Command } from 'commander';
import { asking, show } from '../api/show.ts';
import { apiCommands, parents } from './commands.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Adds `login` and `logout`, which store and remove the credentials of the other commands. */
export function addLoginCommands(program: Command, environment: Environment): void {
  program
    .command('login')
    .description(
      'prompt for the address of a service and an API key, verify them and store them for the other commands',
    )
    .option('--url <address>', 'the address, without a prompt')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      '\nWithout a terminal the key is the next line of standard input: picket login --url URL < FILE',
    )
    .action(async (options: { readonly url?: string; readonly json?: boolean }) =>
      (await import('../login/login.ts')).loginCommand(environment, options),
    );
  program
    .command('logout')
    .description('delete the key that "picket login" stored')
    .action(async () => (await import('../login/login.ts')).logoutCommand(environment));
}

/** Adds the commands that call a service. Each is loaded when it is called. */
export function addApiCommands(
  program: Command,
  { environment, help }: { readonly environment: Environment; readonly help: () => string },
): void {
  for (const command of apiCommands) {
    const [name = '', ...rest] = command.usage.split(' ');
    const [second] = rest;
    const isNested = second !== undefined && /^\w/.test(second);
    const parent = isNested
      ? (program.commands.find((one) => one.name() === name) ??
        program
          .command(name)
          .description(parents[name] ?? name)
          .helpGroup(command.group))
      : program;
    const added = parent.command(isNested ? second : name).description(command.description);
    if (!isNested) added.helpGroup(command.group);
    for (const argument of rest.filter((one) => !/^\w/.test(one))) added.argument(argument);
    for (const [flags, meaning] of command.options ?? []) added.option(flags, meaning);
    added.option('--json', 'print one JSON document').addHelpText('after', help);
    added.action(async (...all: unknown[]) => {
      const given = all
        .slice(0, added.registeredArguments.length)
        .flatMap((one) => (one === undefined ? [] : String(one)));
      const options = added.opts();
      show(await (await command.load())(await asking(environment), given, options), options['json'] === true);
    });
  }
}
