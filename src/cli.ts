#!/usr/bin/env node
import { addApiCommands, addLoginCommands } from '@picket/cli/account/add-commands.ts';
import { ApiError } from '@picket/cli/api/api-error.ts';
import { addBrowserCommands } from '@picket/cli/browsers/program.ts';
import { addCompletionCommand } from '@picket/cli/completion.ts';
import { addImportCommands, addProjectCommands, addTestCommand } from '@picket/cli/deploy/program.ts';
import type { DoctorOptions } from '@picket/cli/doctor-command.ts';
import { addMcpCommand } from '@picket/cli/mcp/program.ts';
import { addPeopleCommands } from '@picket/cli/people-program.ts';
import type { RunOptions } from '@picket/cli/run/run-command.ts';
import { addKeysCommands } from '@picket/cli/signing/program.ts';
import type { Reader, variableHelp } from '@picket/cli/variable-help.ts';
import { AppError } from '@picket/lib/errors.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
/**
 * `picket`: argument parsing only. A command is loaded when it is called, so that the agent never loads the service's
 * code and vice versa.
 */
import { Command, CommanderError, Option } from 'commander';

const examples = `
Examples:
  picket run check.yaml          run a check on this machine
  picket login                   store the address and key of a service
  picket status                  which checks need attention
  picket why "Home page"         why a check fails, and what to do next
  picket trigger "Home page"     run a check now, at its locations
  picket deploy ./monitoring     create and change resources from files`;

/** Exit codes besides 0: a run that did not pass (or an internal error) is 1, bad input is 2. */
const exitCodes = { failure: 1, badInput: 2 } as const;

// The host's resolver uses libuv's threads; with the default of four, a few names that do not resolve would block all
// other lookups. libuv reads this when the first thread starts, which is after this line.
process.env.UV_THREADPOOL_SIZE ??= '64';

const helpWords = ['help', '--help', '-h'];
let listVariables: typeof variableHelp | undefined;
const variablesOf = (reader: Reader) => listVariables?.(reader) ?? '';

const program = new Command('picket')
  .description('Synthetic monitoring that runs inside your own network.')
  .version(packageVersion())
  .exitOverride()
  .showHelpAfterError('(add --help for help)')
  .addHelpText('after', examples);

program.commandsGroup('Processes:');
program
  .command('agent')
  .description('run the private-location agent: poll the service, run due checks, report results')
  .addHelpText('after', () => variablesOf('agent'))
  .action(async () => {
    const { startAgent } = await import('@picket/agent/start.ts');
    await startAgent(process.env);
  });

const service = program
  .command('service')
  .description('run the service: the API, the scheduler and the run ledger')
  .addHelpText('after', () => variablesOf('service'))
  .action(async () => {
    const { runService } = await import('@picket/server/main.ts');
    await runService(process.env);
  });

service
  .command('add-account')
  .description('create an account and print its id and first API key; safe while the service runs')
  .argument('<name>', 'name of the account')
  .option('--json', 'print one JSON object')
  .action(async (name: string, options: { json?: boolean }) => {
    const { addAccountCommand } = await import('@picket/cli/account-commands.ts');
    await addAccountCommand(process.env, name, options);
  });

service
  .command('list-accounts')
  .description('list the accounts: ids, names, and how many API keys each has')
  .option('--json', 'print one JSON array')
  .action(async (options: { json?: boolean }) => {
    const { listAccountsCommand } = await import('@picket/cli/account-commands.ts');
    await listAccountsCommand(process.env, options);
  });

service
  .command('add-key')
  .description('create an API key for an account and print it; safe while the service runs')
  .requiredOption('--account <id>', 'id of the account')
  .addOption(
    new Option('--role <role>', 'role of the key')
      .choices(['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] satisfies KeyRole[])
      .default('READ_WRITE'),
  )
  .option('--name <name>', 'description of the key', 'added at the command line')
  .option('--json', 'print one JSON object')
  .action(async (options: { account: string; role: KeyRole; name: string; json?: boolean }) => {
    const { addKeyCommand } = await import('@picket/cli/account-commands.ts');
    await addKeyCommand(process.env, options);
  });

service
  .command('list-keys')
  .description('list the API keys of an account: ids, names and roles, and the last characters of each')
  .requiredOption('--account <id>', 'id of the account')
  .option('--json', 'print one JSON array')
  .action(async (options: { account: string; json?: boolean }) => {
    const { listKeysCommand } = await import('@picket/cli/account-commands.ts');
    await listKeysCommand(process.env, options);
  });

service
  .command('delete-key')
  .description('delete an API key, so that requests with it are refused; safe while the service runs')
  .argument('<id>', 'id of the key, as list-keys prints it')
  .option('--json', 'print one JSON object')
  .action(async (id: string, options: { json?: boolean }) => {
    const { deleteKeyCommand } = await import('@picket/cli/account-commands.ts');
    await deleteKeyCommand(process.env, id, options);
  });

addPeopleCommands(service, process.env);

service
  .command('backup')
  .description('back up the database, and artifacts in a folder; safe while the service runs')
  .argument('<folder>', 'a new folder')
  .option('--no-artifacts', 'without artifacts')
  .action(async (folder: string, options: { artifacts: boolean }) => {
    const { backupCommand } = await import('@picket/cli/backup-commands.ts');
    await backupCommand(process.env, folder, options);
  });

service
  .command('restore')
  .description('restore a backup to DATA_DIR or DATABASE_URL; stop the service first')
  .argument('<folder>', 'the folder of the backup')
  .option('--replace', 'move an existing database aside (PostgreSQL: replace its tables)')
  .action(async (folder: string, options: { replace?: boolean }) => {
    const { restoreCommand } = await import('@picket/cli/backup-commands.ts');
    await restoreCommand(process.env, folder, options);
  });

program.commandsGroup('Checks:');
program
  .command('run')
  .description('run the checks of a YAML or JSON file now, on this machine')
  .argument('<file>', 'the checks, in the fields of the API or in short forms')
  .option('--json', 'print the result as JSON')
  .option('--env <NAME=VALUE>', 'a variable for the {{templates}} of the check; may be repeated', collect, [])
  .option('--proxy <url>', "proxy for the check's requests")
  .option('--artifacts <folder>', 'folder for the files of the run (captures, traces, screenshots)')
  .addHelpText(
    'after',
    '\nExit code: 0 the check passed or is degraded, 1 it failed or could not be run, 2 the file or an option is wrong.',
  )
  .action(async (file: string, options: RunOptions) => {
    const { runCommand } = await import('@picket/cli/run/run-command.ts');
    process.exitCode = await runCommand(file, options, process.env);
  });

program
  .command('job')
  .description('run a command as the job of a heartbeat monitor: report its start, exit code and output')
  .argument('<command...>', 'the command and its arguments, after --')
  .option('--url <url>', "the monitor's ping URL; default: the variable PING_URL")
  .option('--no-output', 'do not send the end of its output')
  .addHelpText(
    'after',
    '\nExit code: that of the command, whatever becomes of the pings; 127 if it cannot be started.',
  )
  .action(async (command: string[], options: { url?: string; output: boolean }) => {
    const { jobCommand } = await import('@picket/cli/job/job-command.ts');
    process.exitCode = await jobCommand(command, { ...options, env: process.env });
  });

program.commandsGroup('Processes:');
program
  .command('doctor')
  .description("diagnose the agent's environment and suggest fixes")
  .option('--json', 'print one JSON object')
  .addHelpText(
    'after',
    '\nIt reads the variables of "picket agent". Exit code: 0 no problems, perhaps warnings; 1 problems were found; 2 an option is wrong; 130 it was interrupted.',
  )
  .action(async (options: DoctorOptions) => {
    const { doctorCommand } = await import('@picket/cli/doctor-command.ts');
    process.exitCode = await doctorCommand(options, process.env);
  });

addBrowserCommands(program, process.env);

program.commandsGroup('Connection:');
addLoginCommands(program, process.env);
const apiVariables = () => variablesOf('api');
const apiHelp = () =>
  `${apiVariables()}\n\nExit code: 0 done, 1 the service rejected the request or did not respond, 2 the arguments are wrong.`;
addApiCommands(program, { environment: process.env, help: apiHelp });
program.commandsGroup('Configuration as code:');
addProjectCommands(program, { environment: process.env, variables: apiVariables, help: apiHelp });
addTestCommand(program, process.env, apiHelp);
addImportCommands(program, process.env);
addKeysCommands(program);
program.commandsGroup('Connection:');
addMcpCommand(program, process.env, apiVariables);
addCompletionCommand(program);

void main();

/** Not a top-level await: images run this file as a script. */
async function main(): Promise<void> {
  try {
    if (process.argv.some((word) => helpWords.includes(word)))
      listVariables = (await import('@picket/cli/variable-help.ts')).variableHelp;
    await program.parseAsync();
  } catch (thrown) {
    process.exitCode = report(thrown);
  }
}

/** Collects the values of an option that may be repeated. */
function collect(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}

/** Prints an error for the person at the terminal and returns its exit code. */
function report(thrown: unknown): number {
  // Commander has printed its own message; help and version "errors" have exit code 0.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : exitCodes.badInput;
  if (thrown instanceof AppError) {
    console.error(`picket: ${thrown.message}`);
    return thrown.code === 'CONFIG_INVALID' || thrown.code === 'CHECK_FILE_INVALID'
      ? exitCodes.badInput
      : exitCodes.failure;
  }
  if (thrown instanceof ApiError) {
    console.error(`picket: ${thrown.message}`);
    return thrown.isBadInput ? exitCodes.badInput : exitCodes.failure;
  }
  console.error(thrown);
  return exitCodes.failure;
}
