import type { Command } from 'commander';
import { ApiClient } from './client.ts';
import type { ApiCommand } from './command.ts';
import { apiCommands } from './commands.ts';
import { readApiSettings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const widthOfFiles = 80;

/** Adds the commands that ask a service. What one does is loaded when it is called. */
export function addApiCommands(
  program: Command,
  { environment, help }: { readonly environment: Environment; readonly help: string },
): void {
  for (const command of apiCommands) {
    const [name = '', ...rest] = command.usage.split(' ');
    const [second] = rest;
    const isNested = second !== undefined && !second.startsWith('<');
    const parent = isNested
      ? (program.commands.find((one) => one.name() === name) ??
        program.command(name).description(`commands of ${name}s`))
      : program;
    const added = parent.command(isNested ? second : name).description(command.description);
    for (const argument of rest.filter((one) => one.startsWith('<'))) added.argument(argument);
    for (const [flags, meaning] of command.options ?? []) added.option(flags, meaning);
    added.option('--json', 'print one JSON document').addHelpText('after', help);
    added.action(async (...all: unknown[]) => {
      const given = all.slice(0, added.registeredArguments.length).map(String);
      process.exitCode = await run(command, environment, given, added.opts());
    });
  }
}

async function run(
  command: ApiCommand,
  environment: Environment,
  given: readonly string[],
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>,
): Promise<number> {
  const api = new ApiClient(readApiSettings(environment));
  const { json, lines, exitCode = 0 } = await (await command.load())(api, given, options);
  if (options.json === true) console.log(JSON.stringify(json));
  else for (const line of lines(process.stdout.columns ?? widthOfFiles)) console.log(line);
  return exitCode;
}
