import type { Fields } from '@picket/protocol/projects/kind.ts';
import { javaScriptPattern } from '../go-formats.ts';
import type { Source } from '../source.ts';

const mostSteps = 50;

/** Converts the `query_response` of a `tcp` prober to the steps of a TCP monitor. */
export function readDialogue(tcp: Source, isTls: boolean): readonly Fields[] {
  const steps = tcp.children('query_response').flatMap((part, index) => {
    const expected = expectation(part, index);
    return [
      ...expected.steps,
      ...bytesExpected(part),
      ...sent(part, expected.names),
      ...upgrade(part, isTls),
    ];
  });
  if (steps.length > mostSteps) tcp.note('query_response', `a dialogue has ${mostSteps} steps at most`);
  return steps.slice(0, mostSteps);
}

/**
 * The pattern that a line must match, and the names under which its groups can be sent; without names, text is not
 * expanded.
 */
function expectation(
  part: Source,
  index: number,
): { readonly steps: readonly Fields[]; readonly names?: readonly string[] } {
  const written = part.text('expect');
  if (written === undefined) return { steps: [] };
  const regex = javaScriptPattern(written);
  if (regex === undefined) {
    part.note(
      'expect',
      'the regular expression uses syntax that JavaScript does not support: any line matches',
    );
    return { steps: [{ type: 'EXPECT' }], names: [] };
  }
  const named = withNames(regex, `step${index}_`);
  const isUsed = String(part.peek('send') ?? '').includes('$');
  return { steps: [{ type: 'EXPECT', regex: isUsed ? named.regex : regex }], names: named.names };
}

function bytesExpected(part: Source): readonly Fields[] {
  const text = part.text('expect_bytes');
  if (text === undefined) return [];
  part.note('expect_bytes', 'dialogues are read line by line: a line must contain it');
  return [{ type: 'EXPECT', text }];
}

/** The exporter ends every line with a line feed. */
function sent(part: Source, names: readonly string[] | undefined): readonly Fields[] {
  const send = part.text('send');
  if (send === undefined) return [];
  if (send.includes('{{')) part.note('send', 'text in double braces is a variable in Picket');
  return [{ type: 'SEND', text: `${names ? withReferences(send, names) : send}\n` }];
}

function upgrade(part: Source, isTls: boolean): readonly Fields[] {
  if (!part.flag('starttls')) return [];
  if (!isTls) return [{ type: 'START_TLS' }];
  part.note('starttls', 'TLS is used from the beginning');
  return [];
}

/** Names every group, and the whole match, which is number 0. */
function withNames(
  regex: string,
  prefix: string,
): { readonly regex: string; readonly names: readonly string[] } {
  const names = [`${prefix}0`];
  const named = regex.replaceAll(
    /\\.|\[(?:\\.|[^\]\\])*\]|\(\?<(\w+)>|\((?!\?)/gs,
    (part: string, own: string | undefined) => {
      if (!part.startsWith('(')) return part;
      const name = own ?? `${prefix}${names.length}`;
      names.push(name);
      return `(?<${name}>`;
    },
  );
  return { regex: `(?<${prefix}0>${named})`, names };
}

/** Converts `$1`, `${1}` and `${name}` to variables; `$$` is a dollar, and unknown references are empty. */
function withReferences(text: string, names: readonly string[]): string {
  return text.replaceAll(
    /\$(?:(\$)|(\w+)|\{(\w+)\})/g,
    (_whole, dollar?: string, bare?: string, braced?: string) => {
      if (dollar) return '$';
      const wanted = bare ?? braced ?? '';
      const name = /^\d+$/.test(wanted) ? names[Number(wanted)] : names.find((one) => one === wanted);
      return name === undefined ? '' : `{{${name}}}`;
    },
  );
}
