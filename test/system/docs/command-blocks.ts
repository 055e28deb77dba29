import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the checkout. */
export const root = join(import.meta.dirname, '../../..');

/** A fenced block of a document. */
export interface Block {
  /** Document and heading, in the form of a link; `#2` and so on for further blocks below one heading. */
  readonly place: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** Languages of fenced blocks that contain commands. */
export const commandLanguages: readonly string[] = ['sh', 'bash', 'shell', 'console', 'zsh', 'powershell'];

/** All documents for readers. */
export function documents(): string[] {
  return [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })].sort();
}

/** Every fenced block of a document, including indented ones in lists. @throws Error for an unclosed block. */
export function blocksOf(file: string, markdown = readFileSync(join(root, file), 'utf8')): Block[] {
  const blocks: Block[] = [];
  const counts = new Map<string, number>();
  let heading = '';
  let open: { fence: string; indent: number; language: string; line: number; lines: string[] } | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const [, indent = '', fence, language = ''] = /^([\s>]*)(`{3,}|~{3,})\s*(\S*)/.exec(text) ?? [];
    if (open) {
      if (fence?.startsWith(open.fence) && language === '') {
        const kind = `${heading} ${commandLanguages.includes(open.language) ? 'commands' : open.language}`;
        const number = (counts.get(kind) ?? 0) + 1;
        counts.set(kind, number);
        blocks.push({
          place: `${file}${heading}${number > 1 ? `#${number}` : ''}`,
          line: open.line,
          language: open.language,
          text: open.lines.join('\n'),
        });
        open = undefined;
      } else open.lines.push(text.slice(open.indent));
    } else if (fence) open = { fence, indent: indent.length, language, line: index + 1, lines: [] };
    else if (/^#{1,6} /.test(text)) heading = `#${anchorOf(text)}`;
  }
  if (open) throw new Error(`${file}:${open.line}: a block that is not closed`);
  return blocks;
}

/** Its commands: continued lines joined, comments removed. */
export function commandsOf({ text }: Block): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#\s.*$/, '').trim())
    .filter((line) => line !== '');
}

function anchorOf(heading: string): string {
  const title = heading.replace(/^#+ /, '').trim().toLowerCase();
  return title.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
}
