/**
 * Measures the structure of the code: `node scripts/setup.mjs scripts/house.ts [CHECKOUT]`. Prints one line for each package and its
 * rooms (first-level folders and loose files, imports of types counted), and the size of the code without unit tests.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
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
let lines = 0;
for (const name of packages) {
  const folder = join('src', name);
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
console.log(`${lines} lines without unit tests`);

async function linesOf(folder: string): Promise<number> {
  let count = 0;
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(ts|cjs|mjs|css|js)$/.test(entry.name) || entry.name.endsWith('.test.ts'))
      continue;
    count += (await readFile(join(entry.parentPath, entry.name), 'utf8')).split('\n').length - 1;
  }
  return count;
}
