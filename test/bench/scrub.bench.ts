import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { SecretFinder } from '../../src/checks/secrets/secret-finder.ts';
import { spellings } from '../../src/checks/secrets/shapes/spellings.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const mask = '*****';

const bench: Bench = {
  usage: '[--rounds=5]',
  title: 'Removing secrets: bytes per second compared with one regular expression and indexOf',
  async run(run) {
    const rounds = numberOption(run, 'rounds', 5);
    const corpus = Buffer.from(documents().repeat(24));
    const rows: string[][] = [];
    const figures: Record<string, string> = {};
    for (const count of [1, 10, 100]) {
      const secrets = Array.from({ length: count }, (_, index) => secretOf(index));
      const finder = new SecretFinder(secrets);
      const forms = [...new Set(secrets.flatMap(spellings))];
      const pattern = new RegExp(
        forms.map((form) => form.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'),
        'g',
      );
      const ways = {
        picket: (bytes: Buffer) => finder.find(bytes).length,
        regex: (bytes: Buffer) => bytes.toString('latin1').match(pattern)?.length ?? 0,
        indexOf: (bytes: Buffer) => forms.filter((form) => bytes.includes(form)).length,
      };
      const rates = { picket: [] as number[], regex: [] as number[], indexOf: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        const names = Object.keys(ways) as (keyof typeof ways)[];
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          // The slow methods get a part of the corpus: their rate is the same.
          const bytes =
            name === 'picket' ? corpus : corpus.subarray(0, corpus.length / (count === 100 ? 8 : 2));
          const startMs = performance.now();
          ways[name](bytes);
          rates[name].push(bytes.length / 1000 / (performance.now() - startMs));
        }
        run.progress(`${count} secrets, round ${round + 1} of ${rounds}`);
      }
      const median = (name: keyof typeof rates) => quantile(rates[name], 0.5).toFixed(0);
      rows.push([
        `${count} secrets, in memory`,
        `${median('picket')} MB/s`,
        median('regex'),
        median('indexOf'),
      ]);
      figures[`secrets${count}`] = median('picket');
    }
    const files = await fileRounds(run, rounds);
    for (const [what, { seconds, cpuSeconds, memoryMb }] of Object.entries(files)) {
      rows.push([
        `${what}, 100 secrets`,
        `${seconds.toFixed(2)} s (${cpuSeconds.toFixed(2)} s of CPU), +${memoryMb.toFixed(0)} MB memory`,
        '',
        '',
      ]);
      figures[`${what.replaceAll(/\W+/g, '-')}-s`] = seconds.toFixed(2);
    }
    return {
      columns: ['what', 'Picket', 'one regular expression (MB/s)', 'indexOf (MB/s)'],
      rows,
      notes: [
        `Corpus: ${(corpus.length / 1e6).toFixed(0)} MB of JSON lines with identifiers, hashes, URLs and HTML, no secret in it; one thread, median of ${rounds} rounds in alternating order. The others look for the plain spellings of each secret only, not for Base64, hex, UTF-16 or mixed spellings.`,
        `Files: read, scrubbed and written with fsync, each in a fresh process with the default four threads of the pool; median of ${rounds} rounds, the most memory of all. Searching is one thread's work; members of archives are unpacked and packed by others.`,
      ],
      figures,
    };
  },
};
export default bench;

interface FileFigures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly memoryMb: number;
}

async function fileRounds(run: Parameters<Bench['run']>[0], rounds: number) {
  const folder = await mkdtemp(join(tmpdir(), 'picket-bench-scrub-'));
  const results: Record<string, FileFigures> = {};
  try {
    const text = Buffer.from(documents());
    await writeFile(join(folder, 'log'), Buffer.alloc(150_000_000, text));
    await writeArchive(join(folder, 'zip'), text);
    await writeArchive(join(folder, 'secrets'), text, secretOf(1));
    const zipMb = ((await stat(join(folder, 'zip'))).size / 1e6).toFixed(0);
    const secrets = Array.from({ length: 100 }, (_, index) => secretOf(index));
    for (const [what, name] of [
      ['150 MB text file', 'log'],
      [`${zipMb} MB zip of 700 members`, 'zip'],
      [`${zipMb} MB zip, a secret in each of 700 members`, 'secrets'],
    ] as const) {
      const figures: FileFigures[] = [];
      for (let round = 0; round < rounds; round += 1) {
        run.progress(`${what}, round ${round + 1} of ${rounds}`);
        figures.push(await scrubOnce(join(folder, name), join(folder, 'out'), secrets));
      }
      const median = (key: keyof FileFigures) =>
        quantile(
          figures.map((figure) => figure[key]),
          0.5,
        );
      results[what] = {
        seconds: median('seconds'),
        cpuSeconds: median('cpuSeconds'),
        memoryMb: Math.max(...figures.map(({ memoryMb }) => memoryMb)),
      };
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return results;
}

/** In a process of its own, so that nothing else affects its memory. */
async function scrubOnce(source: string, target: string, secrets: readonly string[]): Promise<FileFigures> {
  const child = fork(new URL('./parts/scrub-file.ts', import.meta.url));
  const exited = once(child, 'exit');
  let figures: FileFigures | undefined;
  child.on('message', (message) => {
    figures = message as FileFigures;
  });
  child.send({ source, target, secrets, mask });
  const [code] = await exited;
  if (!figures) throw new Error(`scrubbing ended with code ${code}`);
  return figures;
}

async function writeArchive(path: string, text: Buffer, secret = ''): Promise<void> {
  const zip = new ZipFile();
  for (let member = 0; member < 700; member += 1) {
    const body = secret + randomBytes(50_000).toString('base64');
    zip.addBuffer(Buffer.from(text.subarray(0, 190_000).toString() + body), `resources/${member}.json`);
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
}

function secretOf(index: number): string {
  const noise = createHash('sha256').update(`secret ${index}`).digest('base64');
  return noise.slice(0, 14 + (index % 20)) + (index % 3 === 0 ? '@é &"x' : '') + index;
}

/** About a megabyte of typical artifact content. */
function documents(): string {
  return Array.from({ length: 2500 }, (_, line) =>
    JSON.stringify({
      line,
      url: `https://shop.example.com/products/${line}?page=${line % 7}&sort=price%20asc`,
      id: createHash('md5').update(`${line}`).digest('hex'),
      token: createHash('sha256').update(`${line}`).digest('base64'),
      html: '<a href="/">Home &amp; garden &lt;3</a>',
      message: 'the quick brown fox jumps over the lazy dog\n\tat Object.<anonymous> (file.js:1:2)',
    }),
  ).join('\n');
}
