/**
 * Every block of commands in the documents is in block-table.ts: run for real, or, where that would take minutes or run
 * the tests themselves, listed with the reason and a substitute proof. Commands that need containers or a cluster are
 * linted. A block that is not in the table fails.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes } from '../../../src/server/features.ts';
import { isNight } from '../../helpers/night.ts';
import { type BlockTest, blockTests } from './block-table.ts';
import { blocksOf, commandLanguages, commandsOf, documents, root } from './command-blocks.ts';
import { DocumentStage } from './stage.ts';

const blocks = documents().flatMap((file) => blocksOf(file));
const commandBlocks = blocks.filter(({ language }) => commandLanguages.includes(language));
const otherLanguages = ['conf', '', 'yaml', 'json', 'js', 'ts', 'md', 'nginx', 'sql'];

const first = /^(README\.md|docs\/tutorial\/[\w-]+\.md)#/;

let stage: DocumentStage;
beforeAll(async () => {
  stage = await DocumentStage.open();
});
afterAll(async () => await stage[Symbol.asyncDispose]());

describe('blocks of commands', () => {
  it('are all in the table, and nothing else is', () => {
    expect(commandBlocks.map(({ place }) => place).sort()).toEqual(Object.keys(blockTests).sort());
  });

  it('are marked as commands', () => {
    const program = /^\s*(\$ |(\w+=\S+ )*(npm|npx|node|picket|docker|kubectl|helm|curl|apt-get|git|sudo)\s)/m;
    for (const { place, line, language, text } of blocks) {
      if (commandLanguages.includes(language)) continue;
      expect(otherLanguages, `${place}, line ${line}`).toContain(language);
      expect(text, `${place}, line ${line}`).not.toMatch(program);
    }
  });

  // By day only the blocks that a newcomer runs first.
  for (const block of isNight ? commandBlocks : commandBlocks.filter(({ place }) => first.test(place))) {
    const test: BlockTest = blockTests[block.place] ?? {};
    if (typeof test === 'function') {
      it(`${block.place} does what it says`, async () => await test(stage, block.text));
      continue;
    }
    it(`${block.place} has no other commands than the tested ones`, () => {
      expect(commandsOf(block).sort()).toEqual(Object.keys(test).sort());
    });
    for (const [command, trial] of Object.entries(test)) {
      if (typeof trial === 'function') {
        it(`${block.place}: ${command}`, async () => await trial(stage, command));
      } else {
        it(`${block.place}: ${command} (not run: ${trial.reason})`, async () => await trial.proof(stage));
      }
    }
  }
});

describe('examples of the API', () => {
  // Routes that people do not call themselves, or that are documented elsewhere.
  const elsewhere =
    /^\/(?!v1\/)|^\/v1\/(agent|code-bundles|public|root-cause-analyses|analytics|checks$|checks\/(playwright|agentic))/;

  it('show every collection that accepts new objects', () => {
    const text = readFileSync(join(root, 'docs/how-to/api-by-example.md'), 'utf8');
    const collections = allRoutes
      .filter(({ method, path }) => method === 'POST' && !path.includes('{') && !elsewhere.test(path))
      .map(({ path }) => path.replace('/v1/', ''));
    expect(collections.length).toBeGreaterThan(15);
    for (const path of collections) expect(text).toContain(`api POST ${path} `);
  });
});

describe('limits of operations', () => {
  it('are all in limits.md', () => {
    const rows = readFileSync(join(root, 'docs/reference/limits.md'), 'utf8').split('\n');
    for (const { method, path, rateLimit } of allRoutes) {
      if (!rateLimit) continue;
      const shown = /^\/v1\/analytics\/[^/]+\/\{id\}$/.test(path) ? '/v1/analytics/{kind}/{id}' : path;
      const row = rows.find((line) => line.startsWith('|') && line.includes(`\`${method} ${shown}\``));
      expect(row, `${method} ${path}`).toContain(`${rateLimit.requests} in ${rateLimit.windowSeconds} s`);
    }
  });
});

describe('commands within sentences', () => {
  const inline = documents().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/^(\s*)```[\s\S]*?^\1```/gm, '');
    return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => ({ file, code }));
  });
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  it('call existing scripts and benchmarks', () => {
    const calls = inline.flatMap(({ file, code }) =>
      [...code.matchAll(/npm run ([\w:]+)(?: -- (\w[\w-]*))?/g)].map(([, name = '', word]) => ({
        file,
        name,
        word,
      })),
    );
    expect(calls.length).toBeGreaterThan(10);
    for (const { file, name, word } of calls) {
      expect(Object.keys(scripts), file).toContain(name);
      if (name === 'bench' && word !== undefined && word !== 'NAME')
        expect(existsSync(join(root, `test/bench/${word}.bench.ts`)), `${file}: ${word}`).toBe(true);
    }
  });
});

describe('paths within sentences', () => {
  // Files that readers of these pages create, and files of earlier versions.
  const notHere = /^docs\/how-to\/adding-|^docs\/adr\/|^CHANGELOG\.md$/;

  it('point to existing files and folders', () => {
    const paths = documents()
      .filter((file) => !notHere.test(file))
      .flatMap((file) =>
        [
          ...readFileSync(join(root, file), 'utf8').matchAll(
            /`((?:src|test|scripts|deploy|docs)\/[\w./-]+)`/g,
          ),
        ].map(([, path = '']) => ({ file, path })),
      );
    expect(paths.length).toBeGreaterThan(150);
    for (const { file, path } of paths) expect(existsSync(join(root, path)), `${file}: ${path}`).toBe(true);
  });
});

describe('links between documents', () => {
  it('point to existing files and headings', () => {
    for (const file of documents()) {
      const text = readFileSync(join(root, file), 'utf8');
      for (const [link, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [path = '', anchor] = target.split('#');
        const linked = path === '' ? file : join(dirname(file), path);
        expect(existsSync(join(root, linked)), `${file}: ${link}`).toBe(true);
        if (anchor) expect(headingsOf(linked), `${file}: ${link}`).toContain(anchor);
      }
    }
  });
});

function headingsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
