import { execFileSync } from 'node:child_process';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { completionScript, shells } from './completion.ts';

function program(): Command {
  const all = new Command('picket');
  all.command('plan').description("what's new: all").argument('<folder>').option('--json', 'print JSON');
  const silence = all.command('silence').description('commands of silences');
  silence.command('add').description('begin one').option('--for <duration>', 'how long');
  silence.command('end').description('end one');
  return all;
}

/** The completions that bash offers for the last word. */
function offered(...words: readonly string[]): string[] {
  const script = `${completionScript(program(), 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _picket; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const printed = execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  return printed.split('\n').filter((word) => word !== '');
}

it('offers commands and options where they belong', () => {
  expect(offered('picket', '')).toEqual(['plan', 'silence', '--help']);
  expect(offered('picket', 'silence', 'e')).toEqual(['end']);
  expect(offered('picket', 'silence', 'add', '--')).toEqual(['--for', '--help']);
  expect(offered('picket', 'plan', 'folder', '--j')).toEqual(['--json']);
  expect(offered('picket', 'unknown', 'p')).toEqual(['plan']);
});

it('has a script for each shell, with what commands mean', () => {
  for (const shell of shells) expect(completionScript(program(), shell)).toContain('silence add');
  expect(completionScript(program(), 'zsh')).toContain(`'plan:what'\\''s new\\: all'`);
  expect(completionScript(program(), 'fish')).toContain(`-f -a plan -d 'what\\'s new: all'`);
});
