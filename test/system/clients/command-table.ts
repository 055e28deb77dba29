/** The test files next to this one that run commands. */
type TestFile = 'command-line.test.ts' | 'deploy.test.ts' | 'test-sessions.test.ts';

/** A command of the command line, as docs/reference/clients.md lists it. */
interface ClientCommand {
  readonly command: string;
  readonly works: 'yes' | 'no';
  /** A note for users. */
  readonly note: string;
  /**
   * The test file that runs it: successfully if it works, up to a clear message if not. Each file proves that it ran
   * all of its commands.
   */
  readonly runIn: TestFile;
}

/** Commands that work, with notes. */
const works = (runIn: TestFile, notes: Readonly<Record<string, string>>): ClientCommand[] =>
  Object.entries(notes).map(([command, note]) => ({ command, works: 'yes', note, runIn }));

/** Commands that end with a message. */
const refuses = (notes: Readonly<Record<string, string>>): ClientCommand[] =>
  Object.entries(notes).map(([command, note]) => {
    return { command, works: 'no', note, runIn: 'command-line.test.ts' };
  });

const isLocal = 'needs no service';
const hasNoContracts = 'there are no contracts: it says so';

/** Every command of the command line, including hidden ones. */
export const commandTable: readonly ClientCommand[] = [
  ...works('deploy.test.ts', {
    deploy:
      'with `--preview` and `--preserve-resources`; a preview without changes says that no checks were detected',
    destroy: '',
    'import plan': '',
    'import apply': '',
    'import commit': '',
    'import cancel': '',
  }),
  ...works('test-sessions.test.ts', {
    test: 'attached and with `--detach`; `--update-snapshots` too',
    trigger: 'attached and with `--detach`',
    'pw-test': 'attached and with `--detach`; lines of the log come when a run ends',
  }),
  ...works('command-line.test.ts', {
    validate: '',
    whoami: '',
    switch: 'with `--account-id`, or at a terminal, where it asks',
    logout: isLocal,
    'checks list': '',
    'checks get': 'with `--result` and `--error-group`',
    'checks stats': '',
    'checks run': 'attached and with `--detach`',
    'checks delete': '',
    'env ls': '',
    'env add': '',
    'env update': '',
    'env pull': '',
    'env rm': '',
    'alert-channels list': '',
    'alert-channels get': '',
    'alert-channels logs': '',
    'status-pages list': '',
    'status-pages get': '',
    'incidents list': '',
    'incidents create': '',
    'incidents update': '',
    'incidents resolve': '',
    'rca run': 'with `--watch`, `--user-context` and `--test-session-error-group`',
    'rca get': '',
    'test-sessions list': '',
    'test-sessions get': '',
    'assets list': '',
    'assets download': '',
    members: '',
    'members update': '',
    'members delete': '',
    'account plan': 'everything is enabled; nothing is sold',
    runtimes: '',
    api: '',
    init: isLocal,
    'sync-playwright': isLocal,
    'skills install': isLocal,
    skills: isLocal,
    rules: isLocal,
    help: isLocal,
    'debug parse-project': isLocal,
    'debug parse-file': isLocal,
    'debug parse-playwright-config': isLocal,
  }),
  ...refuses({
    login: 'it opens a page of its vendor: set `CHECKLY_API_KEY` and `CHECKLY_ACCOUNT_ID`, as it says itself',
    'account usage terms': hasNoContracts,
    'account usage summary': hasNoContracts,
    'account usage series': hasNoContracts,
  }),
];

const names = commandTable.map(({ command }) => command);

/** The command in a list of arguments: the longest name that matches their beginning. */
export function commandOf(args: readonly string[]): string {
  const [longest] = [args.slice(0, 3), args.slice(0, 2), args.slice(0, 1)]
    .map((words) => words.join(' '))
    .filter((words) => names.includes(words));
  if (longest === undefined) throw new Error(`the table of commands has no ${args.join(' ')}`);
  return longest;
}

/** The commands that a test file must run. */
export function commandsRunIn(file: TestFile): string[] {
  return commandTable
    .filter(({ runIn }) => runIn === file)
    .map(({ command }) => command)
    .sort();
}
