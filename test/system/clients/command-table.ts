/** A command of the command line, as docs/reference/clients.md lists it. */
interface ClientCommand {
  readonly command: string;
  readonly works: 'yes' | 'no';
  /** What a user should know of it. */
  readonly note: string;
  /** Whether command-line.test.ts runs it to a good end. */
  readonly isRunHere?: true;
}

const here = (command: string, note = ''): ClientCommand => ({
  command,
  works: 'yes',
  note,
  isRunHere: true,
});
const not = (command: string, note: string): ClientCommand => ({ command, works: 'no', note });

/** Every command that the command line lists, and the hidden one that checks a project. */
export const commandTable: readonly ClientCommand[] = [
  here('whoami'),
  here('validate'),
  here('checks list'),
  here('checks get', 'with `--result` and `--error-group`'),
  here('checks stats'),
  here('checks run', 'attached and with `--detach`'),
  here('checks delete'),
  here('env ls'),
  here('env add'),
  here('env update'),
  here('env pull'),
  here('env rm'),
  here('alert-channels list'),
  here('alert-channels get'),
  here('alert-channels logs'),
  here('status-pages list'),
  here('status-pages get'),
  here('incidents list'),
  here('incidents create'),
  here('incidents update'),
  here('incidents resolve'),
  here('test-sessions list'),
  here('test-sessions get'),
  here('assets list'),
  here('assets download'),
  here('members'),
  here('members update'),
  here('members delete'),
  here('account plan', 'everything is enabled; nothing is sold'),
  here('runtimes'),
  here('api'),
  here('debug parse-project', 'local'),
  here('debug parse-file', 'local'),
  here('help', 'local'),
  here('skills', 'local'),
  here('rules', 'local'),
  not('account usage terms', 'there are no contracts: it says so'),
  not('account usage summary', 'there are no contracts: it says so'),
  not('account usage series', 'there are no contracts: it says so'),
  not('rca run', 'there is no model provider: it says so'),
];

const names = commandTable.map(({ command }) => command);

/** The command of a list of arguments: the longest name that they begin with. */
export function commandOf(args: readonly string[]): string {
  const [longest] = [args.slice(0, 3), args.slice(0, 2), args.slice(0, 1)]
    .map((words) => words.join(' '))
    .filter((words) => names.includes(words));
  if (longest === undefined) throw new Error(`the table of commands has no ${args.join(' ')}`);
  return longest;
}
