/**
 * Extracts the texts of a source file: strings and templates of its program, and its comments. Strings without a space
 * are left out, because they are names on the wire or in a store.
 */
import { parseSync } from '@swc/core';

/** One text, joined where the source adds strings: `…` stands for a value, `|` for an HTML tag. */
export interface Text {
  readonly line: number;
  readonly words: string;
}

interface Node {
  readonly type: string;
  readonly span?: { readonly start: number };
  readonly [field: string]: unknown;
}

export function textsOf(source: string): readonly Text[] {
  const bytes = Buffer.from(source);
  const texts: Text[] = [];
  visit(parseSync(source, { syntax: 'typescript' }), (node) => {
    const words = wordsOf(node);
    if (words === undefined || !/\S\s+\S/.test(words)) return;
    // Spans count bytes from 1.
    const before = bytes.subarray(0, (node.span?.start ?? 1) - 1);
    texts.push({ line: before.toString().split('\n').length, words: plain(words) });
  });
  return texts;
}

/** Comments; those on consecutive lines are one text. */
export function commentsOf(source: string): readonly Text[] {
  const comments: { line: number; words: string; end: number }[] = [];
  source.split('\n').forEach((text, index) => {
    const [, words] = /(?:^\s*\/?\*+\/?|^\s*\/\/|[;,{}()\w] \/\/)(?=\s|$)(.*)$/.exec(text) ?? [];
    if (words === undefined) return;
    const isFirst = /\/\*\*|[;,{}()\w] \/\//.test(text);
    const last = comments.at(-1);
    const own = words.replace(/\s*\*\/\s*$/, '').trim();
    if (!isFirst && last?.end === index)
      Object.assign(last, { words: `${last.words} ${own}`, end: index + 1 });
    else comments.push({ line: index + 1, words: own, end: index + 1 });
  });
  return comments.filter(({ words }) => words !== '').map(({ line, words }) => ({ line, words }));
}

function plain(words: string): string {
  return words
    .replaceAll(/<\/?[a-z][^<>]*>/g, ' | ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Calls `take` for each node that is a whole text or may contain one; parts of a joined text are not called again. */
function visit(value: unknown, take: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, take);
    return;
  }
  if (!isNode(value)) {
    if (typeof value === 'object' && value !== null) visit(Object.values(value), take);
    return;
  }
  take(value);
  const parts = isSum(value) && wordsOf(value) !== undefined ? valuesIn(value) : Object.values(value);
  visit(parts, take);
}

/** The text of a string, a template, or a sum that contains one; undefined for other nodes. */
function wordsOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'StringLiteral') return String(node['value']);
  if (node.type === 'TemplateLiteral') {
    return (node['quasis'] as readonly { cooked?: string; raw: string }[])
      .map(({ cooked, raw }) => cooked ?? raw)
      .join('…');
  }
  if (!isSum(node)) return undefined;
  const [left, right] = [wordsOf(node['left']), wordsOf(node['right'])];
  return left === undefined && right === undefined ? undefined : `${left ?? '…'}${right ?? '…'}`;
}

/** The values that a sum inserts between its strings: they may contain further texts. */
function valuesIn(node: unknown): readonly unknown[] {
  if (isNode(node) && isSum(node)) return [...valuesIn(node['left']), ...valuesIn(node['right'])];
  if (isNode(node) && node.type === 'StringLiteral') return [];
  if (isNode(node) && node.type === 'TemplateLiteral') return node['expressions'] as readonly unknown[];
  return [node];
}

function isSum(node: Node): boolean {
  return node.type === 'BinaryExpression' && node['operator'] === '+';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
