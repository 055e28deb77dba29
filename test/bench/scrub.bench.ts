import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { credentialHeaderShapes } from '../../src/agent/scrub/credential-header-shape.ts';
import { scrubFile } from '../../src/agent/scrub/scrub-file.ts';
import { SecretFinder } from '../../src/agent/scrub/secret-finder.ts';
import { spellings } from '../../src/agent/scrub/spellings.ts';
import { userInfoShapes } from '../../src/agent/scrub/user-info-shape.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const mask = '*****';

/** `npm run bench -- scrub [--rounds=5]` */
const bench: Bench = {
  title: 'Removing secrets: bytes per second beside one regular expression and indexOf',
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
          // The slow ways get a part of the corpus: their rate is the same.
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
    const files = await fileRounds(run);
    for (const [what, { seconds, memoryMb }] of Object.entries(files)) {
      rows.push([
        `${what}, 100 secrets`,
        `${seconds.toFixed(2)} s, +${memoryMb.toFixed(0)} MB memory`,
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
        'Files: read, scrubbed and written with fsync by the same thread.',
      ],
      figures,
    };
  },
};
export default bench;

async function fileRounds(run: Parameters<Bench['run']>[0]) {
  // As an agent looks: for headers and user info of URLs too.
  const secrets = Array.from({ length: 100 }, (_, index) => secretOf(index));
  const finder = new SecretFinder(secrets, [...credentialHeaderShapes(), ...userInfoShapes()]);
  const folder = await mkdtemp(join(tmpdir(), 'picket-bench-scrub-'));
  const results: Record<string, { seconds: number; memoryMb: number }> = {};
  try {
    const text = Buffer.from(documents());
    await writeFile(join(folder, 'log'), Buffer.alloc(150_000_000, text));
    const zip = new ZipFile();
    for (let member = 0; member < 700; member += 1) {
      const body = randomBytes(50_000).toString('base64');
      zip.addBuffer(Buffer.from(text.subarray(0, 190_000).toString() + body), `resources/${member}.json`);
    }
    zip.end();
    await pipeline(zip.outputStream, createWriteStream(join(folder, 'zip')));
    const zipMb = ((await stat(join(folder, 'zip'))).size / 1e6).toFixed(0);
    for (const [what, name] of [
      ['150 MB text file', 'log'],
      [`${zipMb} MB zip of 700 members`, 'zip'],
    ] as const) {
      run.progress(what);
      global.gc?.();
      const baseBytes = process.memoryUsage.rss();
      let peakBytes = baseBytes;
      const watch = setInterval(() => {
        peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
      }, 20);
      const startMs = performance.now();
      await scrubFile(join(folder, name), join(folder, 'out'), { finder, mask });
      results[what] = {
        seconds: (performance.now() - startMs) / 1000,
        memoryMb: (peakBytes - baseBytes) / 1e6,
      };
      clearInterval(watch);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return results;
}

function secretOf(index: number): string {
  const noise = createHash('sha256').update(`secret ${index}`).digest('base64');
  return noise.slice(0, 14 + (index % 20)) + (index % 3 === 0 ? '@é &"x' : '') + index;
}

/** About a megabyte of what artifacts are made of. */
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
