/**
 * Measures the structure of the code: `node scripts/setup.mjs scripts/house.ts [CHECKOUT]`. Prints one line for each package and its
 * rooms (first-level folders and loose files, imports of types counted); then lines without unit tests, texts that break the grammar of
 * `grammar.ts`, lines that match a message, and the length of the day-one reading list.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { grammarHits } from './grammar.ts';
import { matchedMessage } from './house/matched-messages.ts';
import { importsWithin, knots, roomsOf, upwardArrows } from './house/rooms.ts';

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const packages = [
  'lib',
  'probes',
  'sandbox',
  'checks',
  'channels',
  'protocol',
  'agent',
  'platform',
  'service',
  'console',
  'server',
  'cli',
];

const rows: string[][] = [
  ['package', 'lines', 'rooms', 'loose files', 'arrows', 'upwards', 'largest circle'],
];
const extras = existsSync(join(root, 'src/extras')) ? await readdir(join(root, 'src/extras')) : [];
let lines = 0;
for (const name of [...packages, ...extras.map((extra) => `extras/${extra}`)]) {
  const folder = join('src', name);
  if (!existsSync(join(root, folder))) continue;
  const rooms = roomsOf(await importsWithin(root, folder));
  const loose = [...rooms.keys()].filter((room) => /\.(ts|cjs)$/.test(room));
  const arrows = [...rooms].reduce(
    (sum, [room, others]) =>
      sum + (loose.includes(room) ? 0 : [...others].filter((other) => !loose.includes(other)).length),
    0,
  );
  const [largest = []] = knots(rooms);
  const size = await linesOf(folder);
  lines += size;
  const figures = [
    size,
    rooms.size - loose.length,
    loose.length,
    arrows,
    upwardArrows(rooms).length,
    largest.length,
  ];
  rows.push([name, ...figures.map(String)]);
}
const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
for (const row of rows) {
  console.log(
    row
      .map((text, column) => (column === 0 ? text.padEnd : text.padStart).call(text, widths[column] ?? 0))
      .join('  '),
  );
}
const extraLines = extras.length > 0 ? await linesOf('src/extras') : 0;
console.log(`${lines} lines without unit tests, ${extraLines} of them in extras`);
const sources = await sourcesIn('src');
const hits = sources.reduce((sum, { path, text }) => sum + grammarHits(path, text).length, 0);
console.log(`${hits} texts with a turn of phrase that scripts/grammar.ts refuses`);
const matching = sources
  .filter(({ path }) => !/foreign-texts|older-agents/.test(path))
  .reduce((sum, { text }) => sum + text.split('\n').filter((line) => matchedMessage.test(line)).length, 0);
console.log(`${matching} lines that match a message, outside foreign-texts and older-agents`);
console.log(await readingList());

/** The source files below a folder, without unit tests. */
async function sourcesIn(folder: string): Promise<{ readonly path: string; readonly text: string }[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter(({ name }) => /\.(ts|cjs|mjs)$/.test(name) && !name.endsWith('.test.ts'));
  return Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { path: relative(root, path), text: await readFile(path, 'utf8') };
    }),
  );
}

async function readingList(): Promise<string> {
  const document = await readFile(join(root, 'docs/explanation/architecture.md'), 'utf8');
  const [, section = ''] = document.split('\n## Day-one reading list\n');
  const files = [...section.matchAll(/^\| `(src\/[^`]+)` \| [\d,]+ \|/gm)].map(([, path = '']) => path);
  const texts = await Promise.all(files.map((path) => readFile(join(root, path), 'utf8')));
  const length = texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
  return files.length === 0
    ? 'no day-one reading list'
    : `${length} lines in ${files.length} files to read on day one`;
}

async function linesOf(folder: string): Promise<number> {
  let count = 0;
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(ts|cjs|mjs|css|js)$/.test(entry.name) || entry.name.endsWith('.test.ts'))
      continue;
    count += (await readFile(join(entry.parentPath, entry.name), 'utf8')).split('\n').length - 1;
  }
  return count;
}
