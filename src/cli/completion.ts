import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** Words that can follow a command, and the path that leads to it. */
interface Place {
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly meaning: string }[];
  readonly children: readonly string[];
}

/**
 * Returns a script with which a shell completes the commands and options of the program; the shell itself completes
 * files and values.
 */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, '');
  return { bash, zsh, fish }[shell](program.name(), places);
}

/** Adds `completion`, which prints such a script. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script for shell completion of commands and options')
    .addArgument(program.createArgument('<shell>', 'name of the shell').choices([...shells]))
    .addHelpText(
      'after',
      '\nbash: picket completion bash > ~/.local/share/bash-completion/completions/picket\nzsh:  picket completion zsh > ~/.zfunc/_picket, with fpath+=~/.zfunc before compinit\nfish: picket completion fish > ~/.config/fish/completions/picket.fish',
    )
    .action((shell: Shell) => console.log(completionScript(program, shell).trimEnd()));
}

function placesOf(command: Command, path: string): Place[] {
  const { commands, options } = command;
  const words = [
    ...commands.map((one) => ({ word: one.name(), meaning: one.description() })),
    ...options.flatMap(({ long, description }) => (long ? [{ word: long, meaning: description }] : [])),
    { word: '--help', meaning: 'show help' },
  ];
  const children = commands.map((one) => one.name());
  return [
    { path, words, children },
    ...commands.flatMap((one) => placesOf(one, path === '' ? one.name() : `${path} ${one.name()}`)),
  ];
}

/** Lines of shell code that walk from the typed words to their command; the variable `place` holds its path. */
function steps(
  places: readonly Place[],
  step: (path: string, child: string, next: string) => string,
): string[] {
  return places.flatMap(({ path, children }) =>
    children.map((child) => step(path, child, path === '' ? child : `${path} ${child}`)),
  );
}

function bash(name: string, places: readonly Place[]): string {
  return `_${name}() {
  local place='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place|\${COMP_WORDS[i]}" in
${steps(places, (path, child, next) => `      '${path}|${child}') place='${next}' ;;`).join('\n')}
    esac
  done
  case "$place" in
${places.map(({ path, words }) => `    '${path}') words='${words.map(({ word }) => word).join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`;
}

function zsh(name: string, places: readonly Place[]): string {
  const escaped = (text: string) => text.replaceAll(/[\\:]/g, '\\$&').replaceAll("'", `'\\''`);
  return `#compdef ${name}
_${name}() {
  local place='' i
  local -a words_here
  for ((i = 2; i < CURRENT; i++)); do
    case "$place|\${words[i]}" in
${steps(places, (path, child, next) => `      '${path}|${child}') place='${next}' ;;`).join('\n')}
    esac
  done
  case "$place" in
${places
  .map(({ path, words }) => {
    const list = words.map(({ word, meaning }) => `'${word}:${escaped(meaning)}'`).join(' ');
    return `    '${path}') words_here=(${list}) ;;`;
  })
  .join('\n')}
  esac
  _describe '${name}' words_here || _files
}
_${name} "$@"
`;
}

function fish(name: string, places: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
  return `function __${name}_place
  set -l place ''
  for word in (commandline -opc)[2..-1]
    switch "$place|$word"
${steps(places, (path, child, next) => `      case ${quoted(`${path}|${child}`)}\n        set place ${quoted(next)}`).join('\n')}
    end
  end
  echo $place
end
${places
  .flatMap(({ path, words }) =>
    words.map(({ word, meaning }) => {
      const at = `-n ${quoted(`test "$(__${name}_place)" = "${path}"`)}`;
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c ${name} ${at} ${what} -d ${quoted(meaning)}`;
    }),
  )
  .join('\n')}
`;
}
