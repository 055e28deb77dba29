import type { Command } from 'commander';
import { show } from '../api/show.ts';
import type { KeyOptions } from './key-file.ts';

interface Options extends KeyOptions {
  readonly json?: boolean;
}

const until = [
  '--until <day>',
  'last day on which agents accept its signatures, such as 2027-12-31',
] as const;
const json = ['--json', 'print one JSON document'] as const;

/** Adds `keys`: keys that sign checks. */
export function addKeysCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('make keys that sign checks, for agents with TRUSTED_KEYS');
  keys
    .command('new')
    .description('make a private key, and print its public key')
    .argument('<file>', 'a new file for the private key')
    .option(...until)
    .option(...json)
    .action(async (file: string, options: Options) => {
      const { newKeyCommand } = await import('./key-file.ts');
      show(await newKeyCommand(file, options), options.json === true);
    });
  keys
    .command('show')
    .description('print the public key of a private key')
    .argument('<file>', 'the file of the private key')
    .option(...until)
    .option(...json)
    .action(async (file: string, options: Options) => {
      const { showKeyCommand } = await import('./key-file.ts');
      show(await showKeyCommand(file, options), options.json === true);
    });
}
